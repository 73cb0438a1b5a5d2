// SPDX-License-Identifier: Apache-2.0
// Search over placements: one parameter's slices move from one server to another, or two slices of different servers
// change places. A change is first judged by the lower bound of its layout: above the cost so far it is not evaluated.
// Equal costs are taken, since two full servers need two moves. Never worse than the start; deterministic for a seed.
#pragma once

#include <cstdint>
#include <functional>

#include "models/plan/plan.hpp"
#include "sim/base/units.hpp"

namespace stretto::search {

struct PlacementOptions {
  std::uint64_t evaluations = 100;  // of `cost`
  std::uint64_t tries = 1'000;      // changes that are judged
  std::uint64_t seed = 1;
  std::function<bool()> continue_search;  // null: always
};

struct PlacementResult {
  plan::Layout layout;
  Duration cost;
  std::uint64_t evaluations = 0;
  std::uint64_t refused = 0;  // by the bound
};

// `cost`: of the layout under a good order, kAbove if more than the limit. `bound`: 0 where none holds.
PlacementResult search_placement(const plan::Layout& start, Duration start_cost, const PlacementOptions& options,
                                 const std::function<Duration(const plan::Layout&)>& bound,
                                 const std::function<Duration(const plan::Layout&, Duration stop_above)>& cost);

}  // namespace stretto::search
