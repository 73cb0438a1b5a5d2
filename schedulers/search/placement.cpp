// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/placement.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/random.hpp"

namespace stretto::search {

namespace {

std::vector<std::int64_t> loads(const plan::Layout& layout) {
  std::vector<std::int64_t> bytes(layout.servers);
  for (const plan::Transfer& t : layout.transfers) bytes[t.server] += t.bytes.count();
  return bytes;
}

// Half of the moves leave the fullest server, the others any.
plan::Layout changed(const plan::Layout& layout, RandomStream& random) {
  plan::Layout next = layout;
  const std::size_t n = layout.transfers.size();
  std::size_t a = random.below(n);
  if (random.below(2) == 0) {
    const auto bytes = loads(layout);
    const auto full = static_cast<std::uint32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
    for (std::size_t i = 0; i < n && next.transfers[a].server != full; ++i) a = (a + 1) % n;
  }
  plan::Transfer& one = next.transfers[a];
  if (random.below(2) == 0) {
    plan::Transfer& other = next.transfers[random.below(n)];
    if (one.server != other.server) {
      std::swap(one.server, other.server);
      return next;
    }
  }
  one.server = static_cast<std::uint32_t>((one.server + 1 + random.below(layout.servers - 1)) % layout.servers);
  return next;
}

}  // namespace

PlacementResult search_placement(const plan::Layout& start, Duration start_cost, const PlacementOptions& options,
                                 const std::function<Duration(const plan::Layout&)>& bound,
                                 const std::function<Duration(const plan::Layout&, Duration)>& cost) {
  PlacementResult result{start, start_cost, 0, 0};
  if (start.servers < 2 || start.transfers.empty()) return result;
  RandomStream random(options.seed, "placement");
  for (std::uint64_t n = 0; n < options.tries && result.evaluations < options.evaluations; ++n) {
    if (options.continue_search && !options.continue_search()) break;
    plan::Layout next = changed(result.layout, random);
    if (bound(next) > result.cost) {
      ++result.refused;
      continue;
    }
    ++result.evaluations;
    const Duration value = cost(next, result.cost);
    if (value > result.cost) continue;
    result.layout = std::move(next);
    result.cost = value;
  }
  return result;
}

}  // namespace stretto::search
