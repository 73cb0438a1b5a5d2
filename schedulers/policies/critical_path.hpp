// SPDX-License-Identifier: Apache-2.0
// Critical path (list scheduling): the priority of a parameter is the longest path of op times from an op that reads
// it to the end of the step, that op included, in training through the backward pass. The longest goes first; equal
// ones by name, then id; parameters that no op reads come last. For a chain of ops that take time this is fifo.
// Cost: O(ops + edges + parameters log parameters).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_critical_path(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
