// SPDX-License-Identifier: Apache-2.0
// Smaller graphs that behave the same.
//
// reduce() merges an op with its only successor when that successor has no other predecessor and no transfer lies
// between: the successor reads no parameter, the op completes no gradient, both are in the same phase. Times add; the
// merged op has the name of its first op, and ids keep the order of the first ops.
//   Keep::Structure  merges all such pairs. The sum of times, the critical path, the gradients' needs and the time per
//                    need-set stay, hence every policy and bound. A device that takes ops in order of readiness may run
//                    an independent op between the two, so that op times (not the work done) may differ.
//   Keep::Timing     merges only pairs that no other op can come between: all other ops precede the first or follow the
//                    second. Every start and end that remains is the same to the picosecond on any device (serial or n
//                    cores, any pick rule) as long as op times carry no noise and scale exactly.
// Cost: O((ops + edges) log ops).
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::graph {

enum class Keep : std::uint8_t { Timing, Structure };

struct Reduction {
  Graph graph;
  std::vector<OpId> new_op;  // per op of the original: the op that it became part of
};

Reduction reduce(const Graph& graph, Keep keep = Keep::Timing);

// The inference graph: backward ops removed (also as inputs), gradients cleared, all parameters kept.
Graph forward_only(const Graph& graph);

}  // namespace stretto::graph
