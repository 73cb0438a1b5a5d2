// SPDX-License-Identifier: Apache-2.0
// TAC, timing-aware order (TicTac, MLSys 2019), from op times and transfer times.
//
// R: parameters not yet emitted; needs(o) as in tic.hpp; M(r): transfer time of r.
//   P(r)  = sum of time(o) over ops with needs(o) in R equal to {r}
//   M+(r) = min over ops o with r in needs(o) and |needs(o) in R| > 1 of the sum of M over needs(o) in R; else infinite
// Until R is empty: compute P and M+, emit the first parameter, where
//   A is strictly before B if min(P(B), M(A)) < min(P(A), M(B)), or if these are equal and M+(A) < M+(B).
// "Strictly before" is not transitive, so "first" needs a rule: candidates are scanned in order of name (then id), and
// a later one replaces the one held only if it is strictly before that one. Sums are exact integers (picoseconds).
//
// Method: ops with equal needs are one group with summed times. A group keeps the count and the sum of M of its members
// in R, updated when one leaves; with one left it adds to P and is done. M+ is read off a heap of groups by that sum
// until every parameter has met one.
// Cost per emitted parameter: O(groups + groups read x (log groups + parameters / 64)); groups <= ops.
// TAC is a heuristic: with transfers A=6, B=1, C=2 and ops x (6) on B and C, y (1) on A it picks the worst order.
#pragma once

#include <vector>

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

std::vector<graph::ParameterId> tac_order(const graph::Graph& graph, const std::vector<Duration>& transfer_time);
plan::Order make_tac(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
