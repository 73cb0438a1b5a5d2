// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates by progressive filling, the definition taken literally: all rates grow together from 0; a flow
// stops when one of its links is full or its cap is met. All links are looked at anew for every level.
// Cost: O(levels x (flows x links of a flow + links)).
#pragma once

#include <cstdint>
#include <vector>

namespace stretto::check {

struct FairFlow {
  const std::vector<std::uint32_t>* links = nullptr;
  double cap = 0;   // bytes/ps; infinite: none
  double rate = 0;  // result; infinite where nothing limits the flow
};

// `capacity` of each link, bytes/ps; may be infinite.
void share_fairly(const std::vector<double>& capacity, std::vector<FairFlow>& flows);

}  // namespace stretto::check
