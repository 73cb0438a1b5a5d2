// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the step time of all-reduce training, for any order of turns with a given layout.
//
// A resource (one direction of a host's NIC; a worker's only stream) does one job per collective, of which
// the caller knows a least time. It is one machine with heads and tails (machine.hpp):
//   head   a collective begins when all gradients of its bucket are there: the ops that they need, on every worker
//   tail   ops that read a parameter of the bucket wait for the collective that ends it
//   barrier     everything of a step lies between two barriers: heads from the start of the step, no tails
//   no barrier  from loss to loss of one worker (split.hpp): heads after the loss, tails before the next. Buckets that
//               no op reads may take longer; they count in the load alone
//   split       an all-gather has at least the head of the last bucket; a reduce-scatter has no tail
// Besides: load (all jobs of a step in the long run) and each worker's ops, with the step's overhead.
// Noise-free; rounding is down. Cost: O(resources x buckets log buckets + bits of the ops' needs).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/step.hpp"

namespace stretto::bounds {

// Least time per bucket; `gather` is empty where the layout is not split.
struct CollectiveResource {
  std::string name;
  std::size_t worker = 0;  // one that uses it
  std::vector<Duration> reduce;
  std::vector<Duration> gather;
};

Bound collective_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const std::vector<CollectiveResource>& resources, bool barrier);

}  // namespace stretto::bounds
