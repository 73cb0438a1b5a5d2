// SPDX-License-Identifier: Apache-2.0
// Variables of a TensorFlow graph, who reads them and what updates them. Reference variables (Variable, VariableV2) are
// read through Identity, resource variables (VarHandleOp) through ReadVariableOp; both through further Identity nodes.
// A variable that an optimizer's op (ApplyGradientDescent, ResourceApplyAdam, ...) updates is trainable, and that op's
// gradient input is what is pushed; gradients that pass an accumulator (SyncReplicasOptimizer) are followed through it.
// Cost: O(nodes + edges).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "io/import/tensorflow_nodes.hpp"

namespace stretto::io {

struct TfVariable {
  std::uint32_t node = 0;
  std::optional<std::int64_t> bytes;  // by shape and type; none if these are not in the graph
  std::optional<TfInput> gradient;    // output that the update takes
  bool sparse = false;                // the gradient has rows of the variable only
  bool slot = false;                  // an optimizer's own state
};

struct TfVariables {
  std::vector<TfVariable> list;         // in the graph's order
  std::vector<std::int32_t> value_of;   // per node: the variable whose value or handle it gives; -1: none
  std::vector<std::uint32_t> updates;   // nodes of optimizer's ops and accumulators, with a gradient
  std::size_t unmatched_gradients = 0;  // that go to an accumulator nobody takes from
  std::size_t doubled_updates = 0;      // further updates of the same variable
};

TfVariables find_variables(const TfGraph& graph);

bool is_variable(std::string_view op);

// Nodes that hand their input on: the value of a variable stays what it is behind them.
bool is_alias(std::string_view op);

}  // namespace stretto::io
