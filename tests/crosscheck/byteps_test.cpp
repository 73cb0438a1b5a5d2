// SPDX-License-Identifier: Apache-2.0
// BytePS's best split over n workers' hosts and k hosts of servers alone (Jiang et al., OSDI 2020, section 4.1): with
// it a push and a pull of M bytes by all workers take 2 n (n - 1) M / ((n^2 + k n - 2 k) B), 0 <= k <= n, on NICs of
// rate B; k = 0 is an all-reduce, 2 (n - 1) M / (n B), k = n a plain parameter server, M / B.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "experiment/run/runner.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/file/file.hpp"
#include "io/import/workload.hpp"

namespace stretto::experiment {
namespace {

constexpr std::int64_t kBytes = 256'000'000;
constexpr std::int64_t kRate = 1'250'000'000;  // bytes/s
constexpr std::uint32_t kWorkers = 4;

double closed_form(double n, double k) {
  return 2 * n * (n - 1) * static_cast<double>(kBytes) / ((n * n + k * n - 2 * k) * static_cast<double>(kRate));
}

// One variable, and ops that take next to no time.
graph::Graph one_variable() {
  graph::Graph g;
  g.name = "one";
  g.parameters.push_back({"v", Bytes(kBytes), true, graph::OpId(1), -1});
  g.ops.push_back({"f", graph::Phase::Forward, Duration::ps(1), {}, {graph::ParameterId(0)}, 0, 0});
  g.ops.push_back({"b", graph::Phase::Backward, Duration::ps(1), {graph::OpId(0)}, {}, 0, 0});
  return g;
}

struct Split {
  double step = 0;     // s
  double fullest = 0;  // utilisation of the NIC that is used most
};

// Slices of `slice` bytes, four of them under way per worker and direction.
Split measure(std::uint32_t k, std::int64_t slice) {
  const auto path = std::filesystem::path(testing::TempDir()) / "byteps.workload.json";
  file::write_atomic(path.string(), io::write_workload(one_variable()));
  const std::string text = fmt::format(
      "stretto: 1\nworkload: {{file: {}}}\ntraining: {{barrier: false}}\nruns: {{iterations: 5, warm_up: 2}}\n"
      "cluster: {{workers: {{count: {}, nic: 10 Gbit/s}}, servers: {{count: {}, colocated: {}, nic: 10 Gbit/s, "
      "placement: {{byteps: {{size: {} B}}}}}}}}\npolicies: [{{byteps: {{placement: experiment, partition: 0 B, "
      "credit: {} "
      "B}}}}]\n",
      path.string(), kWorkers, kWorkers + k, kWorkers, slice, 4 * slice);
  const Experiment e = read_experiment(text, "byteps.yaml");
  Workloads workloads;
  const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
  const Measured m = simulate(setup, make_plan(setup, e.points[0].spec.policies[0], 1), {5, 2});
  Split split{m.mean(), 0};
  for (const analysis::ResourceUse& use : m.resources) split.fullest = std::max(split.fullest, use.utilisation);
  return split;
}

double excess(std::uint32_t k, std::int64_t slice) { return measure(k, slice).step / closed_form(kWorkers, k) - 1; }

// Servers beside workers alone: every NIC is full from the first push to the last pull.
TEST(BytePS, AllReduceTakesItsClosedForm) {
  for (const std::int64_t slice : {256'000, 4'000'000}) {
    EXPECT_NEAR(excess(0, slice), 0, 1e-6);
    EXPECT_GT(measure(0, slice).fullest, 0.999999);
  }
}

// Servers alone: the pulls of the last slice wait for its n pushes over one NIC, n S / B, which overlap with nothing.
TEST(BytePS, TheLastSliceOfAParameterServerDoesNotOverlap) {
  for (const std::int64_t slice : {64'000, 256'000, 4'000'000})
    EXPECT_NEAR(excess(kWorkers, slice), static_cast<double>(kWorkers * slice) / kBytes, 1e-4) << slice;
}

// Between: never below the closed form; the smaller the slices the nearer, but not down to it (docs/policies.md).
TEST(BytePS, BetweenSmallSlicesComeNearest) {
  for (std::uint32_t k = 1; k < kWorkers; ++k) {
    const double small = excess(k, 64'000);
    const double middle = excess(k, 256'000);
    const double large = excess(k, 4'000'000);
    EXPECT_GT(small, 0.02) << k;
    EXPECT_LT(small, 0.06) << k;
    EXPECT_LT(middle, 0.10) << k;
    EXPECT_LT(large, 0.25) << k;
    EXPECT_LT(small, middle) << k;
    EXPECT_LT(middle, large) << k;
  }
}

}  // namespace
}  // namespace stretto::experiment
