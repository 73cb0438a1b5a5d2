// SPDX-License-Identifier: Apache-2.0
// What the records of a simulation say about its measured steps: realised compute times, and where the time of messages
// goes: sums over all pulls (or pushes) of their stages (docs/model.md, section 4). Per message, with alone = bytes /
// (rate alone on its route) and L the latency of its channel:
//   sender not ready = ready - end of the worker's ops of the step before, at least 0 (pulls without a barrier)
//   turn        = handed - ready
//   service     = (on_wire - handed) + (end - arrived)
//   wire queue  = begin - on_wire - L
//   wire own    = L + alone
//   wire shared = (arrived - begin) - alone, at least 0 (rounding)
// Collectives of an all-reduce: turn is that of the collective, wire queue its wait for a stream; the other
// stages are those of its messages at their sender. All-gathers count as pulls, the others as pushes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/result.hpp"
#include "analysis/staleness.hpp"
#include "models/training/compile.hpp"
#include "sim/program/observer.hpp"

namespace stretto::analysis {

class StepObserver : public program::Observer {
 public:
  // Counts the iterations first <= i < last. `compiled` must outlive the observer.
  StepObserver(const training::Compiled& compiled, std::uint32_t first, std::uint32_t last);
  void on_end(const program::ActivityRecord& record) override;
  // Mean seconds per step that a worker has ended its ops of.
  Waits pulls() const { return mean(pull_); }
  Waits pushes() const { return mean(push_); }
  // Gradients that have arrived, of all steps.
  std::uint64_t gradients() const { return gradients_; }
  // The warm-up is over.
  void restart_staleness() {
    if (staleness_) staleness_->restart();
  }
  // Gradients by staleness; none where updates are shared.
  const StalenessCounter* staleness() const { return staleness_ ? &*staleness_ : nullptr; }
  // Sum of the worker's op times in the step-th measured step, s.
  double compute(std::size_t worker, std::size_t step) const { return compute_[worker * (last_ - first_) + step]; }
  // Of worker 0, in the step-th measured step: a hash of the order in which its pulls arrived. Equal orders have equal
  // ones; without pulls 0.
  std::uint64_t pull_order(std::size_t step) const { return pull_order_[step]; }

 private:
  void of_collective(const program::ActivityRecord& record);
  Waits mean(const Waits& sum) const;
  const training::Compiled* compiled_;
  std::uint32_t first_;
  std::uint32_t last_;
  std::vector<Duration> alone_;  // per activity; messages only
  std::vector<Time> ops_ended_;  // per worker: end of the ops of the latest step
  std::vector<double> compute_;
  std::vector<std::uint64_t> pull_order_;
  std::optional<StalenessCounter> staleness_;
  std::uint64_t ended_ = 0;  // measured steps of workers
  std::uint64_t gradients_ = 0;
  Waits pull_;
  Waits push_;
};

}  // namespace stretto::analysis
