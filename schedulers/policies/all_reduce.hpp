// SPDX-License-Identifier: Apache-2.0
// Policies for all-reduce training: which gradients go together, and in which turns.
//   wfbp     every gradient by itself, as soon as all workers have it (the order is that of wfbp.hpp)
//   mg_wfbp  wfbp with merged gradients (Shi et al., INFOCOM 2019). An all-reduce of p bytes takes a + b p. Layers are
//            the transfers in the order of becoming ready, from L (the first) down to 1; e[l] = end of backward of
//            layer l, tc[l] = a + b p[l]; start[L] = e[L], start[l] = max(start[l+1] + tc[l+1], e[l]).
//            From L down to 2: if e[l-1] < start[l] + tc[l] and (start[l] > e[l-1] or e[l-1] - start[l] < a), l goes
//            with l-1: p[l-1] += p[l], p[l] = 0, tc[l] = 0, start is computed anew.
//            Gradients of one op are ready at once, so that they merge where waiting costs nothing.
//   dear     reduce-scatters as gradients become ready, all-gathers when all are reduced, those of the first layers
//            first (Zhang, Shi, et al., ICDCS 2023). Buckets of at most 25 MB, greedy (plan/fusion.hpp)
// a and b are the cluster's, from the time of its collective alone. Op times are the profile's, divided by the speed of
// the first worker's device where the caller scaled the graph; on one device, in topological order.
// Cost: O(ops log ops + transfers log transfers); mg_wfbp O(transfers).
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

void fuse_nothing(const PolicyInput& input, const PolicyOptions& options, plan::Layout& layout);
void fuse_merged(const PolicyInput& input, const PolicyOptions& options, plan::Layout& layout);
void fuse_split(const PolicyInput& input, const PolicyOptions& options, plan::Layout& layout);

// One layer of mg_wfbp in the order of becoming ready.
struct ReadyLayer {
  Duration at;  // end of its backward
  Bytes bytes;
};

// The bucket of each layer, from 0 on.
std::vector<std::uint32_t> merge_gradients(const std::vector<ReadyLayer>& layers, const CollectiveCost& cost);

}  // namespace stretto::policies
