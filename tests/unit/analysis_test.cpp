// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <vector>

#include "analysis/metrics.hpp"
#include "analysis/statistics.hpp"
#include "sim/base/random.hpp"

namespace stretto::analysis {
namespace {

TEST(Statistics, QuantilesOfStudentsTable) {
  EXPECT_NEAR(t_quantile95(1), 12.706204736, 1e-8);
  EXPECT_NEAR(t_quantile95(4), 2.776445105, 1e-8);
  EXPECT_NEAR(t_quantile95(9), 2.262157163, 1e-8);
  EXPECT_NEAR(t_quantile95(120), 1.979930405, 1e-8);
}

TEST(Statistics, IntervalOfAKnownSample) {
  // Mean 6, sample variance 10, n = 5.
  const std::vector<double> values{2, 4, 6, 8, 10};
  const Estimate e = mean_interval(values);
  EXPECT_DOUBLE_EQ(e.mean, 6);
  EXPECT_NEAR(e.ci95_high - e.mean, 2.776445105 * std::sqrt(2.0), 1e-8);
  EXPECT_NEAR(e.mean - e.ci95_low, e.ci95_high - e.mean, 1e-12);
}

TEST(Statistics, OneValueHasNoSpread) {
  const std::vector<double> one{0.7};
  const Estimate e = mean_interval(one);
  EXPECT_EQ(e.mean, 0.7);
  EXPECT_EQ(e.ci95_low, 0.7);
  EXPECT_EQ(e.ci95_high, 0.7);
  const std::vector<double> base{1.4};
  const Estimate g = paired_gain(base, one);
  EXPECT_DOUBLE_EQ(g.mean, 1);
  EXPECT_EQ(g.ci95_low, g.mean);
  EXPECT_EQ(g.ci95_high, g.mean);
}

TEST(Statistics, EqualValuesAreExact) {
  const std::vector<double> values(7, 0.1);
  const Estimate e = mean_interval(values);
  EXPECT_EQ(e.mean, 0.1);
  EXPECT_EQ(e.ci95_low, 0.1);
  EXPECT_EQ(e.ci95_high, 0.1);
}

TEST(Statistics, LargeOffsetCostsNoDigits) {
  const std::vector<double> values{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  EXPECT_EQ(mean(values), 1e9 + 10);
  EXPECT_DOUBLE_EQ(sample_variance(values), 30);
}

TEST(Statistics, PairedGainByHand) {
  // R = 6 / 3 = 2; d = b - 2 t = {0.5, 0, -0.5}; s_d = 0.5; t_2 = 4.302652730.
  const std::vector<double> base{4.5, 6, 7.5};
  const std::vector<double> times{2, 3, 4};
  const Estimate g = paired_gain(base, times);
  EXPECT_DOUBLE_EQ(g.mean, 1);
  EXPECT_NEAR(g.ci95_high - g.mean, 4.302652730 * 0.5 / std::sqrt(3.0) / 3, 1e-8);
  EXPECT_NEAR(g.mean - g.ci95_low, g.ci95_high - g.mean, 1e-12);
}

TEST(Statistics, CommonNoiseCancelsInAGain) {
  const std::vector<double> times{1, 1.5, 0.8, 2.25};
  std::vector<double> base;
  for (const double t : times) base.push_back(1.25 * t);
  const Estimate g = paired_gain(base, times);
  EXPECT_NEAR(g.mean, 0.25, 1e-12);
  EXPECT_NEAR(g.ci95_high - g.ci95_low, 0, 1e-12);
}

TEST(Statistics, DeterministicSideIsEqualInEveryReplication) {
  const std::vector<double> random{4.5, 6, 7.5};
  const std::vector<double> once{3};
  const std::vector<double> thrice{3, 3, 3};
  EXPECT_EQ(paired_gain(random, once).ci95_low, paired_gain(random, thrice).ci95_low);
  EXPECT_NEAR(paired_gain(random, once).ci95_high, 1 + 4.302652730 * 1.5 / std::sqrt(3.0) / 3, 1e-8);
  EXPECT_DOUBLE_EQ(paired_gain(once, random).mean, -0.5);
  EXPECT_EQ(paired_gain(once, random).ci95_high, paired_gain(thrice, random).ci95_high);
  EXPECT_THROW(paired_gain(random, std::vector<double>{3, 3}), InternalError);
}

// In 4000 samples each interval must hold the truth in about 95 % of them (4 standard errors: 1.4 points; the delta
// method is an approximation, hence the wider lower edge).
TEST(Statistics, IntervalsCoverTheTruth) {
  RandomStream stream(1, "analysis_test/coverage");
  boost::random::normal_distribution<double> normal(0, 1);
  constexpr int kSamples = 4000;
  constexpr int kSize = 8;
  int mean_covered = 0;
  int gain_covered = 0;
  for (int s = 0; s < kSamples; ++s) {
    std::vector<double> base;
    std::vector<double> times;
    for (int i = 0; i < kSize; ++i) {
      const double common = 0.1 * normal(stream);
      base.push_back(3 + common + 0.05 * normal(stream));
      times.push_back(2 + common + 0.05 * normal(stream));
    }
    const Estimate m = mean_interval(times);
    mean_covered += m.ci95_low <= 2 && 2 <= m.ci95_high;
    const Estimate g = paired_gain(base, times);
    gain_covered += g.ci95_low <= 0.5 && 0.5 <= g.ci95_high;
  }
  EXPECT_NEAR(mean_covered, 0.95 * kSamples, 0.014 * kSamples);
  EXPECT_NEAR(gain_covered, 0.95 * kSamples, 0.02 * kSamples);
}

TEST(Statistics, StepTimeOverReplications) {
  const std::vector<std::vector<double>> steps{{1, 2, 3}, {2, 3, 4}};
  const StepTime t = step_time(steps);
  EXPECT_DOUBLE_EQ(t.estimate.mean, 2.5);
  EXPECT_NEAR(t.estimate.ci95_high, 2.5 + 12.706204736 * 0.5, 1e-8);
  EXPECT_EQ(t.min, 1);
  EXPECT_EQ(t.max, 4);
  EXPECT_EQ(t.n, 2);
  EXPECT_EQ(t.steps, 6);
  EXPECT_DOUBLE_EQ(t.trend, 3.5 / 1.5 - 1);
  const std::vector<double> window{5, 7};
  EXPECT_DOUBLE_EQ(step_time(steps, window).estimate.mean, 6);
}

TEST(Statistics, TrendUsesThirds) {
  EXPECT_DOUBLE_EQ(trend(std::vector<std::vector<double>>{{1, 1, 50, 2, 2, 2, 3}}), 2.5 / 1 - 1);
  EXPECT_EQ(trend(std::vector<std::vector<double>>{{1, 9}}), 0);
}

TEST(Statistics, EmptyInputIsOurFault) {
  EXPECT_THROW(mean({}), InternalError);
  EXPECT_THROW(step_time({}), InternalError);
  const std::vector<double> one{1};
  EXPECT_THROW(paired_gain({}, one), InternalError);
}

TEST(Metrics, PaperFormulas) {
  const OpSums sums{.compute = 3, .pull = 2, .push = 1};
  EXPECT_EQ(worst_makespan(sums), 6);
  EXPECT_EQ(ideal_makespan(sums), 3);
  EXPECT_DOUBLE_EQ(*speedup_limit(sums), 1);
  EXPECT_DOUBLE_EQ(*ordering_efficiency(sums, 3), 1);
  EXPECT_DOUBLE_EQ(*ordering_efficiency(sums, 6), 0);
  EXPECT_DOUBLE_EQ(*ordering_efficiency(sums, 4), 2.0 / 3);
}

TEST(Metrics, PushesCanBeTheIdeal) { EXPECT_EQ(ideal_makespan({.compute = 1, .pull = 2, .push = 4}), 4); }

TEST(Metrics, AbsentWhereUndefined) {
  EXPECT_FALSE(ordering_efficiency({.compute = 2}, 2).has_value());
  EXPECT_DOUBLE_EQ(speedup_limit({.compute = 2}).value(), 0);
  EXPECT_FALSE(speedup_limit({}).has_value());
}

TEST(Metrics, StragglerEffect) {
  const std::vector<double> arrivals{1.2, 1.0, 1.5, 1.1};
  EXPECT_DOUBLE_EQ(straggler_effect(arrivals, 2), 0.25);
  EXPECT_EQ(straggler_effect(std::vector<double>{3}, 2), 0);
}

}  // namespace
}  // namespace stretto::analysis
