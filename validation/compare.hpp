// SPDX-License-Identifier: Apache-2.0
// Prediction beside measurement, policy by policy.
//
// A measured step is, with a barrier, that of the slowest worker, without one the mean over the workers. Intervals are
// 95 % t intervals: of the prediction over replications, of the measurement over steps (taken as independent).
//   error = predicted mean / measured mean - 1
//   gain over the baseline = mean of the baseline / mean of the policy - 1, of each side by itself
// The baseline is the first policy that enforces nothing, else the first of all. Cost: linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/simulate/simulate.hpp"
#include "validation/bundle.hpp"
#include "validation/measurement.hpp"

namespace stretto::validation {

struct Row {
  std::string policy;
  analysis::Estimate predicted_s;
  analysis::Estimate measured_s;
  double measured_sd_s = 0;
  std::size_t steps = 0;
  double error = 0;
  std::optional<double> gain_predicted;  // none for the baseline
  std::optional<double> gain_measured;
  double inversions = 0;  // mean over steps and workers
  std::int64_t pairs = 0;
  bool enforced = false;
  double other_cores = 0;
};

struct Comparison {
  std::string name;
  std::string baseline;
  std::vector<Row> rows;
  double mean_error = 0;  // of the absolute values
  double worst_error = 0;
};

// `predicted` and `plans` belong together. UserError if the measurement is not of these plans or of another number of
// workers, or if a prediction is a deadlock.
Comparison compare(const std::string& name, bool barrier, std::size_t workers, const std::vector<NamedPlan>& plans,
                   const std::vector<experiment::Measured>& predicted, const Measurement& measurement);

// "format": "stretto-validation", "version": 1.
std::string write_comparison(const Comparison& comparison, const Measurement& measurement);

}  // namespace stretto::validation
