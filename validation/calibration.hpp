// SPDX-License-Identifier: Apache-2.0
// Costs of a cluster fitted to measured steps (docs/model.md, section 12; docs/calibration.md).
//
// Fitted are the costs asked for, one value of each for all cases, by least squares of
//   r_i = ln(simulated mean step of case i / measured mean step of case i),
// every case with the same weight. Orders that were left open are drawn at random, the same draws for every value of
// the costs. Costs that are not fitted are those of the start, for every case.
//
// Errors are simulated / measured - 1. `held` cases are never fitted to. With leave_one_out each fitted case is also
// predicted by the costs that are fitted to the others.
// Cost: about 10 x (costs + 2) simulations of every case, and that again for each case with leave_one_out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/simulate/simulate.hpp"
#include "models/cluster/cluster.hpp"
#include "validation/cells.hpp"
#include "validation/costs.hpp"

namespace stretto::validation {

struct CalibrationOptions {
  std::vector<std::string> fit;  // names of costs; empty: all cases are simulated with those of the start
  bool leave_one_out = false;
  experiment::SimulateOptions simulate;
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress;
};

struct FittedCost {
  std::string name;
  double start = 0;
  double value = 0;                  // rounded
  std::optional<double> half_width;  // 95 %; none: the cases do not tell it, the value is the start
};

struct CalibratedCase {
  std::string name;
  std::size_t steps = 0;
  double measured_s = 0;
  double start_s = 0;                // simulated with the costs of the start
  double simulated_s = 0;            // with the fitted ones
  std::optional<double> left_out_s;  // with those fitted to the other cases
};

struct Errors {
  double mean = 0;  // of the absolute values
  double worst = 0;
};

struct Calibration {
  std::vector<FittedCost> costs;
  std::vector<CalibratedCase> fitted;
  std::vector<CalibratedCase> held;
};

// `start`: the costs to begin with. UserError for an unknown cost, no case to fit to, or one that ends in a deadlock.
Calibration calibrate(const cluster::Cluster& start, const std::vector<Case>& cases, const std::vector<Case>& held,
                      const CalibrationOptions& options);

// The costs of `from` in `cluster`.
void copy_costs(const cluster::Cluster& from, cluster::Cluster& cluster);
void set_costs(const std::vector<FittedCost>& costs, cluster::Cluster& cluster);

Errors errors(const std::vector<CalibratedCase>& cases,
              const std::function<double(const CalibratedCase&)>& simulated_s);

// "format": "stretto-calibration", "version": 1.
std::string write_calibration(const Calibration& calibration);

}  // namespace stretto::validation
