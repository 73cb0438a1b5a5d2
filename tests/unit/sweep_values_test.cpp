// SPDX-License-Identifier: Apache-2.0
// Points of sweeps: ranges, samples, constraints, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "experiment/spec/sweep_points.hpp"
#include "experiment/spec/sweep_values.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

namespace fs = std::filesystem;

class Sweep : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("sweep_values_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  SweepPoints load(const std::string& text, const std::vector<std::string>& sets = {}) {
    const std::string path = (folder_ / "s.yaml").string();
    std::ofstream(path) << "stretto: 1\nworkload: {model: vgg_16}\n" << text;
    Options options;
    options.shipped = source_path("configs");
    return load_sweep(path, sets, options);
  }
  std::string findings(const std::string& text, const std::vector<std::string>& sets = {}) {
    try {
      load(text, sets);
    } catch (const UserError& e) {
      return render(e.diagnostics());
    }
    return "";
  }
  fs::path folder_;
};

// The values of one path over all points.
std::vector<std::string> column(const SweepPoints& points, std::size_t c) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < points.size(); ++i) values.push_back(points.values(i).at(c));
  return values;
}

TEST(SweepValues, QuantitiesByUnit) {
  EXPECT_EQ(parse_quantity("12").kind, QuantityKind::Number);
  EXPECT_EQ(parse_quantity("1.5").value, 1.5);
  EXPECT_EQ(parse_quantity("20 %").kind, QuantityKind::Fraction);
  EXPECT_EQ(parse_quantity("3 us").value, 3e6);
  EXPECT_EQ(parse_quantity("2 KiB").value, 2048);
  EXPECT_EQ(parse_quantity("10 Gbit/s").value, 1e10);
  EXPECT_EQ(parse_quantity("1 ns/B").kind, QuantityKind::PerByte);
  EXPECT_TRUE(std::isinf(parse_quantity("unlimited").value));
  EXPECT_EQ(parse_quantity("greedy").kind, QuantityKind::None);
}

TEST(SweepValues, LatinHypercubeDrawsOnceFromEachPart) {
  const std::size_t n = 1000;
  const Sampler a(SampleMethod::LatinHypercube, 3, "x", n);
  const Sampler b(SampleMethod::LatinHypercube, 3, "y", n);
  std::set<std::size_t> parts;
  double product = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_GT(a.at(i), 0);
    EXPECT_LT(a.at(i), 1);
    parts.insert(static_cast<std::size_t>(a.at(i) * static_cast<double>(n)));
    product += (a.at(i) - 0.5) * (b.at(i) - 0.5);
  }
  EXPECT_EQ(parts.size(), n);
  // Independent fields: the correlation is within 4 / sqrt(n).
  EXPECT_LT(std::abs(product / n * 12), 4 / std::sqrt(n));
  EXPECT_EQ(a.at(7), Sampler(SampleMethod::LatinHypercube, 3, "x", n).at(7));
  EXPECT_NE(a.at(7), Sampler(SampleMethod::LatinHypercube, 4, "x", n).at(7));
}

TEST(SweepValues, RandomSamplesAreUniform) {
  const Sampler s(SampleMethod::Random, 1, "x", 0);
  double sum = 0;
  for (std::size_t i = 0; i < 10000; ++i) sum += s.at(i);
  EXPECT_NEAR(sum / 10000, 0.5, 4 / std::sqrt(12 * 10000.0));
}

TEST_F(Sweep, RangesHaveTheirEndsAsWritten) {
  const SweepPoints p =
      load("sweep: {ranges: {cluster.workers.nic: {from: 1 Gbit/s, to: 100 Gbit/s, points: 5, scale: log}}}\n");
  EXPECT_EQ(column(p, 0),
            (std::vector<std::string>{"1 Gbit/s", "3.16228 Gbit/s", "10 Gbit/s", "31.6228 Gbit/s", "100 Gbit/s"}));
  const SweepPoints q = load("sweep: {ranges: {cluster.workers.count: {from: 1, to: 8, points: 4, scale: log}}}\n");
  EXPECT_EQ(column(q, 0), (std::vector<std::string>{"1", "2", "4", "8"}));
  const SweepPoints r = load("sweep: {ranges: {cluster.workers.count: {from: 1, to: 3, points: 9}}}\n");
  EXPECT_EQ(column(r, 0), (std::vector<std::string>{"1", "2", "3"}));
  const SweepPoints f = load("sweep: {ranges: {cluster.network.latency: {from: 1 us, to: 2 us, points: 3}}}\n");
  EXPECT_EQ(column(f, 0), (std::vector<std::string>{"1 us", "1.5 us", "2 us"}));
}

