// SPDX-License-Identifier: Apache-2.0
// Exact search for the steady step of one worker with whole tensors: a flow shop of two machines, the connection up and
// the connection down, each of which does one message at a time without a break. Job j may begin on the first at its
// head r, takes a there, may begin on the second a lag l after its end, takes b there, and its tail q follows:
//   minimise max over jobs of [ end on the second + q ]
// Machines may wait for what is not there yet, and their orders may differ. What comes out is a lower bound of the step
// (bounds/machine.hpp says what heads and tails are), and two orders that reach it where only heads and tails matter,
// as in chains.
//
// Branch and bound, least bound first. A node is a set of decided pairs (i before j on one machine), which raise heads
// and tails along their longest paths; its bound is the preemptive one of each machine; its schedule is the largest
// tail first on one machine and then on the other. The pair to decide next is taken from the critical path of that
// schedule: the longest message before the one at which a block ends. Where all pairs of the path are decided, the
// bound is the cost. Deterministic. Cost: O(jobs log jobs + decided pairs squared) per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedulers/bounds/machine.hpp"

namespace stretto::search {

struct ShopResult {
  std::vector<std::uint32_t> first;   // jobs in the order of the first machine
  std::vector<std::uint32_t> second;  // and of the second
  Duration cost;
  Duration bound;  // no two orders are better
  bool proven = false;
  std::uint64_t states = 0;  // nodes
};

ShopResult flow_shop(const std::vector<bounds::TwoStageJob>& jobs, std::uint64_t max_states);

// The cost of two orders.
Duration flow_shop_cost(const std::vector<bounds::TwoStageJob>& jobs, const std::vector<std::uint32_t>& first,
                        const std::vector<std::uint32_t>& second);

}  // namespace stretto::search
