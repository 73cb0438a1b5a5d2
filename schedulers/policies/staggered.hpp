// SPDX-License-Identifier: Apache-2.0
// Staggered workers: pulls in the order of fifo, and groups of workers that start one after the other, so that one
// group pulls at full rate while others compute or push. Worker w starts floor(w / group) * offset late (plan::Order
// says what that means with a barrier and without one).
//   group   default: that with the shortest transfers of a step. n groups, pulls of a group p, of the last one q: the
//           last pull ends by n p, and since pushes take as long and begin p (and all compute) later, in the same
//           order, the last push takes until n p + q (and all compute). The smallest of equal ones
//   offset  default: the time p in which a group pulls all: max(at a worker's NIC, group x at the server that needs
//           longest)
// The last group starts (groups - 1) * offset late, so that this pays where communication dominates and servers' NICs
// are full. Bounds hold: they allow every start at or behind the barrier. Cost: that of fifo, and O(workers).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
