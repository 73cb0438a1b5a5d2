// SPDX-License-Identifier: Apache-2.0
// `stretto run` for several jobs on one network: each job's step time beside the others and alone, and what they share.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

struct JobsOutput {
  std::vector<analysis::PolicyResult> results;  // by compared policy, then job
  std::vector<Measured> measured;               // per result; its E is that of a job alone and left out
  std::string setup;
  std::vector<std::string> assumptions;
};

// What is run one after the other: the policies that the jobs without one of their own take turns with, baselines
// first; a single one without name where every job has its own. For an experiment of one job: its policies.
std::vector<PolicySpec> policies_of(const Spec& spec);

// `progress` is called before each compared policy.
JobsOutput run_jobs(const Spec& spec, Workloads& workloads, std::size_t threads,
                    const std::function<void(const std::string& what)>& progress);

}  // namespace stretto::experiment
