// SPDX-License-Identifier: Apache-2.0
// A lower bound of what is left of a forward problem (forward.hpp), stronger than the tail bound.
//
// Let A be any set of the transfers that are left, r the one of A that arrives last, and B what arrives before it
// besides A. Until then m(A) + m(B) was sent, and only groups of ops could run that need nothing but A - {r} and B. So
// the peak is at least
//   m(A) - max over B of [ work of the groups that need nothing but A - {r} and B, less m(B) ]
// for some r of A: the least over r is a bound for each A. The maximum over B is a closure problem. By duality it is at
// most the work of the groups that do not need r, less what a flow brings of it to transfers outside A, each of which
// takes its time at most and only from groups that need it. No flow gives the tail bound.
// A begins with all transfers; the r with the least value leaves it, takes flow (augmenting paths), and so on. The more
// A holds, the larger each value, so that no other choice of sets gives more with the same flows. The largest of the
// bounds is returned. Deterministic.
// Cost: transfers x augmenting paths x needs.
#pragma once

#include <cstdint>
#include <vector>

namespace stretto::search {

struct PeelGroup {
  std::int64_t work = 0;
  std::vector<std::uint32_t> needs;  // transfers that are left; not empty
};

// `time` per transfer that is left, > 0 or 0. In units of time, from the level m(S) - f(S) of the set sent on; >= the
// tail bound, less all work of the groups. `steps` grows by what it takes, in looks at a need.
std::int64_t peel_bound(const std::vector<std::int64_t>& time, const std::vector<PeelGroup>& groups,
                        std::uint64_t& steps);

}  // namespace stretto::search
