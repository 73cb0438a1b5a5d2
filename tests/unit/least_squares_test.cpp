// SPDX-License-Identifier: Apache-2.0
#include "analysis/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/random.hpp"

namespace stretto::analysis {
namespace {

const FitParameter kAny{0, -1e9, 1e9, 1};

// Residuals of y = sum of x_j * rows[i][j].
Residuals linear(std::vector<std::vector<double>> rows, std::vector<double> y) {
  return [rows = std::move(rows), y = std::move(y)](std::span<const double> x) {
    std::vector<double> r;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double sum = -y[i];
      for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * rows[i][j];
      r.push_back(sum);
    }
    return r;
  };
}

// y = 1 + 2 t with residuals 0.1, -0.2, 0.1 left over (orthogonal to both columns): s^2 = 0.06, one degree of freedom.
TEST(LeastSquares, LineByHand) {
  const std::vector<FitParameter> parameters{{0, -1e9, 1e9, 10}, {0, -1e9, 1e9, 10}};
  const Fit fit = least_squares(linear({{1, -1}, {1, 0}, {1, 1}}, {-0.9, 0.8, 3.1}), parameters);
  EXPECT_NEAR(fit.values[0], 1, 1e-6);
  EXPECT_NEAR(fit.values[1], 2, 1e-6);
  ASSERT_TRUE(fit.half_widths[1]);
  EXPECT_NEAR(*fit.half_widths[1], 12.7062 * std::sqrt(0.06 / 2), 1e-3);
}

TEST(LeastSquares, IntervalsHoldTheTruthAsOftenAsTheySay) {
  RandomStream stream(1, "noise");
  int held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<std::vector<double>> rows;
    std::vector<double> y;
    for (int i = 0; i < 12; ++i) {
      double noise = -6;  // a sum of 12 uniform values is close to normal, with variance 1
      for (int k = 0; k < 12; ++k) noise += stream.unit();
      rows.push_back({1.0, i / 10.0});
      y.push_back(3 + 5 * i / 10.0 + 0.3 * noise);
    }
    const std::vector<FitParameter> parameters{kAny, kAny};
    const Fit fit = least_squares(linear(rows, y), parameters);
    ASSERT_TRUE(fit.half_widths[1]);
    held += std::abs(fit.values[1] - 5) <= *fit.half_widths[1] ? 1 : 0;
  }
  EXPECT_NEAR(held / static_cast<double>(kTrials), 0.95, 0.035);
}

TEST(LeastSquares, WhatTheDataDoNotTellKeepsItsStart) {
  const FitParameter kept{7, 0, 100, 1};
  const std::vector<FitParameter> parameters{kAny, kept};
  // The second parameter shows nowhere.
  const Fit fit = least_squares(linear({{1, 0}, {1, 0}, {1, 0}}, {2.0, 2.1, 1.9}), parameters);
  EXPECT_NEAR(fit.values[0], 2, 1e-6);
  EXPECT_FALSE(fit.half_widths[1]);
  EXPECT_EQ(fit.values[1], 7);
  // Only the sum of both shows: one of them is fitted.
  const Fit sum = least_squares(linear({{1, 1}, {1, 1}, {2, 2}}, {9.0, 9.1, 18.0}), parameters);
  EXPECT_NE(sum.half_widths[0].has_value(), sum.half_widths[1].has_value());
  EXPECT_NEAR(sum.values[0] + sum.values[1], 9, 0.1);
}

TEST(LeastSquares, TooFewDataTellNothing) {
  const std::vector<FitParameter> parameters{kAny};
  const Fit fit = least_squares(linear({{1}}, {5}), parameters);
  EXPECT_FALSE(fit.half_widths[0]);
  EXPECT_EQ(fit.values[0], 0);
}

TEST(LeastSquares, StaysWithinBounds) {
  const std::vector<FitParameter> parameters{{0.5, 0, 1, 100}, {0.5, 0, 1, 100}};
  const Fit fit = least_squares(linear({{1, 0}, {0, 1}, {1, 1}, {1, -1}}, {3, -2, 1, 5}), parameters);
  EXPECT_EQ(fit.values[0], 1);
  EXPECT_EQ(fit.values[1], 0);
}

TEST(LeastSquares, Curved) {
  const Residuals residuals = [](std::span<const double> x) {
    std::vector<double> r;
    for (int i = 1; i <= 8; ++i) r.push_back(std::log(x[0] + x[1] / i) - std::log(2.0 + 30.0 / i));
    return r;
  };
  const std::vector<FitParameter> parameters{{1, 0, 100, 1}, {1, 0, 1000, 1}};
  const Fit fit = least_squares(residuals, parameters);
  EXPECT_NEAR(fit.values[0], 2, 1e-3);
  EXPECT_NEAR(fit.values[1], 30, 1e-2);
}

}  // namespace
}  // namespace stretto::analysis
