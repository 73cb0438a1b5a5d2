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

// At the end of all ops that precede every gradient in `set`.
Split split_at(const graph::Graph& graph, const graph::BitMatrix& needs, const graph::BitMatrix& feeds,
               const std::vector<bool>& set) {
  const auto completes = completes_gradient(graph);
  const auto count = static_cast<std::size_t>(std::count(set.begin(), set.end(), true));
  Split split;
  split.pushed = set;
  split.before.assign(graph.ops.size(), false);
  split.after.assign(graph.ops.size(), false);
  split.needed.assign(graph.parameters.size(), false);
  if (count == 0) return split;
  for (std::size_t o = 0; o < graph.ops.size(); ++o) {
    std::size_t fed = 0;
    graph::for_each_bit(feeds.row(o), [&](std::size_t p) { fed += set[p] ? 1 : 0; });
    split.before[o] = !completes[o] && fed == count;
    if (split.before[o]) graph::for_each_bit(needs.row(o), [&](std::size_t p) { split.needed[p] = true; });
  }
  if (std::find(split.before.begin(), split.before.end(), true) != split.before.end())
    split.after = after_all(graph, split.before);
  return split;
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
  std::vector<bool> all;
  std::size_t pushed = 0;
  for (const graph::Parameter& p : graph.parameters) {
    all.push_back(p.gradient.valid());
    pushed += p.gradient.valid() ? 1 : 0;
  }
  Split split = split_at(graph, needs, feeds, all);
  std::vector<bool> read(graph.parameters.size(), false);
  for (const graph::Op& op : graph.ops)
    for (const graph::ParameterId p : op.reads) read[p.index()] = true;
  const bool any = std::find(split.before.begin(), split.before.end(), true) != split.before.end();
  split.holds = pushed > 0 && any && split.needed == read;
  return split;
}

Losses losses(const graph::Graph& graph, const graph::BitMatrix& needs, const graph::BitMatrix& feeds) {
  const auto completes = completes_gradient(graph);
  const auto inside = [](const std::vector<bool>& a, const std::vector<bool>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] && !b[i]) return false;
    return true;
  };
  // What precedes every gradient belongs to all losses.
  std::vector<bool> all;
  for (const graph::Parameter& p : graph.parameters) all.push_back(p.gradient.valid());
  std::vector<std::vector<bool>> sets;
  for (std::size_t o = 0; o < graph.ops.size(); ++o) {
    if (completes[o]) continue;
    std::vector<bool> fed(graph.parameters.size(), false);
    graph::for_each_bit(feeds.row(o), [&](std::size_t p) { fed[p] = true; });
    if (fed == all || std::any_of(sets.begin(), sets.end(), [&](const auto& set) { return inside(fed, set); }))
      continue;
    std::erase_if(sets, [&](const auto& set) { return inside(set, fed); });
    sets.push_back(std::move(fed));
  }
  Losses result;
  if (sets.size() < 2 || sets.size() > kMostLosses) return result;
  const auto add = [](std::vector<bool>& sum, const std::vector<bool>& more) {
    sum.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) sum[i] = sum[i] || more[i];
  };
  for (const std::vector<bool>& set : sets) {
    result.each.push_back(split_at(graph, needs, feeds, set));
    const Split& loss = result.each.back();
    for (Split* sum : {&result.last, &result.first}) {
      add(sum->before, loss.before);
      add(sum->after, loss.after);
      add(sum->needed, loss.needed);
      add(sum->pushed, loss.pushed);
    }
  }
  return result;
}

}  // namespace stretto::bounds
