// SPDX-License-Identifier: Apache-2.0
// Staggered workers: pulls in the order of fifo, and groups of workers that start one after the other, so that one
// group pulls at full rate while others compute or push. Worker w starts floor(w / group) * offset late (plan::Order
// says what that means with a barrier and without one).
//   group   default: as many workers as fill the servers' NICs: the time of one worker's pulls at its own NIC over that
//           at the server that needs longest, rounded down, at least 1
//   offset  default: the time in which a group pulls all: max(at a worker's NIC, group x at that server's NIC)
// The last group starts (groups - 1) * offset late, so that this pays where communication dominates and servers' NICs
// are full. Bounds hold: they allow every start at or behind the barrier. Cost: that of fifo, and O(workers).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
