// SPDX-License-Identifier: Apache-2.0
// Parameters of a model fitted to data by least squares, within bounds, with intervals.
//
// Minimises S(x) = sum r_i(x)^2 over least <= x <= most by Levenberg and Marquardt's damped Gauss-Newton steps,
//   (J'J + d diag(J'J)) step = -J'r,
// J by one-sided differences over `step` times the scale of each parameter, which bridges the kinks of simulated times;
// a parameter at a bound that the step would leave stays there. Intervals are 95 % t intervals of the linear model,
//   half width_j = t_{n-p} s sqrt(((J'J)^-1)_jj),  s^2 = S / (n - p),
// which assumes independent errors of equal size, and residuals without a bias. A parameter whose half width is more
// than its value and more than its scale is not told by the data: it is put back to its start, the widest one first,
// and the rest is fitted again. Cost: (parameters + 2) evaluations a round, about ten rounds, p times at most.
// Validated: linear models with known answers, and parameters recovered from simulated steps with noise
// (tests/unit/least_squares_test.cpp, tests/unit/calibration_test.cpp).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stretto::analysis {

struct FitParameter {
  double start = 0;  // within the bounds
  double least = 0;
  double most = 0;
  double scale = 1;  // > 0: what counts as a change of moderate size
};

struct FitOptions {
  double step = 0.05;  // of the differences, in scales
  std::size_t most_rounds = 20;
};

struct Fit {
  std::vector<double> values;
  std::vector<std::optional<double>> half_widths;  // none: not told by the data, the value is the start
  std::vector<double> residuals;                   // at `values`
};

using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

// `residuals` returns the same number of finite values every time: more than there are parameters, or every parameter
// is not told.
Fit least_squares(const Residuals& residuals, std::span<const FitParameter> parameters, const FitOptions& options = {});

}  // namespace stretto::analysis
