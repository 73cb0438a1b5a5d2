// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/critical_path.hpp"

#include <algorithm>

#include "models/graph/order.hpp"
#include "schedulers/policies/order.hpp"

namespace stretto::policies {

plan::Order make_critical_path(const PolicyInput& input, const PolicyOptions&) {
  const graph::Graph& graph = input.graph;
  const auto next = graph::successors(graph);
  const auto order = graph::topological_order(graph);
  constexpr Duration kUnread = Duration::ps(-1);
  std::vector<Duration> path(graph.ops.size());  // from the start of the op to the end
  std::vector<Duration> longest(graph.parameters.size(), kUnread);
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    Duration behind;
    for (const graph::OpId o : next[op->index()]) behind = std::max(behind, path[o.index()]);
    path[op->index()] = graph.ops[op->index()].time + behind;
    for (const graph::ParameterId p : graph.ops[op->index()].reads)
      longest[p.index()] = std::max(longest[p.index()], path[op->index()]);
  }
  auto parameters = by_name(graph);
  std::stable_sort(parameters.begin(), parameters.end(),
                   [&](auto a, auto b) { return longest[a.index()] > longest[b.index()]; });
  return ranked(input, parameters);
}

}  // namespace stretto::policies
