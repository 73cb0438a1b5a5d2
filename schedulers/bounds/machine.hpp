// SPDX-License-Identifier: Apache-2.0
// Lower bounds of single resources, from which the bounds of a step are put together (step.hpp).
//
// A resource with a capacity has jobs: job j is not there before its head r(j), uses the resource for p(j) if it has it
// alone, and something that takes at least the tail q(j) follows. Jobs may be interrupted, cut and run at the same time
// at shares of the capacity, so that a link under fair sharing, a FIFO link and n threads (p divided by n) are all
// covered: what is used is only that at most t of work is done in a time t.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::bounds {

struct Job {
  Duration head;
  Duration time;
  Duration tail;
};

// The exact preemptive optimum of one machine with heads and tails (Jackson's rule: always the largest tail that is
// there): max over sets J of min head + sum of times + min tail. 0 without jobs. O(n log n).
Duration one_machine_bound(std::vector<Job> jobs);

// One machine that does one job after the other, each without a break: what a connection of one stream does with whole
// messages. Head, time and tail are as above; jobs may wait although the machine is free.
struct Sequence {
  Duration cost;                     // of `order`: max over jobs of end + tail
  Duration bound;                    // no order is better
  std::vector<std::uint32_t> order;  // jobs in the order of their starts
};

// Largest tail first among what is there, each job without a break, and the critical block: the jobs from the last idle
// time to the one that ends last with its tail. Equal tails: the longest job, then the last. O(n log n).
struct Schrage {
  std::vector<std::uint32_t> order;
  Duration cost;
  std::size_t first = 0;  // of the block, places in `order`
  std::size_t last = 0;
};
Schrage largest_tail_first(const std::vector<Job>& jobs);

// Branch and bound of Carlier (1982): the schedule of the largest tail first (Schrage), whose critical block says what
// is left to decide: whether one job of a smaller tail comes before all or after all of the block's jobs behind it.
// Nodes are bounded by preemption and by the block. Ends with cost = bound, or at `max_nodes` with what is known then.
// O(jobs log jobs) per node.
Sequence one_machine_sequence(const std::vector<Job>& jobs, std::size_t max_nodes);

// A job that uses a first machine, then, after at least `lag`, a second.
struct TwoStageJob {
  Duration head;
  Duration first;
  Duration lag;
  Duration second;
  Duration tail;
};

// Two machines, each job wholly through the first before it enters the second: over each set J of the largest tails,
//   min head + sum of min(first, second) + max of max(first, second) + min lag + min tail.
// With first = second this is sum + max, what whole tensors pay for going up and coming down. O(n log n).
Duration two_machine_bound(std::vector<TwoStageJob> jobs);

}  // namespace stretto::bounds
