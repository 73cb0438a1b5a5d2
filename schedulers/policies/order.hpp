// SPDX-License-Identifier: Apache-2.0
// What the policies share: from an order of parameters to plan::Order.
#pragma once

#include <vector>

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

// All parameters of `graph` by name, then id.
std::vector<graph::ParameterId> by_name(const graph::Graph& graph);

// Pulls in the given order of parameters (a permutation of all), slices adjacent, servers in turn: Strict with a
// barrier, Priority without. Pushes are Free.
plan::Order ranked(const PolicyInput& input, const std::vector<graph::ParameterId>& order);

}  // namespace stretto::policies
