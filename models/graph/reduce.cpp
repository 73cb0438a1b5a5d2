// SPDX-License-Identifier: Apache-2.0
#include "models/graph/reduce.hpp"

#include <algorithm>
#include <limits>

#include "models/graph/order.hpp"

namespace stretto::graph {

namespace {

using Successors = std::vector<std::vector<OpId>>;

// Ops that every other op precedes or follows. In a topological order, the op at position k is one if each earlier op
// has a successor at position <= k (so that following such successors ends at k) and each later op an input at
// position >= k.
std::vector<bool> find_crossings(const Graph& graph, const Successors& users) {
  const auto n = graph.ops.size();
  const auto order = topological_order(graph);
  std::vector<std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[order[k].index()] = k;
  std::vector<bool> crossing(n, false);
  std::size_t furthest = 0;  // over the earlier ops, the largest position of the nearest successor
  for (std::size_t k = 0; k < n; ++k) {
    const auto op = order[k].index();
    crossing[op] = furthest <= k;
    auto nearest = n;  // none: nothing later follows this op
    for (const OpId user : users[op]) nearest = std::min(nearest, position[user.index()]);
    furthest = std::max(furthest, nearest);
  }
  std::ptrdiff_t earliest = std::numeric_limits<std::ptrdiff_t>::max();
  for (std::size_t k = n; k-- > 0;) {
    const auto op = order[k].index();
    crossing[op] = crossing[op] && earliest >= static_cast<std::ptrdiff_t>(k);
    std::ptrdiff_t nearest = -1;
    for (const OpId input : graph.ops[op].inputs)
      nearest = std::max(nearest, static_cast<std::ptrdiff_t>(position[input.index()]));
    earliest = std::min(earliest, nearest);
  }
  return crossing;
}

bool has_one_input(const Op& op) {
  return !op.inputs.empty() &&
         std::all_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return input == op.inputs.front(); });
}

std::vector<OpId> translated(const std::vector<OpId>& ops, const std::vector<OpId>& new_op) {
  std::vector<OpId> result;
  for (const OpId op : ops)
    if (new_op[op.index()].valid()) result.push_back(new_op[op.index()]);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

Reduction reduce(const Graph& graph, Keep keep) {
  const auto n = graph.ops.size();
  const auto users = successors(graph);
  const auto crossing = keep == Keep::Timing ? find_crossings(graph, users) : std::vector<bool>(n, true);
  std::vector<bool> completes_gradient(n, false);
  for (const Parameter& p : graph.parameters)
    if (p.gradient.valid()) completes_gradient[p.gradient.index()] = true;

  std::vector<bool> joins_input(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    const Op& op = graph.ops[i];
    if (!op.reads.empty() || !has_one_input(op)) continue;
    const auto input = op.inputs.front().index();
    joins_input[i] = users[input].size() == 1 && !completes_gradient[input] && graph.ops[input].phase == op.phase &&
                     crossing[input] && crossing[i];
  }

  std::vector<OpId> first(n);  // head of the chain that the op belongs to
  for (const OpId op : topological_order(graph))
    first[op.index()] = joins_input[op.index()] ? first[graph.ops[op.index()].inputs.front().index()] : op;

  Reduction result{graph, std::vector<OpId>(n)};
  result.graph.ops.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (first[i] == OpId(i)) {
      result.new_op[i] = OpId(result.graph.ops.size());
      result.graph.ops.push_back(graph.ops[i]);
    }
  for (std::size_t i = 0; i < n; ++i) {
    if (first[i] == OpId(i)) continue;
    result.new_op[i] = result.new_op[first[i].index()];
    Op& merged = result.graph.ops[result.new_op[i].index()];
    merged.time += graph.ops[i].time;
    merged.flops += graph.ops[i].flops;
    merged.memory_bytes += graph.ops[i].memory_bytes;
    merged.fixed_bytes += graph.ops[i].fixed_bytes;
    if (merged.op_class != graph.ops[i].op_class) merged.op_class = OpClass::Other;
  }
  for (Op& op : result.graph.ops) op.inputs = translated(op.inputs, result.new_op);
  for (Parameter& p : result.graph.parameters)
    if (p.gradient.valid()) p.gradient = result.new_op[p.gradient.index()];
  return result;
}

Graph forward_only(const Graph& graph) {
  Graph result = graph;
  result.ops.clear();
  std::vector<OpId> new_op(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    if (graph.ops[i].phase == Phase::Forward) {
      new_op[i] = OpId(result.ops.size());
      result.ops.push_back(graph.ops[i]);
    }
  for (Op& op : result.ops) op.inputs = translated(op.inputs, new_op);
  for (Parameter& p : result.parameters) p.gradient = OpId::none();
  return result;
}

}  // namespace stretto::graph
