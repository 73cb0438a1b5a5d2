// SPDX-License-Identifier: Apache-2.0
// Wait-free backpropagation (Poseidon): gradients go as soon as they are ready, first come, first served, and so do
// pulls (Free both ways). Without a barrier a pull is ready at the update of its slice, so that pulls come in the order
// of the pushes, last layer first: what tells it from fifo, whose pulls are ranked. With a barrier all pulls of a step
// are ready together and go in order of creation. Cost: O(1).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_wfbp(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
