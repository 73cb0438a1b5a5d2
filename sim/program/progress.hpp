// SPDX-License-Identifier: Apache-2.0
// How far each activity of a program is: which of its instances is under way, and how many predecessors this one and
// the next still wait for. Arrivals further ahead are kept in a map, O(log) each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/assert.hpp"
#include "sim/program/program.hpp"

namespace stretto::program {

class Progress {
 public:
  explicit Progress(const StepProgram& program)
      : program_(&program), open_(2 * static_cast<std::size_t>(program.size())), done_(program.size()) {}

  void reset() {
    done_.assign(done_.size(), 0);
    early_.clear();
    late_arrivals_ = 0;
    for (std::uint32_t a = 0; a < done_.size(); ++a) {
      open_[2 * a] = program_->need(a, 0);
      open_[2 * a + 1] = program_->need(a, 1);
    }
  }

  // Instances that have ended: the iteration of the one under way.
  std::uint32_t done(std::uint32_t a) const { return done_[a]; }
  // Predecessors still to come, of the instance under way or the next one.
  std::uint32_t open(std::uint32_t a, std::uint32_t iteration) const { return open_[2 * a + (iteration & 1U)]; }
  // Arrivals at joins that were done already.
  std::uint64_t late_arrivals() const { return late_arrivals_; }
  // Those since there were so many do not count.
  void forget_late_arrivals(std::uint64_t before) { late_arrivals_ = before; }

  // A predecessor of `iteration` has ended; true if it was the last one.
  bool arrive(std::uint32_t a, std::uint32_t iteration) {
    const std::uint32_t current = done_[a];
    if (iteration >= current + 2) {
      ++early_[{a, iteration}];
      return false;
    }
    std::uint32_t& open = open_[2 * a + (iteration & 1U)];
    if (iteration < current || open == 0) {
      STRETTO_ASSERT(program_->activities[a].kind == Kind::Join && program_->activities[a].amount > 0,
                     "activity {} of iteration {} got a predecessor of iteration {} too many", a, current, iteration);
      ++late_arrivals_;
      return false;
    }
    return --open == 0;
  }

  // The instance under way has ended; returns its iteration. Its slot now serves the one after next.
  std::uint32_t end(std::uint32_t a) {
    const std::uint32_t iteration = done_[a]++;
    std::uint32_t& open = open_[2 * a + (iteration & 1U)];
    open = program_->need(a, iteration + 2);
    if (early_.empty()) return iteration;
    if (const auto early = early_.find({a, iteration + 2}); early != early_.end()) {
      const std::uint32_t counted = std::min(open, early->second);
      late_arrivals_ += early->second - counted;
      open -= counted;
      early_.erase(early);
    }
    return iteration;
  }

 private:
  const StepProgram* program_;
  std::vector<std::uint32_t> open_;  // [2 * activity + iteration % 2]
  // Predecessors that came more than one iteration ahead, by (activity, iteration).
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> early_;
  std::vector<std::uint32_t> done_;
  std::uint64_t late_arrivals_ = 0;
};

}  // namespace stretto::program
