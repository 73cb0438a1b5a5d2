// SPDX-License-Identifier: Apache-2.0
// `stretto run`: every policy at every point of an experiment, with baselines, gains, bounds, what-ifs and a verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/setup.hpp"
#include "experiment/simulate.hpp"
#include "experiment/spec.hpp"

namespace stretto::experiment {

// Called before each policy of each point: done of total, and what is next. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

// One step to draw, of the first point only.
struct Timeline {
  std::string policy;
  Setup setup;
  plan::Layout layout;
  StepRecords step;
};

struct RunOutput {
  analysis::RunResult result;
  std::vector<std::string> input_files;  // everything that was read, YAML files first
  std::vector<Timeline> timelines;       // if asked for, one per policy
};

struct RunOptions {
  bool timelines = false;
};

// random and fifo always run, first, since they are the baselines. Throws UserError with places; a deadlock is a result.
RunOutput run(const Experiment& experiment, const RunOptions& options, const Progress& progress);

}  // namespace stretto::experiment
