// SPDX-License-Identifier: Apache-2.0
// Running to goals, and to the end.
#include <algorithm>
#include <iterator>

#include "sim/base/assert.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::program {

bool Simulation::reached(const Goal& goal) const {
  std::uint64_t sum = 0;
  for (std::uint32_t m = goal.first_marker; m < goal.first_marker + goal.markers; ++m) {
    const std::uint64_t passes = markers_.times(m).size();
    if (!goal.together && passes < goal.count) return false;
    sum += passes;
  }
  return !goal.together || sum >= goal.count;
}

Status Simulation::run_until_any(std::span<const Goal> goals) {
  std::vector<Goal> open;
  std::copy_if(goals.begin(), goals.end(), std::back_inserter(open), [&](const Goal& g) { return !reached(g); });
  STRETTO_ASSERT(!open.empty(), "all of {} goals are reached", goals.size());
  for (;;) {
    const std::uint64_t before = markers_.passes();
    if (!instant()) return Status::Deadlock;
    if (markers_.passes() != before && std::any_of(open.begin(), open.end(), [&](const Goal& g) { return reached(g); }))
      return Status::Reached;
  }
}

Status Simulation::run() {
  const std::uint32_t limited = std::min(program_->size(), program_->endless);
  const std::uint64_t all = std::uint64_t{limited} * iterations_;
  while ((limited == program_->size() || finished_ < all) && instant()) {
  }
  return finished_ == all ? Status::Reached : Status::Deadlock;
}

}  // namespace stretto::program
