// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/by_layer.hpp"

#include "schedulers/policies/fifo.hpp"

namespace stretto::policies {

plan::Order make_by_layer(const PolicyInput& input, const PolicyOptions&) {
  plan::Order result;
  result.pull.discipline = input.barrier ? plan::Discipline::Strict : plan::Discipline::Priority;
  result.pull.rank.assign(input.layout.transfers.size(), plan::kUnranked);
  std::uint32_t rank = 0;
  for (const graph::ParameterId p : fifo_order(input.graph))
    for (std::uint32_t t = input.layout.first[p.index()]; t < input.layout.first[p.index() + 1]; ++t)
      result.pull.rank[t] = rank++;
  return result;
}

}  // namespace stretto::policies
