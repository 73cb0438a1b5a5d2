// SPDX-License-Identifier: Apache-2.0
// For which transfers one step stood still, from which a search draws its moves.
//
// An op that starts after its device was idle waited for the transfer that came last: for the pull as long as that
// was in the hands of the network, for the push before it until then. With a barrier the time from the end of a
// worker's ops to its arrival is a wait for its last push. Times of several workers add up.
#pragma once

#include <cstdint>
#include <vector>

#include "models/training/compile.hpp"
#include "schedulers/search/evaluator.hpp"
#include "sim/program/observer.hpp"

namespace stretto::experiment {

class WaitObserver : public program::Observer {
 public:
  WaitObserver(const training::Compiled& compiled, std::uint32_t iteration);
  void on_end(const program::ActivityRecord& record) override;
  // Longest first; ties by direction and transfer. O(activities log activities).
  std::vector<search::Wait> waits() const;

 private:
  const training::Compiled& compiled_;
  std::uint32_t iteration_;
  std::vector<program::ActivityRecord> records_;  // by activity
  std::vector<bool> seen_;
};

}  // namespace stretto::experiment
