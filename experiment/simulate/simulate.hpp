// SPDX-License-Identifier: Apache-2.0
// Simulating one plan on one setup, as often as its spread asks for, and measuring it (docs/model.md, section 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/critical_path.hpp"
#include "analysis/metrics.hpp"
#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/resource_use.hpp"
#include "models/plan/plan.hpp"
#include "sim/program/observer.hpp"

namespace stretto::experiment {

struct SimulateOptions {
  std::uint32_t iterations = 20;
  std::uint32_t warm_up = 2;           // < iterations; not measured
  std::uint32_t min_replications = 5;  // where orders or noise are drawn; others run once
  std::uint32_t max_replications = 50;
  double precision = 0.01;
  std::uint64_t seed = 1;
  std::size_t threads = 1;  // never changes the answer
};

struct Measured {
  std::vector<std::vector<double>> steps;                        // seconds, per replication, measured iterations only
  std::vector<std::vector<std::optional<double>>> efficiencies;  // E of those steps, mean over workers; or empty lists
  std::vector<std::vector<std::uint64_t>> pull_orders;           // analysis::StepObserver::pull_order of those steps
  std::vector<double> means;                                     // per replication
  double straggler_effect = 0;                                   // mean over steps; where all workers meet at a barrier
  std::optional<double> ordering_efficiency;                     // with a barrier, where more than one resource is used
  std::vector<analysis::ResourceUse> resources;
  analysis::Waits pull_waits;
  analysis::Waits push_waits;
  std::optional<analysis::Staleness> staleness;  // where each worker's gradients are updates of their own
  double dropped_gradients = 0;                  // share of the gradients that arrive in the measured steps
  std::optional<std::string> deadlock;           // then everything above is empty

  double mean() const;
};

// Keys of the draws of a replication: of unordered channels, and of noise. Every plan meets the same ones.
std::uint64_t order_stream(std::uint64_t seed, std::uint32_t replication);
std::uint64_t noise_stream(std::uint64_t seed, std::uint32_t replication);

// U and L of the paper without the compute: times alone on the route of all that the worker pulls and pushes, s.
analysis::OpSums transfer_sums(const Setup& setup, const plan::Layout& layout, std::size_t worker);

// True if orders or noise are drawn, so that replications differ.
bool is_random(const Setup& setup, const plan::Plan& plan);

// UserError if a step of the layout has more than 20 million activities or chunks: more than memory and patience hold.
void check_size(const Setup& setup, const plan::Layout& layout);

Measured simulate(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options);

// One replication of a plan on a program that the caller has compiled for the setup and may have changed.
struct Replay {
  double mean_step = 0;  // s; equal to that replication's in Measured if the program is the setup's own
  std::optional<std::string> deadlock;
};
Replay replay(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
              const SimulateOptions& options, std::uint32_t replication);

// Critical path of the first measured step of replication 0: to the barrier, or without one to the end of the step of
// the worker that is last to do it. The plan does not end in a deadlock.
analysis::CriticalPath step_path(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                                 const SimulateOptions& options);

// The first measured step of replication 0, for a timeline.
struct StepRecords {
  training::Compiled compiled;
  std::vector<program::ActivityRecord> records;
  analysis::CriticalPath path;
};
StepRecords record_step(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options);

// What all resources have done by `begin`, by `end` and by up to `parts` - 1 moments between (of replication 0): the
// last events before points that are evenly spaced, each once. Between two events a link's rate does not change.
std::vector<Counters> sample_use(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                                 const SimulateOptions& options, Time begin, Time end, std::uint32_t parts);

}  // namespace stretto::experiment
