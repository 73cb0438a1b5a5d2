// SPDX-License-Identifier: Apache-2.0
// Order of first use, and its mirror.
//   fifo     ops in smallest-id-first topological order; the parameters that an op reads by name; then those that no op
//            reads, by name. Optimal for a chain of ops with one channel and one GPU.
//   reverse  the exact reverse of fifo: an easy bad case.
// Cost: O((ops + edges) log ops + parameters log parameters).
#pragma once

#include <vector>

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

std::vector<graph::ParameterId> fifo_order(const graph::Graph& graph);
plan::Order make_fifo(const PolicyInput& input, const PolicyOptions& options);
plan::Order make_reverse(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
