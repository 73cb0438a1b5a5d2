// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/fair.hpp"

#include <algorithm>
#include <limits>

namespace stretto::check {

void share_fairly(const std::vector<double>& capacity, std::vector<FairFlow>& flows) {
  constexpr double kSame = 1 + 1e-12;  // levels that differ by less are one
  std::vector<double> left = capacity;
  std::vector<std::uint32_t> growing(capacity.size(), 0);
  for (const FairFlow& f : flows)
    for (const std::uint32_t l : *f.links) ++growing[l];
  std::vector<bool> stopped(flows.size(), false);
  std::vector<std::size_t> stop;
  for (std::size_t open = flows.size(); open > 0;) {
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < left.size(); ++l)
      if (growing[l] > 0) level = std::min(level, left[l] / growing[l]);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (!stopped[f]) level = std::min(level, flows[f].cap);
    const auto full = [&](std::uint32_t l) { return left[l] / growing[l] <= level * kSame; };
    stop.clear();
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (!stopped[f] && (flows[f].cap <= level * kSame || level == std::numeric_limits<double>::infinity() ||
                          std::any_of(flows[f].links->begin(), flows[f].links->end(), full)))
        stop.push_back(f);
    for (const std::size_t f : stop) {
      stopped[f] = true;
      flows[f].rate = std::min(level, flows[f].cap);
      for (const std::uint32_t l : *flows[f].links) {
        left[l] = std::max(0.0, left[l] - flows[f].rate);
        --growing[l];
      }
    }
    open -= stop.size();
  }
}

}  // namespace stretto::check
