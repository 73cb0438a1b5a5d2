// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/random.hpp"

#include "schedulers/policies/order.hpp"
#include "sim/base/random.hpp"

namespace stretto::policies {

plan::Order make_random(const PolicyInput&, const PolicyOptions&) {
  plan::Order result;
  result.pull.discipline = plan::Discipline::Unordered;
  return result;
}

plan::Order make_fixed_random(const PolicyInput& input, const PolicyOptions&) {
  RandomStream stream(input.seed, "policies/fixed_random");
  std::vector<graph::ParameterId> order;
  for (const auto p : random_permutation(input.graph.parameters.size(), stream)) order.emplace_back(p);
  return ranked(input, order);
}

}  // namespace stretto::policies
