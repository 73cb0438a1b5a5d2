// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated runs: means with t intervals, paired gains, trend.
//
// Assumption: the values are one per replication (independent; in practice the mean step time of each), and their mean
// is close to normal. Every function is a pure function of its arguments; order matters only where stated. One value
// has no spread: the interval is then the value itself. Cost: linear. Validated against tabulated t quantiles and by
// the coverage of intervals in simulated samples (tests/unit/analysis_test.cpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/result.hpp"

namespace stretto::analysis {

// Arithmetic mean; values not empty. Computed around the first value, so that equal values give exactly that value and
// a large common offset costs no digits.
double mean(std::span<const double> values);

// Sample variance (divisor n - 1), two passes with the rounding correction of Chan, Golub and LeVeque (1983);
// 0 for one value.
double sample_variance(std::span<const double> values);

// t with P(|T| <= t) = 0.95 for Student's T with `degrees_of_freedom` >= 1.
double t_quantile95(std::size_t degrees_of_freedom);

// mean +- t * s / sqrt(n); values not empty.
Estimate mean_interval(std::span<const double> values);

// Gain of step rate of `times` over `baseline`, paired by replication (equal lengths, not empty, all > 0; a single
// value on one side stands for a deterministic run, equal in every replication of the other side):
//   R = mean(b) / mean(t),  gain = R - 1,
//   half width = t_{n-1} * s_d / (sqrt(n) * mean(t)),  s_d = sample deviation of d_i = b_i - R * t_i.
// The delta method for a ratio of paired means (Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6): noise that hits
// both alike cancels in d_i.
Estimate paired_gain(std::span<const double> baseline, std::span<const double> times);

// StepTime of the measured steps (seconds) of each replication, in the order in which they happened; at least one
// replication, each with at least one step. `replication_means`, where given (not empty, one per replication), replaces
// the mean of the steps as the replication's value (time / steps over a window without barrier).
StepTime step_time(std::span<const std::vector<double>> steps, std::span<const double> replication_means = {});

// Mean of the last third over the mean of the first third of each replication's steps, both averaged over the
// replications, minus 1. Thirds are floor(n / 3) steps; replications of fewer than 3 steps are left out; 0 if none is
// left.
double trend(std::span<const std::vector<double>> steps);

}  // namespace stretto::analysis
