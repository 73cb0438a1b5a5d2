// SPDX-License-Identifier: Apache-2.0
// The forward problem: one channel, one GPU, whole transfers, all available at 0. Exact makespan of an order, and lower
// bounds on that of any order.
//
// Transfer r takes m(r) on the channel, op o takes p(o) on the GPU; needs(o): transfers that o depends on, directly or
// through other ops. For a set S of transfers, m(S) = sum of m, f(S) = sum of p(o) with needs(o) inside S.
// Assumptions of `makespan`: latency 0, no service cost, one message at a time, one server, and a GPU that never idles
// while an op is ready. Then the order of ops does not matter, and transfers that nobody needs count as well.
// The bounds need less: the channel is a capacity (transfers may be cut, preempted or share it), the GPU does at most
// one unit of work per unit of time. Times are integers; the results are exact. Proofs and tests: docs/bounds.md,
// tests/crosscheck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/graph/bit_matrix.hpp"
#include "models/graph/graph.hpp"
#include "sim/base/units.hpp"

namespace stretto::bounds {

struct ForwardProblem {
  std::vector<Duration> transfer;  // m(r)
  std::vector<Duration> compute;   // p(o)
  graph::BitMatrix needs;          // row per op, column per transfer
};

// The problem of a graph's ops (all of them, both phases) with the given transfer time per parameter.
ForwardProblem forward_problem(const graph::Graph& graph, std::vector<Duration> transfer_time);

// Makespan of a transfer order (a permutation): with prefixes S_k of k transfers,
//   P + max(0, max_k [ m(S_k) - f(S_{k-1}) ]),  P = sum of p.
// Every order of the ops that never idles gives this. O(bits of needs).
Duration makespan(const ForwardProblem& problem, const std::vector<std::uint32_t>& order);

// max(P, M): each resource has its work to do. O(n).
Duration load_bound(const ForwardProblem& problem);

// max over o of m(needs(o)) + sum of p(o') with m(needs(o')) >= m(needs(o)): none of these ops can start before. P is
// included (an o that needs nothing). O(bits + ops log ops).
Duration head_bound(const ForwardProblem& problem);

// q(r) = sum of p over ops that need r. Sorted by q descending: max over k of m(first k) + q of the k-th. The strongest
// of the three on real models. O(bits + n log n).
Duration tail_bound(const ForwardProblem& problem);

}  // namespace stretto::bounds
