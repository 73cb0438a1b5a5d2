// SPDX-License-Identifier: Apache-2.0
// Figures of a checked graph: counts, bytes, times. O(ops + edges + parameters).
#pragma once

#include <cstddef>

#include "models/graph/graph.hpp"

namespace stretto::graph {

struct Statistics {
  std::size_t forward_ops = 0;
  std::size_t backward_ops = 0;
  std::size_t edges = 0;  // op to op, each counted once
  std::size_t parameters = 0;
  std::size_t unread_parameters = 0;  // that no op reads
  std::size_t gradients = 0;          // parameters whose gradient is pushed
  Bytes bytes;                        // of all parameters
  Bytes gradient_bytes;               // of those with a gradient
  Duration forward_time;              // sums of op times
  Duration backward_time;
  Duration critical_path;  // longest path of op times
  ParameterId widest;      // the most bytes; the first in creation order among equals; none if no parameter
};

Statistics statistics(const Graph& graph);

}  // namespace stretto::graph
