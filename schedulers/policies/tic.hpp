// SPDX-License-Identifier: Apache-2.0
// TIC, timing-independent order (TicTac, MLSys 2019), from the structure of the graph alone.
//
// needs(o): the parameters that op o depends on, directly or through other ops, in the forward and the backward pass.
//   M+(r) = min over ops o with r in needs(o) and |needs(o)| > 1 of |needs(o)|; infinite if there is none.
// Parameters are ranked by ascending M+. Equal M+ means equal priority; what goes first among equals is decided by
// name, or with option ties=random by a permutation drawn from the seed.
// Consequences: in a chain whose op i needs parameters 1..i the first two are equal; where every op needs one parameter
// only, all are. Cost: O((ops + edges + parameters) x parameters / 64).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

inline constexpr std::uint32_t kNoSharedOp = std::numeric_limits<std::uint32_t>::max();  // M+ is infinite

// M+ per parameter.
std::vector<std::uint32_t> tic_m_plus(const graph::Graph& graph);
plan::Order make_tic(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
