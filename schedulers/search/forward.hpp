// SPDX-License-Identifier: Apache-2.0
// Exact and beam search for the forward problem (bounds/forward.hpp), whose cost is
//   P + max(0, max_k [ m(S_k) - f(S_{k-1}) ])
// over the prefixes S_k of a transfer order: P total work, m(S) transfer time, f(S) work of the ops whose needs lie
// in S.
//
// Nodes are sets S of transfers that were sent. Only f changes the cost, and only when an op gets its last transfer; so
// an order is a sequence of blocks X = needs(o) \ S that contain no smaller block. h(S) = m(S) - f(S); peak of a path =
// max of h(S) + m(X) over its steps. Of two paths to one S the lower peak is enough.
//   bound of a node   max(peak, tail bound of what is left: by descending work q(r) of the open ops that need r,
//                     max over k of m(S) + m(first k) + q_k - P); after some nodes also the stronger bound of peel.hpp
//   commit rule (T3)  if h(S) + m(X) <= the node's own bound and h(S + X) <= h(S), X is taken without branching
// best_first expands the node of least bound; what it returns is optimal if `proven`, else `bound` is the least bound
// left. beam keeps the `width` best nodes after each block. Both are deterministic.
// Cost: O(groups of ops with equal needs, squared, x transfers / 64) per node; memory O(nodes x transfers / 64).
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/bounds/forward.hpp"

namespace stretto::search {

struct ForwardResult {
  std::vector<std::uint32_t> order;  // of all transfers
  Duration cost;
  Duration bound;  // no order is better
  bool proven = false;
  std::uint64_t states = 0;  // expanded
};

ForwardResult best_first(const bounds::ForwardProblem& problem, std::uint64_t max_states);
ForwardResult beam(const bounds::ForwardProblem& problem, std::size_t width);

}  // namespace stretto::search
