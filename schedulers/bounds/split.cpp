// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/split.hpp"

#include <algorithm>

#include "models/graph/order.hpp"

namespace stretto::bounds {

namespace {

std::vector<bool> completes_gradient(const graph::Graph& graph) {
  std::vector<bool> result(graph.ops.size(), false);
  for (const graph::Parameter& p : graph.parameters)
    if (p.gradient.valid()) result[p.gradient.index()] = true;
  return result;
}

std::vector<bool> after_all(const graph::Graph& graph, const std::vector<bool>& before) {
  std::vector<bool> is_end = before;
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (before[o])
      for (const graph::OpId input : graph.ops[o].inputs) is_end[input.index()] = false;
  const auto ends = static_cast<std::size_t>(std::count(is_end.begin(), is_end.end(), true));
  graph::BitMatrix follows(graph.ops.size(), ends);
  std::size_t next = 0;
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (is_end[o]) follows.set(o, next++);
  std::vector<bool> after(graph.ops.size(), false);
  for (const graph::OpId op : graph::topological_order(graph)) {
    const auto o = op.index();
    for (const graph::OpId input : graph.ops[o].inputs) follows.merge(o, input.index());
    after[o] = !before[o] && follows.count(o) == ends;
  }
  return after;
}

}  // namespace

graph::BitMatrix feeds(const graph::Graph& graph) {
  graph::BitMatrix result(graph.ops.size(), graph.parameters.size());
  for (std::size_t p = 0; p < graph.parameters.size(); ++p)
    if (graph.parameters[p].gradient.valid()) result.set(graph.parameters[p].gradient.index(), p);
  auto order = graph::topological_order(graph);
  std::reverse(order.begin(), order.end());
  for (const graph::OpId op : order)
    for (const graph::OpId input : graph.ops[op.index()].inputs) result.merge(input.index(), op.index());
  return result;
}

Split split_at_loss(const graph::Graph& graph, const graph::BitMatrix& needs, const graph::BitMatrix& feeds) {
  Split split;
  const auto n = graph.ops.size();
  split.before.assign(n, false);
  split.after.assign(n, false);
  std::size_t pushed = 0;
  for (const graph::Parameter& p : graph.parameters) pushed += p.gradient.valid() ? 1 : 0;
  if (pushed == 0) return split;

  const auto completes = completes_gradient(graph);
  graph::BitMatrix needed(1, graph.parameters.size());
  graph::BitMatrix read(1, graph.parameters.size());
  bool any = false;
  for (std::size_t o = 0; o < n; ++o) {
    for (const graph::ParameterId p : graph.ops[o].reads) read.set(0, p.index());
    split.before[o] = !completes[o] && feeds.count(o) == pushed;
    if (!split.before[o]) continue;
    any = true;
    graph::for_each_bit(needs.row(o), [&](std::size_t p) { needed.set(0, p); });
  }
  if (!any) return split;
  split.holds = needed.count(0) == read.count(0);
  split.after = after_all(graph, split.before);
  return split;
}

}  // namespace stretto::bounds