TEST_F(Sweep, GridTimesSamplesWithoutWhatConstraintsLeaveOut) {
  SweepPoints p = load(
      "vary: {cluster.servers.count: [1, 3]}\nsweep:\n"
      "  ranges: {cluster.workers.count: {from: 1, to: 4, points: 4}}\n"
      "  sample: {points: 5, fields: {cluster.network.efficiency: {from: 0.5, to: 1}, training.barrier: [true, "
      "false]}}\n"
      "  constraints: [cluster.servers.count <= cluster.workers.count, cluster.network.efficiency > 60 %]\n");
  EXPECT_EQ(p.size(), 40U);
  EXPECT_EQ(p.paths(), (std::vector<std::string>{"cluster.servers.count", "cluster.workers.count",
                                                 "cluster.network.efficiency", "training.barrier"}));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::vector<std::string> v = p.values(i);
    const bool good = std::stoi(v[0]) <= std::stoi(v[1]) && std::stod(v[2]) > 0.6;
    const auto point = p.point(i);
    ASSERT_EQ(point.has_value(), good) << i;
    if (!point) continue;
    ++kept;
    EXPECT_EQ(point->spec.cluster.servers.count, static_cast<unsigned>(std::stoi(v[0])));
    EXPECT_EQ(point->spec.cluster.workers.count, static_cast<unsigned>(std::stoi(v[1])));
    EXPECT_EQ(point->spec.cluster.network.efficiency, std::stod(v[2]));
    EXPECT_EQ(point->spec.training.barrier, v[3] == "true");
  }
  EXPECT_GT(kept, 10U);
  EXPECT_LT(kept, 30U);
}

TEST_F(Sweep, WholeSamplesReachBothEndsEquallyOften) {
  const SweepPoints p =
      load("sweep: {sample: {method: random, points: 4000, fields: {cluster.workers.count: {from: 1, to: 4}}}}\n");
  std::map<std::string, int> counts;
  for (const std::string& v : column(p, 0)) ++counts[v];
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 4 * std::sqrt(750)) << value;
}

TEST_F(Sweep, SetIsStronger) {
  SweepPoints p =
      load("vary: {runs.seed: [1, 2]}\nsweep: {sample: {points: 3, fields: {cluster.workers.count: [1, 2]}}}\n",
           {"runs.seed=9", "cluster.workers.count=5"});
  EXPECT_EQ(p.size(), 1U);
  EXPECT_EQ(p.warnings().size(), 2U);
  EXPECT_EQ(p.point(0)->spec.cluster.workers.count, 5U);
}

TEST_F(Sweep, ConfigurationTellsWhatThePointsAre) {
  const std::string text = "sweep: {sample: {points: 3, seed: 1, fields: {cluster.workers.count: {from: 1, to: 9}}}}\n";
  const std::string base = load(text).configuration();
  EXPECT_EQ(load("# a comment\n" + text).configuration(), base);
  for (const auto& [from, to] : {std::pair("seed: 1", "seed: 2"), std::pair("to: 9", "to: 8"),
                                 std::pair("points: 3", "points: 4"), std::pair("9}", "9, scale: log}")}) {
    std::string other = text;
    other.replace(other.find(from), std::string(from).size(), to);
    EXPECT_NE(load(other).configuration(), base) << to;
  }
  EXPECT_NE(load(text + "runs: {seed: 4}\n").configuration(), base);
  EXPECT_EQ(load(text).inputs().size(), 1U);
}

TEST_F(Sweep, Refusals) {
  const auto range = [](const std::string& text) { return "sweep: {ranges: {cluster.workers.nic: " + text + "}}\n"; };
  const std::pair<std::string, std::string> cases[] = {
      {range("{from: 1 Gbit/s, points: 2}"), "needs both from and to"},
      {range("{from: 1 Gbit/s, to: 2 us, points: 2}"), "different units"},
      {range("{from: 2 Gbit/s, to: 1 Gbit/s, points: 2}"), "from is more than to"},
      {range("{from: 1 Gbit/s, to: 2 Gbit/s}"), "'points' is missing"},
      {range("{from: 1 Gbit/s, to: unlimited, points: 3}"), "cannot be the end of a range"},
      {range("{from: 1 Gbit/s, to: 2 Gbit/s, points: 2, step: 1}"), "unknown key"},
      {range("[1, 2]"), "expected a mapping"},
      {"sweep: {ranges: {cluster.workers.count: {from: 1.5, to: 3, points: 2}}}\n", "takes whole numbers"},
      {"sweep: {ranges: {cluster.network.latency: {from: 0 us, to: 3 us, points: 2, scale: log}}}\n", "begin at 0"},
      {"sweep: {ranges: {stretto: {from: 1, to: 3, points: 2}}}\n", "cannot be varied"},
      {"sweep: {ranges: {cluster.workers.cuont: {from: 1, to: 3, points: 2}}}\n", "cuont"},
      {"sweep: {sample: {points: 2}}\n", "'fields' is missing"},
      {"sweep: {sample: {fields: {runs.seed: [1]}}}\n", "'points' is missing"},
      {"sweep: {sample: {points: 2, method: sobol, fields: {runs.seed: [1]}}}\n", "sobol"},
      {"sweep: {constraints: [cluster.workers.count]}\n", "is no comparison"},
      {"sweep: {constraints: [cluster.workers.cuont < 3]}\n", "did you mean 'cluster.workers.count'"},
      {"sweep: {constraints: [cluster.workers.count < 3 us]}\n", "cannot be compared"},
      {"sweep: {constraints: [cluster.workers.count > 3]}\n", "leave none of 1 points"},
      {"sweep: {samples: {points: 2}}\n", "unknown key"},
      {"vary: {runs.seed: [1]}\nsweep: {ranges: {runs.seed: {from: 1, to: 2, points: 2}}}\n", "set the same"},
      {"sweep: {ranges: {runs.seed: {from: 1, to: 100000, points: 100000}, cluster.workers.count: {from: 1, to: 50, "
       "points: 50}}}\n",
       "more than 1000000 points"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_NE(findings(text).find(message), std::string::npos) << text << findings(text);
}

}  // namespace
}  // namespace stretto::experiment
