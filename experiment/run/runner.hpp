// SPDX-License-Identifier: Apache-2.0
// `stretto run`: every policy at every point of an experiment, with baselines, gains, bounds, what-ifs and a verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// Called before each policy of each point: done of total, and what is next. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

// A plan that was run and one step of it to draw, of the first point only.
struct Timeline {
  std::string policy;
  std::size_t result = 0;  // its index in the result's results
  Setup setup;
  plan::Plan plan;
  StepRecords step;
};

// Measured steps of one policy at one point; empty for a deadlock.
struct Steps {
  std::vector<std::pair<std::string, std::string>> vary;
  std::string policy;
  std::vector<std::vector<double>> seconds;                      // per replication
  std::vector<std::vector<std::optional<double>>> efficiencies;  // as in Measured
  std::vector<std::vector<std::uint64_t>> pull_orders;
};

struct RunOutput {
  analysis::RunResult result;
  std::vector<std::string> input_files;  // everything that was read, YAML files first
  std::vector<Timeline> timelines;       // if asked for, one per policy
  std::vector<Steps> steps;              // if asked for, one per result
};

struct RunOptions {
  bool details = false;            // timelines and steps
  bool advice = true;              // what-ifs, which take longer than all the rest, and the verdict
  std::size_t threads = 0;         // 0: all cores
  Workloads* workloads = nullptr;  // read before, and kept for later runs; none: each file is read anew
};

// random and fifo without options always run, first where they are not asked for, since they are the baselines. Throws
// UserError with places; a deadlock is a result.
RunOutput run(const Experiment& experiment, const RunOptions& options, const Progress& progress);

}  // namespace stretto::experiment
