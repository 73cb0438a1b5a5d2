// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/tic.hpp"

#include <algorithm>

#include "models/graph/order.hpp"
#include "schedulers/policies/order.hpp"
#include "sim/base/random.hpp"

namespace stretto::policies {

std::vector<std::uint32_t> tic_m_plus(const graph::Graph& graph) {
  std::vector<std::uint32_t> m_plus(graph.parameters.size(), kNoSharedOp);
  const auto needs = graph::needs(graph);
  for (std::size_t op = 0; op < needs.rows(); ++op) {
    const auto count = static_cast<std::uint32_t>(needs.count(op));
    if (count > 1) graph::for_each_bit(needs.row(op), [&](std::size_t p) { m_plus[p] = std::min(m_plus[p], count); });
  }
  return m_plus;
}

plan::Order make_tic(const PolicyInput& input, const PolicyOptions& options) {
  auto order = by_name(input.graph);
  const auto ties = options.find("ties");
  if (ties != options.end() && ties->second == "random") {
    RandomStream stream(input.seed, "policies/tic");
    const auto named = order;
    const auto permutation = random_permutation(named.size(), stream);
    for (std::size_t k = 0; k < named.size(); ++k) order[k] = named[permutation[k]];
  }
  const auto m_plus = tic_m_plus(input.graph);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return m_plus[a.index()] < m_plus[b.index()]; });
  return ranked(input, order);
}

}  // namespace stretto::policies
