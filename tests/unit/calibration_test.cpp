// SPDX-License-Identifier: Apache-2.0
#include "validation/calibration.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "experiment/setup/setup.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "validation/cells.hpp"
#include "validation/costs.hpp"

namespace stretto::validation {
namespace {

experiment::Spec base_spec() {
  return experiment::read_experiment(R"(stretto: 1
workload: {model: mixed_12}
cluster:
  workers: {threads: 1, send: {per_message: 0.2 ms}, receive: {per_message: 0.2 ms}}
  servers: {threads: 1, send: {per_message: 0.2 ms}, receive: {per_message: 0.2 ms}}
  network: {latency: 20 us, efficiency: 0.9}
  step_overhead: 1 ms
)",
                                     "base.yaml", {}, {std::string(std::getenv("STRETTO_SOURCE")) + "/configs"})
      .points.front()
      .spec;
}

// A cell of `layers` layers in the given mode; sizes and times differ from layer to layer.
std::string cell(int layers, int workers, const std::string& rate, int bytes, const std::string& mode, int window,
                 const std::string& more = "") {
  std::string sizes;
  std::string zeros;
  std::string forward;
  std::string backward;
  std::string order;
  for (int i = 0; i < layers; ++i) {
    const char* comma = i > 0 ? "," : "";
    sizes += fmt::format("{}{}", comma, bytes + bytes * ((7 * i) % layers) / layers);
    zeros += fmt::format("{}0", comma);
    forward += fmt::format("{}{}", comma, 500 + 40 * ((5 * i) % layers));
    backward += fmt::format("{}{}", comma, 900 + 60 * ((3 * i) % layers));
    order += fmt::format("{}{}", comma, layers - 1 - i);
  }
  std::string steps;
  for (int w = 0; w < workers; ++w) steps += fmt::format("{}{{\"step_ms\":100}}", w > 0 ? "," : "");
  return fmt::format(
      R"({{"servers":1,"workers":{},"rate":"{}","mode":"{}","window":{},"order":[{}],"bytes":[{}],"server_of":[{}],)"
      R"("forward_us":[{}],"backward_us":[{}],"steps":[[{}]]{}}})",
      workers, rate, mode, window, order, sizes, zeros, forward, backward, steps, more);
}

class Calibrate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("stretto-calibration-{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<Case> read(const std::string& text) {
    const std::string path = folder_ / "cell.json";
    std::ofstream(path) << text;
    return read_cells(path, base_spec());
  }

  // Cells that tell all costs: few large and many small transfers, apart and in flight together, at two rates.
  std::vector<Case> cells() {
    std::vector<Case> all;
    for (const char* rate : {"200 Mbit/s", "1 Gbit/s"})
      for (const auto& [layers, bytes] : {std::pair{6, 200'000}, std::pair{40, 4'000}})
        for (const auto& [mode, window] : {std::pair{"none", 0}, std::pair{"window", 1}, std::pair{"cw", 4}})
          all.push_back(std::move(read(cell(layers, 1, rate, bytes, mode, window)).front()));
    return all;
  }

  std::filesystem::path folder_;
};

CalibrationOptions options(std::vector<std::string> fit) {
  CalibrationOptions o;
  o.fit = std::move(fit);
  o.simulate.iterations = 6;
  o.simulate.min_replications = o.simulate.max_replications = 6;
  return o;
}

// Gives every case the steps that `truth` has, each off by about `noise`.
void measure(std::vector<Case>& cases, const cluster::Cluster& truth, double noise, const CalibrationOptions& o) {
  RandomStream stream(5, "noise");
  for (Case& c : cases) {
    experiment::Setup setup = c.setup;
    copy_costs(truth, setup.cluster);
    const double mean = experiment::simulate(setup, c.plan, o.simulate).mean();
    c.steps_s.clear();
    for (int i = 0; i < 20; ++i) {
      double z = -6;  // close to normal
      for (int k = 0; k < 12; ++k) z += stream.unit();
      c.steps_s.push_back(mean * std::exp(noise * z));
    }
  }
}

