// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fifo.hpp"

#include <algorithm>

#include "models/graph/order.hpp"
#include "schedulers/policies/order.hpp"

namespace stretto::policies {

std::vector<graph::ParameterId> fifo_order(const graph::Graph& graph) {
  const auto names = by_name(graph);
  std::vector<std::size_t> place(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) place[names[k].index()] = k;
  std::vector<bool> listed(names.size(), false);
  std::vector<graph::ParameterId> order;
  const auto append = [&](graph::ParameterId p) {
    if (listed[p.index()]) return;
    listed[p.index()] = true;
    order.push_back(p);
  };
  for (const graph::OpId op : graph::topological_order(graph)) {
    auto reads = graph.ops[op.index()].reads;
    std::sort(reads.begin(), reads.end(), [&](auto a, auto b) { return place[a.index()] < place[b.index()]; });
    for (const graph::ParameterId p : reads) append(p);
  }
  for (const graph::ParameterId p : names) append(p);
  return order;
}

plan::Order make_fifo(const PolicyInput& input, const PolicyOptions&) { return ranked(input, fifo_order(input.graph)); }

plan::Order make_reverse(const PolicyInput& input, const PolicyOptions&) {
  auto order = fifo_order(input.graph);
  std::reverse(order.begin(), order.end());
  return ranked(input, order);
}

}  // namespace stretto::policies
