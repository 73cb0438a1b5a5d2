// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_variables.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace stretto::io {

namespace {

// Position of the gradient among the inputs, by the op's name without "Resource".
struct Update {
  std::string_view op;
  std::size_t gradient;
};
constexpr Update kUpdates[] = {{"ApplyGradientDescent", 2},
                               {"ApplyProximalGradientDescent", 4},
                               {"ApplyMomentum", 3},
                               {"ApplyKerasMomentum", 3},
                               {"ApplyAdagrad", 3},
                               {"ApplyAdagradV2", 4},
                               {"ApplyAdagradDA", 3},
                               {"ApplyProximalAdagrad", 5},
                               {"ApplyAdadelta", 6},
                               {"ApplyAdam", 9},
                               {"ApplyAdamWithAmsgrad", 10},
                               {"ApplyAdaMax", 8},
                               {"ApplyRMSProp", 7},
                               {"ApplyCenteredRMSProp", 8},
                               {"ApplyFtrl", 3},
                               {"ApplyFtrlV2", 3},
                               {"ApplyAddSign", 6},
                               {"ApplyPowerSign", 6},
                               {"SparseApplyAdagrad", 3},
                               {"SparseApplyAdagradV2", 4},
                               {"SparseApplyMomentum", 3},
                               {"SparseApplyKerasMomentum", 3},
                               {"SparseApplyFtrl", 3},
                               {"SparseApplyFtrlV2", 3},
                               {"SparseApplyRMSProp", 7},
                               {"SparseApplyCenteredRMSProp", 8},
                               {"SparseApplyAdadelta", 6},
                               {"SparseApplyProximalAdagrad", 5},
                               {"ScatterSub", 2},
                               {"ScatterAdd", 2}};

const Update* find_update(std::string_view op) {
  constexpr std::string_view kResource = "Resource";
  if (op.starts_with(kResource)) op.remove_prefix(kResource.size());
  const auto it = std::find_if(std::begin(kUpdates), std::end(kUpdates), [&](const Update& u) { return u.op == op; });
  return it == std::end(kUpdates) ? nullptr : it;
}

// The data input `i`, if there is one.
const TfInput* data_input(const TfNode& node, std::size_t i) {
  return static_cast<std::int64_t>(i) < node.data_inputs ? &node.inputs[i] : nullptr;
}

class Finder {
 public:
  explicit Finder(const TfGraph& graph) : graph_(graph) {}

  TfVariables run() {
    out_.value_of.assign(graph_.nodes.size(), -1);
    source_.assign(graph_.nodes.size(), 0);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (is_variable(graph_.nodes[i].op)) add(i);
    for (const std::uint32_t i : graph_.order) follow(i);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) collect_accumulator(i);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) collect_update(i);
    for (const auto& [node, gradient] : accumulated_) out_.unmatched_gradients += taken_.contains(node) ? 0U : 1U;
    return std::move(out_);
  }

 private:
  void add(std::uint32_t i) {
    const TfNode& node = graph_.nodes[i];
    TfVariable v;
    v.node = i;
    std::int64_t count = node.shape ? element_count(*node.shape).value_or(0) : 0;
    if (count == 0 && node.op != "VarHandleOp" && !node.output_shapes.empty())
      count = element_count(node.output_shapes[0]).value_or(0);
    const std::int64_t width = type_bytes(node.type);
    if (count > 0 && width > 0) v.bytes = count * width;
    if (node.bytes) v.bytes = node.bytes;
    out_.value_of[i] = static_cast<std::int32_t>(out_.list.size());
    out_.list.push_back(v);
  }

  void follow(std::uint32_t i) {
    const TfNode& node = graph_.nodes[i];
    source_[i] = is_alias(node.op) && node.data_inputs > 0 ? source_[node.inputs[0].node] : i;
    const bool reads = node.op == "ReadVariableOp" || is_alias(node.op);
    const TfInput* in = data_input(node, 0);
    if (reads && in != nullptr && in->slot == 0 && out_.value_of[i] < 0) out_.value_of[i] = out_.value_of[in->node];
  }

  std::uint32_t source(std::uint32_t i) const { return source_[i]; }

  void collect_accumulator(std::uint32_t i) {
    const TfNode& node = graph_.nodes[i];
    if (!node.op.ends_with("AccumulatorApplyGradient")) return;
    const TfInput* handle = data_input(node, 0);
    const TfInput* gradient = data_input(node, node.op.starts_with("Sparse") ? 3 : 2);
    if (handle == nullptr || gradient == nullptr) return;
    accumulated_.emplace(source(handle->node), *gradient);
    out_.updates.push_back(i);
  }

  void collect_update(std::uint32_t i) {
    const TfNode& node = graph_.nodes[i];
    const Update* update = find_update(node.op);
    if (update == nullptr) return;
    const TfInput* target = data_input(node, 0);
    const TfInput* gradient = data_input(node, update->gradient);
    if (target == nullptr || gradient == nullptr) return;
    const std::int32_t v = out_.value_of[target->node];
    if (v < 0) return;
    for (std::size_t k = 1; k < update->gradient; ++k)
      if (const std::int32_t state = out_.value_of[node.inputs[k].node]; state >= 0 && state != v)
        out_.list[static_cast<std::size_t>(state)].slot = true;
    out_.updates.push_back(i);
    TfVariable& variable = out_.list[static_cast<std::size_t>(v)];
    if (variable.gradient) {
      ++out_.doubled_updates;
      return;
    }
    variable.gradient = *gradient;
    variable.sparse = node.op.find("Sparse") != std::string::npos || node.op.find("Scatter") != std::string::npos;
    const TfNode& taker = graph_.nodes[source(gradient->node)];
    if (taker.op.ends_with("AccumulatorTakeGradient") && taker.data_inputs > 0) {
      const std::uint32_t handle = source(taker.inputs[0].node);
      taken_.insert(handle);
      if (const auto it = accumulated_.find(handle); it != accumulated_.end()) variable.gradient = it->second;
    }
  }

  const TfGraph& graph_;
  TfVariables out_;
  std::vector<std::uint32_t> source_;             // the node behind aliases
  std::map<std::uint32_t, TfInput> accumulated_;  // gradient by accumulator
  std::set<std::uint32_t> taken_;
};

}  // namespace

bool is_variable(std::string_view op) {
  return op == "VariableV2" || op == "VarHandleOp" || op == "Variable" || op == "AutoReloadVariable";
}

bool is_alias(std::string_view op) {
  return op == "Identity" || op == "RefIdentity" || op == "Enter" || op == "RefEnter" || op == "StopGradient" ||
         op == "PreventGradient" || op == "_Recv" || op == "_HostRecv";
}

TfVariables find_variables(const TfGraph& graph) { return Finder(graph).run(); }

}  // namespace stretto::io