TEST_F(Calibrate, RecoversTheCostsThatStepsWereSimulatedWith) {
  std::vector<Case> cases = cells();
  const cluster::Cluster start = experiment::make_cluster(base_spec());
  cluster::Cluster truth = start;
  const std::vector<std::pair<std::string, double>> values{
      {"per_message", 0.31e-3}, {"latency", 110e-6}, {"efficiency", 0.953}, {"step_overhead", 2.4e-3}};
  for (const auto& [name, value] : values) cost(name).set(truth, value);
  const CalibrationOptions o = options({"per_message", "latency", "efficiency", "step_overhead"});
  measure(cases, truth, 0.02, o);
  const Calibration found = calibrate(start, cases, {}, o);
  ASSERT_EQ(found.costs.size(), values.size());
  for (std::size_t j = 0; j < values.size(); ++j) {
    SCOPED_TRACE(values[j].first);
    EXPECT_EQ(found.costs[j].name, values[j].first);
    ASSERT_TRUE(found.costs[j].half_width);
    EXPECT_NEAR(found.costs[j].value, values[j].second, *found.costs[j].half_width);
    EXPECT_LT(*found.costs[j].half_width, 0.5 * values[j].second);
  }
  const auto error = [&](auto f) { return errors(found.fitted, f).mean; };
  EXPECT_LT(error([](const CalibratedCase& c) { return c.simulated_s; }), 0.01);
  EXPECT_GT(error([](const CalibratedCase& c) { return c.start_s; }), 0.03);
}

TEST_F(Calibrate, SaysWhatTheCellsDoNotTell) {
  std::vector<Case> cases = cells();
  const cluster::Cluster start = experiment::make_cluster(base_spec());
  const CalibrationOptions o = options({"efficiency", "rate_cap"});
  cluster::Cluster truth = start;
  cost("efficiency").set(truth, 0.8);
  measure(cases, truth, 0.01, o);
  const Calibration found = calibrate(start, cases, {}, o);
  EXPECT_NEAR(found.costs[0].value, 0.8, 0.02);
  // No link is as fast as a connection might be.
  EXPECT_FALSE(found.costs[1].half_width);
  EXPECT_EQ(found.costs[1].value, found.costs[1].start);
}

TEST_F(Calibrate, PredictsCellsThatItDidNotFit) {
  std::vector<Case> cases = cells();
  const cluster::Cluster start = experiment::make_cluster(base_spec());
  const CalibrationOptions o = options({"efficiency"});
  cluster::Cluster truth = start;
  cost("efficiency").set(truth, 0.7);
  measure(cases, truth, 0, o);
  std::vector<Case> held(cases.begin(), cases.begin() + 2);
  cases.erase(cases.begin(), cases.begin() + 2);
  CalibrationOptions leave = o;
  leave.leave_one_out = true;
  const Calibration found = calibrate(start, {cases[0], cases[5]}, held, leave);
  ASSERT_EQ(found.held.size(), 2U);
  for (const CalibratedCase& c : found.held) EXPECT_NEAR(c.simulated_s / c.measured_s, 1, 2e-3);
  // One case is too few for a cost and its interval: the start is kept.
  for (const CalibratedCase& c : found.fitted) {
    ASSERT_TRUE(c.left_out_s);
    EXPECT_DOUBLE_EQ(*c.left_out_s, c.start_s);
  }
}

