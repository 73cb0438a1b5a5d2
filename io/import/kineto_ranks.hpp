// SPDX-License-Identifier: Apache-2.0
// Kineto traces of several ranks as one job: the offset between their clocks, and how long a collective really moved
// data.
//
// An NCCL kernel waits on the device until all ranks have come, so its duration on one rank includes waiting, but it
// ends on all ranks at the same time (within microseconds). So the ends of one collective on two ranks differ by the
// offset of their clocks, and those of two different collectives by anything. Of all pairs of collectives of the same
// kind and bytes, one of each rank, the differences of ends are sorted; the window of 1 ms that holds most of them is
// the offset's (of equal ones that which is nearest to 0), their median is the offset, and in it each collective is
// paired with the nearest. Traces that miss collectives (sampled, cut) are aligned all the same. An offset needs two
// pairs at least, and a quarter of the collectives of the rank that has fewer.
//
// What a collective moved takes the least of its durations over the ranks: the last to come waits for nobody.
// Cost: O(n log n) a rank, and a sort of at most a million differences: of the first 1,000 collectives of each kind,
// those of rare kinds first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/import/kineto_events.hpp"

namespace stretto::io {

struct RankMatch {
  std::int64_t offset_ns = 0;   // the other rank's clock less this one's
  std::size_t pairs = 0;        // collectives found in both
  std::size_t collectives = 0;  // of this rank
};

// Aligns `other` with `trace` and lowers transfer_ns of the kernels of `trace` that both have. None if no offset is
// certain.
std::optional<RankMatch> match_rank(KinetoTrace& trace, const KinetoTrace& other);

}  // namespace stretto::io
