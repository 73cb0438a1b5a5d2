// SPDX-License-Identifier: Apache-2.0
// What every command that compares policies agrees on: their labels, the baselines, how a plan is simulated, which
// random numbers it meets, and how two of them are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// "tac", "layer_priority(partition=4 MiB, credit=16 MiB)".
std::string label(const PolicySpec& policy);

// `asked`, and before it random and fifo without options where they are missing.
std::vector<PolicySpec> with_baselines(const std::vector<PolicySpec>& asked);

SimulateOptions simulate_options(const RunsSpec& runs, std::size_t threads);

// Gain mean(baseline) / mean(measured) - 1 over step times by replication, which are paired by number as far as both
// have them (common random numbers). Times that are alone (a plan without randomness) stand for every replication.
analysis::Estimate paired_gain(const std::vector<double>& baseline, const std::vector<double>& measured);

}  // namespace stretto::experiment