TEST_F(Calibrate, ReadsCellsAsTheyWereMeasured) {
  const std::vector<Case> cases = read(cell(3, 2, "1 Gbit/s", 1000, "cw", 2));
  ASSERT_EQ(cases.size(), 1U);
  const Case& c = cases.front();
  EXPECT_EQ(c.setup.cluster.workers.size(), 2U);
  EXPECT_EQ(c.setup.cluster.servers.front().nic.up.bits_per_second(), 1'000'000'000);
  EXPECT_EQ(c.plan.order.pull.discipline, plan::Discipline::ChainWindow);
  EXPECT_EQ(c.plan.order.pull.window, 2U);
  EXPECT_EQ(c.plan.order.pull.rank, (std::vector<std::uint32_t>{2, 1, 0}));
  EXPECT_EQ(c.plan.order.push.discipline, plan::Discipline::Free);
  EXPECT_EQ(c.steps_s, std::vector<double>{0.1});
  EXPECT_EQ(c.setup.graph->ops.size(), 6U);
  EXPECT_TRUE(c.setup.training.barrier);
}

TEST_F(Calibrate, RefusesWhatIsNoCell) {
  const auto refused = [&](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const UserError& error) {
      return render(error.diagnostics());
    }
    return "accepted";
  };
  const std::string good = cell(2, 1, "1 Gbit/s", 1000, "window", 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refused(text);
  };
  EXPECT_EQ(refused(good), "accepted");
  EXPECT_NE(refused("{}").find("no measured cell"), std::string::npos);
  EXPECT_NE(refused(R"({"cells":[]})").find("there are no cells"), std::string::npos);
  EXPECT_NE(with("\"forward_us\"", "\"other\"").find("no chain of layers"), std::string::npos);
  EXPECT_NE(with("\"window\",\"window\"", "\"windw\",\"window\"").find("valid: none, window"), std::string::npos);
  EXPECT_NE(with("\"window\":1", "\"window\":0").find("by no window"), std::string::npos);
  EXPECT_NE(with("\"order\":[1,0]", "\"order\":[1,1]").find("twice"), std::string::npos);
  EXPECT_NE(with("\"server_of\":[0,0]", "\"server_of\":[0,3]").find("not there"), std::string::npos);
  EXPECT_NE(with("1 Gbit/s", "1 Gbut/s").find("cell.json:1:"), std::string::npos);
  EXPECT_NE(with("\"step_ms\":100", "\"step_ms\":-1").find("step_ms"), std::string::npos);
  EXPECT_NE(with("{\"step_ms\":100}", "{\"step_ms\":9},{\"step_ms\":9}").find("number of workers"), std::string::npos);
}

TEST(Costs, AreWrittenAsAClusterFileThatReadsBack) {
  cluster::Cluster c = experiment::make_cluster(base_spec());
  for (const auto& [name, value] : {std::pair{"per_message", 1.5e-4}, std::pair{"per_byte", 250.0},
                                    std::pair{"update_rate", 500.0}, std::pair{"latency", 4e-5}})
    cost(name).set(c, value);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("stretto-costs-{}.yaml", getpid());
  std::ofstream(file) << write_costs(c, {"one \x1b line"});
  const experiment::Experiment read = experiment::read_experiment(
      "workload: {model: mixed_12}\nstretto: 1\ncluster: {}\n", "x.yaml", {"cluster.include=" + file.string()},
      {std::string(std::getenv("STRETTO_SOURCE")) + "/configs"});
  std::filesystem::remove(file);
  const cluster::Cluster back = experiment::make_cluster(read.points.front().spec);
  for (const Cost& one : costs()) EXPECT_DOUBLE_EQ(one.get(back), one.get(c)) << one.name;
  EXPECT_EQ(back.servers.front().threads, 1U);
  EXPECT_EQ(back.workers.front().receive.per_byte_ps, 250);
  EXPECT_EQ(back.servers.front().update_rate.bits_per_second(), 16'000'000'000);
}

TEST(Costs, AreKnownByName) {
  try {
    cost("per_mesage");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(render(error.diagnostics()).find("did you mean 'per_message'?"), std::string::npos);
  }
  EXPECT_EQ(rounded(0.000123456), 0.0001235);
  const Calibration nothing;
  EXPECT_NE(write_calibration(nothing).find("\"format\": \"stretto-calibration\""), std::string::npos);
}

}  // namespace
}  // namespace stretto::validation
