// SPDX-License-Identifier: Apache-2.0
// Bayesian optimisation on functions whose least values are known, and placement search where the best placement is.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "schedulers/search/bayes.hpp"
#include "schedulers/search/evaluator.hpp"
#include "schedulers/search/placement.hpp"
#include "schedulers/search/search.hpp"
#include "schedulers/search/shop.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"

namespace stretto::search {
namespace {

TEST(Bayes, FindsTheLeastValueOfAWavyLine) {
  // Minimum of sin(3 x) + 0.1 x over 0 .. 6: at x = 1.5597, about -0.8437.
  const auto f = [](std::span<const double> x) { return std::sin(18 * x[0]) + 0.6 * x[0]; };
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    BayesOptions options;
    options.evaluations = 25;
    options.seed = seed;
    const BayesResult r = minimise(1, f, options);
    EXPECT_EQ(r.history.size(), 25U);
    EXPECT_NEAR(r.value, -0.8437, 0.002) << "seed " << seed;
    EXPECT_NEAR(6 * r.point[0], 1.5597, 0.05) << "seed " << seed;
  }
}

TEST(Bayes, FindsTheLeastValueOfBranin) {
  const auto branin = [](std::span<const double> u) {
    const double x = 15 * u[0] - 5;
    const double y = 15 * u[1];
    const double pi = std::numbers::pi;
    const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
    return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
  };
  BayesOptions options;
  options.evaluations = 50;
  const BayesResult r = minimise(2, branin, options);
  EXPECT_LT(r.value, 0.45);  // least: 0.3979
  EXPECT_GE(r.value, 0.3978);
}

TEST(Bayes, IsDeterministicStopsWhenToldAndTakesAConstant) {
  const auto f = [](std::span<const double> x) { return x[0] * x[0] + std::abs(x[1] - 0.3); };
  const BayesResult a = minimise(2, f, {});
  const BayesResult b = minimise(2, f, {});
  EXPECT_EQ(a.history, b.history);
  int left = 4;
  EXPECT_EQ(minimise(2, f, {}, [&] { return --left > 0; }).history.size(), 4U);
  EXPECT_EQ(minimise(1, [](std::span<const double>) { return 7.0; }, {}).value, 7.0);
}

plan::Layout on_first_server(const std::vector<std::int64_t>& bytes, std::uint32_t servers) {
  plan::Layout layout;
  layout.servers = servers;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < bytes.size(); ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, Bytes(bytes[p]), 0});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  return layout;
}

Duration fullest(const plan::Layout& layout) {
  std::vector<std::int64_t> load(layout.servers);
  for (const plan::Transfer& t : layout.transfers) load[t.server] += t.bytes.count();
  return Duration::ps(*std::max_element(load.begin(), load.end()));
}

TEST(Placement, BalancesServersAndSkipsWhatTheBoundRefuses) {
  const plan::Layout start = on_first_server({8, 7, 6, 5, 4, 3, 2, 1}, 3);  // 36 in all
  const auto bound = [](const plan::Layout& layout) { return fullest(layout); };
  std::uint64_t evaluated = 0;
  const auto cost = [&](const plan::Layout& layout, Duration limit) {
    ++evaluated;
    const Duration value = fullest(layout);
    return value <= limit ? value : kAbove;
  };
  const PlacementResult r = search_placement(start, fullest(start), {}, bound, cost);
  EXPECT_EQ(r.cost, Duration::ps(12));
  EXPECT_EQ(fullest(r.layout), r.cost);
  EXPECT_EQ(r.evaluations, evaluated);
  EXPECT_GT(r.refused, 0U);
  const PlacementResult alone = search_placement(on_first_server({1, 2}, 1), Duration::ps(3), {}, bound, cost);
  EXPECT_EQ(alone.cost, Duration::ps(3));
}

TEST(Methods, HaveNamesAndHelpAndAreRefusedByName) {
  for (const Method& method : methods()) {
    EXPECT_FALSE(method.name.empty());
    EXPECT_FALSE(method.help.empty());
  }
  class None : public Evaluator {
    Duration evaluate(const plan::Order&, Duration) override { return kAbove; }
    std::unique_ptr<Evaluator> clone() const override { return std::make_unique<None>(); }
  } none;
  const plan::Layout layout = on_first_server({1}, 1);
  Problem problem;
  problem.evaluator = &none;
  problem.layout = &layout;
  problem.starts.push_back({"free", {}});
  Options options;
  options.methods = {"anealing"};
  try {
    search(problem, options);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(error.diagnostics().front().hint.find("annealing"), std::string::npos);
  }
  options.methods.clear();
  const State stuck = search(problem, options);
  EXPECT_TRUE(stuck.done);
  EXPECT_EQ(stuck.cost, kAbove);
}

TEST(Shop, IsTheBestPairOfOrders) {
  RandomStream random(1, "tests/unit/search/shop");
  std::size_t coupled = 0;
  for (int trial = 0; trial < 600; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<bounds::TwoStageJob> jobs(1 + random.below(4));
    const std::uint64_t range = trial % 2 == 0 ? 7 : 30;
    for (bounds::TwoStageJob& job : jobs) {
      const auto draw = [&] { return Duration::us(static_cast<std::int64_t>(random.below(range))); };
      job = {draw(), draw(), draw(), draw(), draw()};
    }
    std::vector<std::uint32_t> up(jobs.size());
    std::iota(up.begin(), up.end(), 0U);
    std::vector<std::uint32_t> down = up;
    Duration best = kAbove;
    do {
      do best = std::min(best, flow_shop_cost(jobs, up, down));
      while (std::next_permutation(down.begin(), down.end()));
    } while (std::next_permutation(up.begin(), up.end()));
    const ShopResult found = flow_shop(jobs, 10'000);
    ASSERT_TRUE(found.proven);
    ASSERT_EQ(found.cost, best);
    ASSERT_EQ(flow_shop_cost(jobs, found.first, found.second), best);
    coupled += found.states > 1 ? 1 : 0;
    const ShopResult cut = flow_shop(jobs, 1);
    ASSERT_LE(cut.bound, best);
    ASSERT_GE(cut.cost, best);
  }
  EXPECT_GT(coupled, 100U);
}

}  // namespace
}  // namespace stretto::search
