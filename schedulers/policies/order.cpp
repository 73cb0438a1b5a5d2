// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/order.hpp"

#include <algorithm>
#include <tuple>

#include "models/plan/partition.hpp"

namespace stretto::policies {

std::vector<graph::ParameterId> by_name(const graph::Graph& graph) {
  std::vector<graph::ParameterId> order;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) order.emplace_back(i);
  std::sort(order.begin(), order.end(), [&](graph::ParameterId a, graph::ParameterId b) {
    return std::tie(graph.parameters[a.index()].name, a) < std::tie(graph.parameters[b.index()].name, b);
  });
  return order;
}

plan::Order ranked(const PolicyInput& input, const std::vector<graph::ParameterId>& order) {
  const plan::Layout& layout = input.layout;
  STRETTO_ASSERT(order.size() + 1 == layout.first.size(), "{} parameters ordered, {} laid out", order.size(),
                 layout.first.size() - 1);
  plan::Order result;
  result.pull.discipline = input.barrier ? plan::Discipline::Strict : plan::Discipline::Priority;
  result.pull.rank.assign(layout.transfers.size(), plan::kUnranked);
  std::uint32_t rank = 0;
  for (const graph::ParameterId p : order)
    for (const std::uint32_t t : plan::slices_in_turn(layout, p.index())) result.pull.rank[t] = rank++;
  return result;
}

}  // namespace stretto::policies
