// SPDX-License-Identifier: Apache-2.0
// When the markers of a program were passed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/program.hpp"

namespace stretto::program {

class Markers {
 public:
  explicit Markers(const StepProgram& program) : times_(program.markers.size()) {
    for (std::uint32_t m = 0; m < program.markers.size(); ++m) marker_of_.emplace_back(program.markers[m].index(), m);
    std::sort(marker_of_.begin(), marker_of_.end());
  }

  void reset(std::uint32_t iterations) {
    for (auto& times : times_) times.clear();
    by_iteration_.assign(iterations, 0);
    passes_ = 0;
  }

  // An activity that is a marker has ended.
  void pass(std::uint32_t activity, std::uint32_t iteration, Time now) {
    for (auto m = std::lower_bound(marker_of_.begin(), marker_of_.end(), std::pair(activity, 0U));
         m != marker_of_.end() && m->first == activity; ++m) {
      times_[m->second].push_back(now);
      if (iteration >= by_iteration_.size()) by_iteration_.resize(2 * (std::size_t{iteration} + 1), 0);
      ++by_iteration_[iteration];
      ++passes_;
    }
  }

  std::size_t size() const { return times_.size(); }
  // By iteration.
  const std::vector<Time>& times(std::size_t marker) const { return times_[marker]; }
  std::uint64_t passes() const { return passes_; }  // of all markers
  // Every marker has been passed so many times.
  bool all_passed(std::uint32_t count) const { return count == 0 || by_iteration_[count - 1] == times_.size(); }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> marker_of_;  // activity and its marker, sorted
  std::vector<std::vector<Time>> times_;
  std::vector<std::uint32_t> by_iteration_;  // markers passed
  std::uint64_t passes_ = 0;
};

}  // namespace stretto::program
