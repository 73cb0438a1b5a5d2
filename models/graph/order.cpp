// SPDX-License-Identifier: Apache-2.0
#include "models/graph/order.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace stretto::graph {

std::vector<std::vector<OpId>> successors(const Graph& graph) {
  std::vector<std::vector<OpId>> result(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    for (const OpId input : graph.ops[i].inputs) {
      auto& list = result[input.index()];
      if (list.empty() || list.back() != OpId(i)) list.push_back(OpId(i));
    }
  return result;
}

std::vector<OpId> topological_order(const Graph& graph) {
  const auto n = graph.ops.size();
  const auto users = successors(graph);
  std::vector<std::uint32_t> open(n, 0);
  for (const auto& list : users)
    for (const OpId user : list) ++open[user.index()];
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i)
    if (open[i] == 0) ready.push(OpId(i));
  std::vector<OpId> order;
  order.reserve(n);
  while (!ready.empty()) {
    const OpId op = ready.top();
    ready.pop();
    order.push_back(op);
    for (const OpId user : users[op.index()])
      if (--open[user.index()] == 0) ready.push(user);
  }
  STRETTO_ASSERT(order.size() == n, "{} of {} ops lie on a cycle", n - order.size(), n);
  return order;
}

BitMatrix needs(const Graph& graph) {
  BitMatrix result(graph.ops.size(), graph.parameters.size());
  for (const OpId op : topological_order(graph)) {
    for (const ParameterId p : graph.ops[op.index()].reads) result.set(op.index(), p.index());
    for (const OpId input : graph.ops[op.index()].inputs) result.merge(op.index(), input.index());
  }
  return result;
}

std::vector<Duration> paths_to_end(const Graph& graph) {
  const std::vector<OpId> order = topological_order(graph);
  std::vector<Duration> path(graph.ops.size());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Op& op = graph.ops[it->index()];
    path[it->index()] += op.time;  // what follows is there by now
    for (const OpId input : op.inputs) path[input.index()] = std::max(path[input.index()], path[it->index()]);
  }
  return path;
}

Duration critical_path(const Graph& graph) {
  std::vector<Duration> end(graph.ops.size());
  Duration longest;
  for (const OpId op : topological_order(graph)) {
    Duration start;
    for (const OpId input : graph.ops[op.index()].inputs) start = std::max(start, end[input.index()]);
    end[op.index()] = start + graph.ops[op.index()].time;
    longest = std::max(longest, end[op.index()]);
  }
  return longest;
}

}  // namespace stretto::graph
