// SPDX-License-Identifier: Apache-2.0
// Predicted costs of the points of a sweep: what they grow with, what they do not depend on, what is left out.
#include "experiment/run/sweep_costs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

namespace fs = std::filesystem;

class SweepCosts : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("sweep_costs_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  SweepPoints load(const std::string& text, const std::vector<std::string>& sets = {}) {
    const std::string path = (folder_ / "s.yaml").string();
    std::ofstream(path) << "stretto: 1\nworkload: {model: vgg_16}\n"
                        << "runs: {iterations: 4, warm_up: 1, replications: {min: 3, max: 9}}\n"
                        << text;
    Options options;
    options.shipped = source_path("configs");
    return load_sweep(path, sets, options);
  }
  std::vector<std::uint64_t> costs(const std::string& text, const std::vector<std::string>& sets = {},
                                   std::size_t threads = 2) {
    return sweep_costs(load(text, sets), threads);
  }
  fs::path folder_;
};

TEST_F(SweepCosts, GrowWithWorkAndNotWithThreads) {
  const std::string text =
      "policies: [tac]\nvary: {cluster.workers.count: [1, 2, 4, 8], runs.iterations: [4, 8, 16]}\n";
  const std::vector<std::uint64_t> all = costs(text);
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(costs(text, {}, 7), all);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::uint64_t simulated = all[i] - kPointCost;
    if (i % 3 > 0) {
      EXPECT_EQ(simulated, 2 * (all[i - 1] - kPointCost));  // twice the steps
    }
    if (i >= 3) {
      EXPECT_GT(simulated, all[i - 3] - kPointCost);  // twice the workers
    }
  }
  EXPECT_GT(all[9] - kPointCost, 6 * (all[0] - kPointCost));
  EXPECT_LT(all[9] - kPointCost, 10 * (all[0] - kPointCost));
}

TEST_F(SweepCosts, CountPoliciesReplicationsAndSlices) {
  const std::vector<std::uint64_t> by_policy = costs("vary: {policies: [[tac], [tac, tic], [random]]}\n");
  ASSERT_EQ(by_policy.size(), 3U);
  // Baselines always run, random three times: 3 + 1 runs without tac, one more with each.
  const std::uint64_t run = by_policy[1] - by_policy[0];
  EXPECT_EQ(by_policy[2], kPointCost + 4 * run);
  EXPECT_EQ(by_policy[0], kPointCost + 5 * run);
  const std::vector<std::uint64_t> noise = costs("policies: [tac]\nvary: {noise.compute_cv: [0 %, 2 %]}\n");
  EXPECT_EQ(noise[0], kPointCost + 5 * run);
  EXPECT_EQ(noise[1], kPointCost + 9 * run);
  const std::vector<std::uint64_t> slices = costs("vary: {policies: [[fifo], [{fifo: {partition: 1 MiB}}]]}\n");
  EXPECT_GT(slices[1], 2 * slices[0]);
}

// With or without a rate there is as much to simulate, so that points that differ in it are looked at once.
TEST_F(SweepCosts, RatesDecideNothing) {
  EXPECT_TRUE(decides_cost("cluster.workers.count"));
  EXPECT_TRUE(decides_cost("noise.compute_cv"));
  EXPECT_TRUE(decides_cost("cluster.servers.placement"));
  for (const auto& [path, values] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"cluster.workers.nic", {"1 Gbit/s", "unlimited", "{up: 1 Gbit/s, down: 2 Gbit/s}"}},
           {"cluster.servers.nic", {"1 Gbit/s", "unlimited"}},
           {"cluster.network.latency", {"0 us", "50 us"}},
           {"cluster.network.efficiency", {"1", "0.5"}},
           {"cluster.network.rate_cap", {"unlimited", "1 Gbit/s"}},
           {"cluster.network.loopback", {"unlimited", "1 Gbit/s"}},
           {"cluster.network.comm_compute_ratio", {"0.1", "10"}},
           {"cluster.workers.device.speed", {"1", "2"}},
           {"cluster.workers.device.launch", {"0 us", "5 us"}},
           {"cluster.workers.send.per_message", {"0 us", "5 us"}},
           {"cluster.servers.receive.per_byte", {"0 ns/B", "0.1 ns/B"}},
           {"cluster.servers.update_rate", {"unlimited", "10 Gbit/s"}},
           {"cluster.servers.aggregate_rate", {"unlimited", "10 Gbit/s"}},
           {"cluster.step_overhead", {"0 us", "5 us"}},
           {"runs.seed", {"1", "2"}}}) {
    SCOPED_TRACE(path);
    EXPECT_FALSE(decides_cost(path));
    std::vector<std::uint64_t> found;
    for (const std::string& value : values) found.push_back(costs("policies: [tac]\n", {path + "=" + value}).at(0));
    for (const std::uint64_t cost : found) EXPECT_EQ(cost, found[0]);
  }
}

TEST_F(SweepCosts, PointsThatAreNotRunCostNextToNothing) {
  const std::vector<std::uint64_t> all = costs(
      "policies: [tac]\nvary: {cluster.workers.count: [1, 0, 2], cluster.workers.nic: [1 Gbit/s, 9 Gbit/s]}\n"
      "sweep: {constraints: [cluster.workers.nic <= 5 Gbit/s]}\n");
  ASSERT_EQ(all.size(), 6U);
  EXPECT_GT(all[0], 10 * kPointCost);
  for (const std::size_t i : {1, 2, 3, 5}) EXPECT_EQ(all[i], kPointCost);  // left out, or no experiment
  EXPECT_GT(all[4], all[0]);
}

}  // namespace
}  // namespace stretto::experiment
