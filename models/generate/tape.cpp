// SPDX-License-Identifier: Apache-2.0
#include "models/generate/tape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/assert.hpp"

namespace stretto::generate {

using graph::OpClass;
using graph::OpId;
using graph::ParameterId;
using graph::Phase;

Tensor Tape::input(double values) {
  producer_.emplace_back();
  needs_gradient_.push_back(false);
  return {producer_.size() - 1, values};
}

ParameterId Tape::variable(std::string name, std::int64_t values) {
  graph::Parameter& made = graph_.parameters.emplace_back();
  made.name = std::move(name);
  made.bytes = Bytes(values) * static_cast<std::int64_t>(kValueBytes);
  return ParameterId(graph_.parameters.size() - 1);
}

double Tape::values_of(ParameterId variable) const {
  return static_cast<double>(graph_.parameters.at(variable.index()).bytes.count()) / kValueBytes;
}

OpId Tape::add_op(std::string name, Phase phase, OpClass op_class, const Work& work, std::vector<OpId> inputs,
                  std::vector<ParameterId> reads) {
  graph::Op op;
  op.name = std::move(name);
  op.phase = phase;
  op.inputs = std::move(inputs);
  op.reads = std::move(reads);
  op.flops = work.flops;
  op.memory_bytes = work.bytes + work.fixed;
  op.fixed_bytes = work.fixed;
  op.op_class = op_class;
  graph_.ops.push_back(std::move(op));
  return OpId(graph_.ops.size() - 1);
}

std::vector<Tensor> Tape::add(Call call, const std::vector<double>& values) {
  std::vector<OpId> inputs;
  bool needs = false;
  for (const Tensor& tensor : call.inputs) {
    const OpId op = producer_.at(tensor.id);
    if (op.valid() && std::find(inputs.begin(), inputs.end(), op) == inputs.end()) inputs.push_back(op);
    needs = needs || needs_gradient_[tensor.id];
  }
  for (const Gradient& gradient : call.gradients) needs = needs || !gradient.of_variables.empty();
  const OpId op = add_op(call.name, Phase::Forward, call.op_class, call.work, std::move(inputs), call.reads);
  Node node{std::move(call), {}};
  for (const double n : values) {
    producer_.push_back(op);
    needs_gradient_.push_back(needs);
    node.outputs.push_back({producer_.size() - 1, n});
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

Tensor Tape::add(Call call, double values) { return add(std::move(call), std::vector<double>{values}).front(); }

OpId Tape::sum(const std::vector<OpId>& parts, double values, bool fixed) {
  if (parts.size() == 1) return parts.front();
  const auto count = static_cast<double>(parts.size());
  Work work;
  work.flops = (count - 1) * values;
  (fixed ? work.fixed : work.bytes) = (count + 1) * values * kValueBytes;
  const std::string name = sums_ == 0 ? "gradients/AddN" : fmt::format("gradients/AddN_{}", sums_);
  ++sums_;
  return add_op(name, Phase::Backward, OpClass::Elementwise, work, parts, {});
}

void Tape::walk_back(const Node& node) {
  std::vector<OpId> of_outputs;
  for (const Tensor& output : node.outputs)
    if (!parts_[output.id].empty()) of_outputs.push_back(sum(parts_[output.id], output.values, false));
  if (of_outputs.empty()) return;
  const auto input = [&](std::size_t place) { return node.call.inputs.at(place).id; };
  for (const std::size_t place : node.call.hands_on)
    if (needs_gradient_[input(place)]) parts_[input(place)].push_back(of_outputs.front());
  for (const Gradient& gradient : node.call.gradients) {
    const bool needed =
        !gradient.of_variables.empty() || std::any_of(gradient.of_inputs.begin(), gradient.of_inputs.end(),
                                                      [&](std::size_t place) { return needs_gradient_[input(place)]; });
    if (!needed) continue;
    const OpId op = add_op(fmt::format("gradients/{}_grad/{}", node.call.name, gradient.name), Phase::Backward,
                           node.call.op_class, gradient.work, of_outputs, gradient.reads);
    for (const std::size_t place : gradient.of_inputs)
      if (needs_gradient_[input(place)]) parts_[input(place)].push_back(op);
    for (const ParameterId variable : gradient.of_variables) adders_[variable.index()].push_back(op);
  }
}

graph::Graph Tape::finish(const Tensor& loss) {
  parts_.assign(producer_.size(), {});
  adders_.assign(graph_.parameters.size(), {});
  parts_.at(loss.id).push_back(producer_[loss.id]);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) walk_back(*node);
  for (std::size_t v = 0; v < adders_.size(); ++v) {
    STRETTO_ASSERT(!adders_[v].empty(), "the loss does not depend on {}", graph_.parameters[v].name);
    graph_.parameters[v].gradient = sum(adders_[v], values_of(ParameterId(v)), true);
  }
  return std::move(graph_);
}

}  // namespace stretto::generate
