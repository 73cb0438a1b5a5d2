// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/base/random.hpp"

namespace stretto::analysis {
namespace {

// The definition: the mean over all orders of the causes.
std::vector<double> by_permutations(const std::vector<double>& values, std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::vector<double> sum(n);
  double count = 0;
  do {
    std::size_t set = 0;
    for (const std::size_t i : order) {
      sum[i] += values[set] - values[set | std::size_t{1} << i];
      set |= std::size_t{1} << i;
    }
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& s : sum) s /= count;
  return sum;
}

TEST(Shapley, IsTheMeanOverAllOrders) {
  RandomStream random(1, "tests/shapley");
  for (std::size_t n = 1; n <= 6; ++n) {
    std::vector<double> values(std::size_t{1} << n);
    for (double& v : values) v = static_cast<double>(random.below(1000));
    const std::vector<double> costs = shapley_costs(values);
    const std::vector<double> expected = by_permutations(values, n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(costs[i], expected[i], 1e-9);
    EXPECT_NEAR(std::accumulate(costs.begin(), costs.end(), 0.0), values.front() - values.back(), 1e-9);
  }
}

// 10 s less each of the causes' own seconds.
TEST(Shapley, AdditiveCausesCostWhatTheyCost) {
  std::vector<double> values(8);
  for (std::size_t set = 0; set < 8; ++set)
    values[set] = 10 - ((set & 1) != 0 ? 1 : 0) - ((set & 2) != 0 ? 2 : 0) - ((set & 4) != 0 ? 3 : 0);
  const std::vector<double> costs = shapley_costs(values);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(costs[i], static_cast<double>(i + 1), 1e-12);
}

// Two causes hide each other (4 s go only if both go), the third does nothing: one at a time, nothing would be found.
TEST(Shapley, CausesThatHideEachOtherShare) {
  std::vector<double> values(8, 10);
  values[3] = values[7] = 6;
  EXPECT_EQ(shapley_costs(values), (std::vector<double>{2, 2, 0}));
}

TEST(Attribution, SharesAndRestSumToTheWhole) {
  RandomStream random(1, "tests/attribution");
  std::vector<std::vector<double>> times(kCauseSets);
  for (std::vector<double>& t : times)
    for (int r = 0; r < 7; ++r) t.push_back(1 + static_cast<double>(random.below(1000)) / 1000);
  const Attribution a = attribute(times);
  double share = a.left.share.mean;
  double seconds = a.left.seconds.mean;
  for (const CauseCost& c : a.causes) {
    share += c.cost.share.mean;
    seconds += c.cost.seconds.mean;
    EXPECT_LT(c.cost.share.ci95_low, c.cost.share.mean);
    EXPECT_LT(c.cost.share.mean, c.cost.share.ci95_high);
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(seconds, a.step_s.mean, 1e-12);
  EXPECT_EQ(a.replications, 7);
}

// Common draws: a share that is the same in every replication has no spread, however much the steps vary.
TEST(Attribution, IntervalsArePaired) {
  std::vector<std::vector<double>> times(kCauseSets);
  for (CauseSet set = 0; set < kCauseSets; ++set)
    for (const double step : {1.0, 2.0, 5.0}) times[set].push_back(holds(set, Cause::Noise) ? 0.75 * step : step);
  const Attribution a = attribute(times);
  const CauseCost& noise = a.causes[static_cast<std::size_t>(Cause::Noise)];
  EXPECT_NEAR(noise.cost.share.mean, 0.25, 1e-12);
  EXPECT_NEAR(noise.cost.share.ci95_high, 0.25, 1e-12);
  EXPECT_NEAR(noise.alone.mean, 0.25, 1e-12);
  EXPECT_GT(noise.cost.seconds.ci95_high, noise.cost.seconds.mean + 0.1);
  EXPECT_EQ(a.causes[0].cost.share.mean, 0);
}

}  // namespace
}  // namespace stretto::analysis
