// SPDX-License-Identifier: Apache-2.0
// Staggered workers: pulls in the order of fifo, and groups of workers that start one after the other, so that one
// group pulls at full rate while others compute or push. Worker w starts floor(w / group) * offset late (plan::Order
// says what that means with a barrier and without one).
//   group   default: the one with the shortest step in a model of one serial device a worker. A(t) is the step of a
//           worker alone whose pulls, and pushes, take t in all: ops in topological order, each when its variables
//           have come in the order of fifo, pushes one after the other as gradients are ready. Of n groups each
//           pulls for p, the last one, which may be smaller, for q; it starts (n - 1) p late, and its pushes end no
//           earlier than q after those of the group before it:
//             A(p) for n = 1, else max((n - 2) p + A(p) + q, (n - 1) p + A(q))
//           Of equal ones the smallest group. Where communication is all there is A(t) = 2 t, and the step n p + q
//   offset  default: the time p in which a group pulls all: max(at a worker's NIC, group x at the server that needs
//           longest)
// The last group starts (groups - 1) * offset late, so that this pays where communication dominates and servers' NICs
// are full. Bounds hold: they allow every start at or behind the barrier. Cost: that of fifo, and
// O(workers + sqrt(workers) x ops).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
