// SPDX-License-Identifier: Apache-2.0
// Staleness of the gradients of a simulation in which each worker's gradients are updates of their own.
//
// Staleness of a gradient: the updates of its transfer by other workers between the hand-over of the worker's pull
// (when the value is read) and its own update. An update that ends at the very time of a hand-over is in what is read.
// With W equal workers at their own pace the mean is a little less than W - 1. Memory: 8 bytes per update since the
// oldest step under way.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/result.hpp"
#include "models/training/compile.hpp"
#include "sim/program/observer.hpp"

namespace stretto::analysis {

class StalenessCounter {
 public:
  // `compiled` must outlive the counter and be one of own_pace().
  explicit StalenessCounter(const training::Compiled& compiled);
  // Counts gradients that take effect from now on only.
  void restart() { counts_.clear(); }
  void on_end(const program::ActivityRecord& record);
  // Gradients by staleness.
  const std::vector<std::uint64_t>& counts() const { return counts_; }

 private:
  struct Updates {
    std::uint64_t forgotten = 0;  // updates before those in `times`
    std::vector<Time> times;
  };
  void forget(Updates& updates) const;

  const training::Compiled* compiled_;
  std::vector<bool> applies_;        // per activity
  std::vector<Time> started_;        // per worker: start of its step
  std::vector<Updates> updates_;     // per transfer
  std::vector<std::uint64_t> seen_;  // [worker * transfers + transfer]: updates in what the worker has pulled
  std::vector<std::uint64_t> counts_;
};

// Sum of the counts of all replications as shares. Nothing is known without any.
Staleness staleness(const std::vector<std::uint64_t>& counts);

}  // namespace stretto::analysis
