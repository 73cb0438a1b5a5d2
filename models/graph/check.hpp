// SPDX-License-Identifier: Apache-2.0
// Is a graph one that the rest of the program may rely on? Every reader of graphs calls check() and throws what it
// finds as UserError; everything else assumes a checked graph.
//
// Required: at least one op; batch from 1 to kMaxBatch; amounts of ops up to kMaxAmount; names of ops and parameters
// non-empty and unique; every id in range; times >= 0 and bytes > 0, with sums below kMaxTotalTime and kMaxTotalBytes
// (so that no later sum overflows); no cycle; no forward op after a backward op; a gradient is completed by a backward
// op, and only a trainable parameter has one.
// The same input or parameter listed twice by one op counts once. Cost: O(ops log ops + edges).
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/graph.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::graph {

inline constexpr Duration kMaxTotalTime = Duration::ps(1'000'000'000'000'000'000 / 10);  // 28 hours of compute a step
inline constexpr std::int64_t kMaxBatch = 1'000'000'000;
inline constexpr double kMaxAmount = 1e24;                             // of an op's operations or bytes
inline constexpr Bytes kMaxTotalBytes = Bytes(std::int64_t{1} << 50);  // 1 PiB

// Empty if the graph is sound. Keys are like "ops[3].inputs[0]"; a cycle is named by its ops in order.
std::vector<Diagnostic> check(const Graph& graph);

}  // namespace stretto::graph
