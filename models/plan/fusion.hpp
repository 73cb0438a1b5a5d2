// SPDX-License-Identifier: Apache-2.0
// Fusion: which gradients an all-reduce sums together, as buckets of a layout (Layout::bucket).
//
// Gradients become ready in this order: ops run one after the other in the topological order that takes the smallest
// id first; a gradient is ready at the end of its op; equal ones go by transfer. Buckets are numbered by it.
//   fuse        greedy as in Horovod and PyTorch DDP: the next gradient joins the bucket if the sum is at most
//               the limit, else it begins a new one. A gradient above the limit is a bucket of its own. Limit 0: every
//               transfer is a bucket
//   group       the caller says which: number per transfer, any values, equal = together
// Cost: O(ops log ops + transfers log transfers).
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"

namespace stretto::plan {

// Transfers with a gradient, in the order of becoming ready, and when they are (on one device of speed 1).
struct ReadyGradient {
  std::uint32_t transfer = 0;
  Duration at;
};
std::vector<ReadyGradient> gradients_by_readiness(const graph::Graph& graph, const Layout& layout);

void fuse(const graph::Graph& graph, Layout& layout, Bytes limit);

// `number` is looked at for transfers with a gradient only.
void group(const graph::Graph& graph, Layout& layout, const std::vector<std::uint32_t>& number);

// By bucket. O(transfers).
std::vector<Bytes> bucket_bytes(const Layout& layout);

}  // namespace stretto::plan
