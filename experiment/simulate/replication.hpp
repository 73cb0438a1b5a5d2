// SPDX-License-Identifier: Apache-2.0
// What one replication of one job says, and what several say together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "analysis/result.hpp"
#include "analysis/step_observer.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/resource_use.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "sim/base/parallel.hpp"
#include "sim/program/joined.hpp"

namespace stretto::experiment {

// What one replication says.
struct Replication {
  std::optional<std::string> deadlock;
  std::vector<double> steps;
  double straggler = 0;                           // sum over steps
  std::vector<std::optional<double>> efficiency;  // per step, where all workers meet
  std::vector<std::uint64_t> pull_order;
  std::vector<analysis::ResourceUse> use;
  analysis::Waits pulls;
  analysis::Waits pushes;
  std::vector<std::uint64_t> staleness;
  std::uint64_t gradients = 0;  // that arrive in the measured steps, and those of them that are dropped
  std::uint64_t dropped = 0;
};

// Iterations that a run without endless activities needs.
std::uint32_t iterations_to_run(const training::Compiled& compiled, const SimulateOptions& options);

// Step times of one replication that began at `origin`: from barrier to barrier, or the mean of the workers' steps.
std::vector<double> step_times(const training::Compiled& compiled, const program::View& sim,
                               const SimulateOptions& options, Time origin = Time());

// Fills what the ended steps and their observer say: all but deadlock, use, and gradients with those dropped.
void measure(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled, const program::View& sim,
             const analysis::StepObserver& observer, const SimulateOptions& options, Time origin, Replication& result);

class Accumulated {
 public:
  // True where at least `least` replications, and two, make the interval as narrow as `precision` asks. UserError for
  // steps that take no time.
  bool add(const Replication& replication, std::uint32_t least, double precision);
  Measured finish(const training::Compiled& compiled, const SimulateOptions& options);

 private:
  Measured m_;
  std::vector<std::uint64_t> ages_;
  std::uint64_t gradients_ = 0;
  std::uint64_t dropped_ = 0;
  double efficiency_ = 0;
  std::size_t efficiencies_ = 0;
};

// Replications in rounds until `take` says that they are enough: one where nothing is drawn (`random` false), else from
// the least number on to the most. `replicate(number)` makes one, on any thread; `take(replication, least)` gets one
// after the other, so that the answer does not depend on the number of threads. Rounds are of kRound, so that several
// threads have work.
inline constexpr std::uint32_t kRound = 8;
template <class Replicate, class Take>
void in_rounds(bool random, const SimulateOptions& options, Replicate&& replicate, Take&& take) {
  const std::uint32_t least = random ? options.min_replications : 1;
  const std::uint32_t most = random ? std::max(options.max_replications, least) : 1;
  for (std::uint32_t first = 0; first < most;) {
    const std::uint32_t size = std::max(first == 0 ? least : 0, random ? kRound : 1U);
    std::vector<std::invoke_result_t<Replicate&, std::uint32_t>> round(std::min(most - first, size));
    parallel_for(round.size(), options.threads,
                 [&](std::size_t i) { round[i] = replicate(first + static_cast<std::uint32_t>(i)); });
    first += static_cast<std::uint32_t>(round.size());
    for (const auto& replication : round)
      if (take(replication, least)) return;
  }
}

}  // namespace stretto::experiment
