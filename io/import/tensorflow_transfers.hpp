// SPDX-License-Identifier: Apache-2.0
// Tensors that cross between worker and servers in one step: pulls, gradients and others, by the graph; checked against
// the RecvTensor records of a trace. Each output of a node crosses once to each task, however many take it.
// Cost: O(edges log edges + records).
#pragma once

#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/tensorflow_trace.hpp"
#include "io/import/tensorflow_variables.hpp"

namespace stretto::io {

struct TfTransferCheck {
  const TfGraph& graph;
  const TfVariables& variables;
  const TfTrace* trace;  // null: none
  const TfDevice& worker;
  const std::vector<bool>& in_step;  // per node
  const std::vector<bool>& useful;   // per node
  const std::string& path;
};

// Adds counts and what is missing to the report. Throws UserError if a recorded pull has other bytes than its variable.
void describe_transfers(const TfTransferCheck& check, ImportReport& report);

}  // namespace stretto::io
