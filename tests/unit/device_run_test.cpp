// SPDX-License-Identifier: Apache-2.0
// How devices run ops, and what varies: whole steps from an experiment's text against figures by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "experiment/bounds/bounds.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/file/file.hpp"
#include "io/import/workload.hpp"

namespace stretto::experiment {
namespace {

using graph::OpId;
using graph::Phase;

// Forward fa (reads a) -> fb (reads b), backward bb -> ba; 1 ms each; parameters of 1 MB.
graph::Graph two_layers() {
  graph::Graph g;
  g.name = "two";
  g.batch = 8;
  const auto op = [&](const char* name, Phase phase, std::vector<OpId> inputs) {
    g.ops.push_back({name, phase, Duration::ms(1), std::move(inputs), {}});
  };
  op("fa", Phase::Forward, {});
  op("fb", Phase::Forward, {OpId(0)});
  op("bb", Phase::Backward, {OpId(1)});
  op("ba", Phase::Backward, {OpId(2)});
  g.parameters.push_back({"a", Bytes(1'000'000), true, OpId(3), -1});
  g.parameters.push_back({"b", Bytes(1'000'000), true, OpId(2), -1});
  g.ops[0].reads.emplace_back(0U);
  g.ops[1].reads.emplace_back(1U);
  return g;
}

// Eight ops of 1 ms that read a parameter of 1 MB and wait for nothing else.
graph::Graph fork() {
  graph::Graph g;
  g.name = "fork";
  g.parameters.push_back({"p", Bytes(1'000'000), true, OpId::none(), -1});
  for (int i = 0; i < 8; ++i) {
    g.ops.push_back({fmt::format("o{}", i), Phase::Forward, Duration::ms(1), {}, {}});
    g.ops.back().reads.emplace_back(0U);
  }
  return g;
}

// x0, x1 and a chain c0 -> c1, of 2 ms each.
graph::Graph chain_and_others() {
  graph::Graph g = fork();
  g.ops.resize(4);
  const char* names[] = {"x0", "x1", "c0", "c1"};
  for (std::size_t i = 0; i < 4; ++i) {
    g.ops[i].name = names[i];
    g.ops[i].time = Duration::ms(2);
  }
  g.ops[3].inputs = {OpId(2)};
  return g;
}

class DeviceRun : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(directory_);
    write("w.json", io::write_workload(two_layers()));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    file::write_atomic(path, text);
    return path;
  }
  void use(const graph::Graph& graph) const { write("w.json", io::write_workload(graph)); }

  // One worker and one server at 1 GB/s each way, so that a parameter takes 1 ms.
  Spec spec(std::vector<std::string> sets) const {
    const std::string text = fmt::format(
        "stretto: 1\nworkload: {{file: {}}}\ncluster: {{workers: {{nic: 1 GB/s}}, servers: {{nic: 1 GB/s}}}}\n"
        "policies: [fifo]\n",
        (directory_ / "w.json").string());
    return read_experiment(text, "t.yaml", sets).points.at(0).spec;
  }

  // Step times in ms; no step is below the bound.
  std::vector<double> steps(const std::vector<std::string>& sets, std::uint32_t count = 8) const {
    const Spec s = spec(sets);
    Workloads workloads;
    const experiment::Setup made = make_setup(s, workloads);
    SimulateOptions options;
    options.iterations = count + 2;
    options.warm_up = 2;
    options.min_replications = options.max_replications = 1;
    const plan::Plan plan = make_plan(made, s.policies.at(0), 1);
    std::vector<double> ms;
    const Measured measured = simulate(made, plan, options);
    for (const double step : measured.steps.at(0)) ms.push_back(1e3 * step);
    const bounds::Bound bound = layout_bound(made, plan.layout);
    for (const double step : ms)
      if (bound.value && !made.variation.noisy()) {
        EXPECT_GE(step, 1e3 * bound.value->seconds() - 1e-9);
      }
    return ms;
  }
  double step_ms(const std::vector<std::string>& sets) const {
    const std::vector<double> ms = steps(sets);
    for (const double step : ms) EXPECT_DOUBLE_EQ(step, ms[0]);
    return ms[0];
  }

  std::string errors(const std::vector<std::string>& sets) const {
    try {
      steps(sets);
    } catch (const UserError& e) {
      return render(e.diagnostics());
    }
    return "no error";
  }

  std::filesystem::path directory_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kDevice = "cluster.workers.device.";
const std::string kInference = "workload.mode=inference";

TEST_F(DeviceRun, StreamsAndCoresRunIndependentOpsBesideEachOther) {
  use(fork());
  EXPECT_DOUBLE_EQ(step_ms({kInference}), 9);
  EXPECT_DOUBLE_EQ(step_ms({kInference, kDevice + "streams=2"}), 5);
  EXPECT_DOUBLE_EQ(step_ms({kInference, kDevice + "streams=8"}), 2);
  const std::string cpu = kDevice + "kind=cpu";
  EXPECT_DOUBLE_EQ(step_ms({kInference, cpu, kDevice + "cores=4"}), 3);
  EXPECT_DOUBLE_EQ(step_ms({kInference, cpu, kDevice + "cores=4", kDevice + "intra_op=2"}), 3) << "4 x 0.5 ms";
  EXPECT_DOUBLE_EQ(
      step_ms({kInference, cpu, kDevice + "cores=4", kDevice + "intra_op=2", kDevice + "intra_op_share=50 %"}), 4)
      << "4 x 0.75 ms";
  EXPECT_EQ(spec({cpu}).cluster.workers.device.name, "cpu");
  EXPECT_EQ(spec({cpu, kDevice + "name=xeon"}).cluster.workers.device.name, "xeon");
  EXPECT_TRUE(has(errors({cpu, kDevice + "streams=2"}), "a cpu has no streams"));
  EXPECT_TRUE(has(errors({kDevice + "intra_op=2"}), "kind: cpu"));
  EXPECT_TRUE(has(errors({cpu, kDevice + "intra_op=2"}), "more than the cpu's cores"));
}

TEST_F(DeviceRun, TheOrderOfReadyOpsMatters) {
  use(chain_and_others());
  const std::string two = kDevice + "streams=2";
  EXPECT_DOUBLE_EQ(step_ms({kInference, two}), 7) << "x0 and x1, then the chain";
  EXPECT_DOUBLE_EQ(step_ms({kInference, two, kDevice + "order=priority"}), 5) << "the chain beside x0, x1";
  std::map<double, int> count;
  for (const double ms : steps({kInference, two, kDevice + "order=random"}, 300)) ++count[std::round(ms * 1e6) / 1e6];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count.at(7), 100, 33) << "c0 is last of three with chance 1/3; 4 standard deviations";
  EXPECT_NEAR(count.at(5), 200, 33);
}

TEST_F(DeviceRun, CopiesStandBetweenNetworkAndDevice) {
  EXPECT_DOUBLE_EQ(step_ms({}), 6);
  const std::string in = kDevice + "copy_in=1 GB/s";
  const std::string out = kDevice + "copy_out=1 GB/s";
  EXPECT_DOUBLE_EQ(step_ms({in}), 7) << "1 MB at 1 GB/s before the first op";
  EXPECT_DOUBLE_EQ(step_ms({out}), 7) << "and after the last one";
  EXPECT_DOUBLE_EQ(step_ms({in, out}), 8);
  EXPECT_DOUBLE_EQ(step_ms({kDevice + "copy_launch=500 us"}), 7);
  EXPECT_DOUBLE_EQ(step_ms({kDevice + "copy_in=250 MB/s"}), 13) << "copies of a and b follow each other: 1 + 8 + 4";
  for (const char* mode : {"async", "ssp", "local", "sync"})
    EXPECT_GT(steps({in, out, std::string("training.synchronization=") + mode})[0], 0);
  EXPECT_GT(steps({in, out, "training.synchronization=backup", "cluster.workers.count=2"})[0], 0);
  EXPECT_TRUE(has(errors({kDevice + "kind=cpu", in}), "a cpu copies nothing"));
}

TEST_F(DeviceRun, EmpiricalNoiseHasTheGivenFactors) {
  const std::string empirical = "noise.distribution=empirical";
  EXPECT_DOUBLE_EQ(step_ms({empirical, "noise.factors=[7]"}), 6) << "over their mean: 1";
  // Ops take 0.5 or 1.5 ms; with no network in the way a step is a sum of four.
  std::map<double, int> count;
  const std::vector<double> ms =
      steps({empirical, "noise.factors=[2, 6]", "cluster.workers.nic=unlimited", "cluster.servers.nic=unlimited"}, 400);
  double sum = 0;
  for (const double step : ms) {
    ++count[std::round(step * 1e6) / 1e6];
    sum += step;
  }
  ASSERT_EQ(count.size(), 5U);
  EXPECT_EQ(count.begin()->first, 2);
  EXPECT_NEAR(sum / 400, 4, 0.2);
  const std::string file = write("times.txt", "# measured\n2, 6\n");
  EXPECT_EQ(steps({empirical, "noise.factors=" + file}), steps({empirical, "noise.factors=[2, 6]"}));
  EXPECT_TRUE(has(errors({empirical}), "distribution empirical needs factors"));
  EXPECT_TRUE(has(errors({"noise.factors=[1]"}), "factors are for distribution: empirical"));
  EXPECT_TRUE(has(errors({empirical, "noise.factors=[1]", "noise.compute_cv=0.1"}), "leave compute_cv out"));
  EXPECT_TRUE(has(errors({empirical, "noise.factors=" + write("bad.txt", "1\nx\n")}), "line 2 of"));
  EXPECT_TRUE(has(errors({empirical, "noise.factors=" + write("none.txt", "#\n")}), "there is no number"));
  EXPECT_TRUE(has(errors({empirical, "noise.factors=nowhere.txt"}), "no such file"));
  EXPECT_TRUE(has(errors({empirical, "noise.factors=[0]"}), "out of range"));
}

TEST_F(DeviceRun, NoisePerStepIsSharedByAllOpsOfAWorkersStep) {
  const std::vector<std::string> two = {"noise.distribution=empirical", "noise.factors=[2, 6]", "noise.drawn_per=step",
                                        "cluster.workers.nic=unlimited", "cluster.servers.nic=unlimited"};
  // All four ops take 0.5 ms, or all take 1.5 ms.
  std::map<double, int> count;
  for (const double ms : steps(two, 400)) ++count[std::round(ms * 1e6) / 1e6];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count.at(2), 200, 40) << "4 standard deviations";
  EXPECT_EQ(count.at(2) + count.at(6), 400);
  // Workers draw apart: a step is short if all three are.
  std::vector<std::string> three = two;
  three.emplace_back("cluster.workers.count=3");
  count.clear();
  for (const double ms : steps(three, 400)) ++count[std::round(ms * 1e6) / 1e6];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count.at(2), 50, 27);
}

TEST_F(DeviceRun, LateStartsDelaySteps) {
  EXPECT_DOUBLE_EQ(step_ms({"noise.late_starts=[{worker: 0, delay: 5 ms}]"}), 11);
  EXPECT_DOUBLE_EQ(step_ms({"noise.late_starts=[{worker: 1, delay: 50 ms}]", "cluster.workers.count=2",
                            "cluster.servers.nic=unlimited"}),
                   56)
      << "at the barrier all wait for the late one";
  std::map<double, int> count;
  for (const double ms : steps({"noise.late_starts=[{worker: 0, delay: 5 ms, probability: 25 %}]"}, 400))
    ++count[std::round(ms * 1e6) / 1e6];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count.at(11), 100, 35);
  double sum = 0;
  for (const double ms : steps({"noise.late_starts=[{worker: 0, delay: 5 ms, times: exponential}]"}, 2000)) sum += ms;
  EXPECT_NEAR(sum / 2000, 11, 0.45) << "4 standard deviations";
  EXPECT_TRUE(has(errors({"noise.late_starts=[{worker: 1, delay: 1 ms}]"}), "there is no worker 1"));
  EXPECT_TRUE(has(errors({"noise.late_starts=[{worker: 0}]"}), "'delay' is missing"));
  EXPECT_TRUE(
      has(errors({"noise.late_starts=[{worker: 0, delay: 1 ms}, {worker: 0, delay: 2 ms}]"}), "has one already"));
}

TEST_F(DeviceRun, SparseVariablesMoveAShare) {
  EXPECT_DOUBLE_EQ(step_ms({"workload.sparse=[{parameter: a, share: 50 %}]"}), 5) << "half of the first and last";
  EXPECT_DOUBLE_EQ(step_ms({"workload.sparse=[{parameter: \"*\", share: 50 %}]"}), 5);
  EXPECT_DOUBLE_EQ(step_ms({"workload.sparse=[{parameter: \"*\", share: 100 %}]"}), 6);
  EXPECT_TRUE(has(errors({"workload.sparse=[{parameter: emb*, share: 2 %}]"}), "no variable is named 'emb*'"));
  EXPECT_TRUE(has(errors({"workload.sparse=[{parameter: a, share: 0}]"}), "out of range"));
}

TEST_F(DeviceRun, ARooflineScalesWorkWithTheBatch) {
  graph::Graph g = two_layers();
  for (graph::Op& op : g.ops) {
    op.time = Duration();
    op.flops = 8e6;
    op.memory_bytes = 1000;
    op.op_class = graph::OpClass::Conv3x3;
  }
  use(g);
  const std::vector<std::string> sets = {kDevice + "peak_gflops=8", kDevice + "memory_gbytes=1000",
                                         "cluster.workers.nic=unlimited", "cluster.servers.nic=unlimited"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), sets.begin(), sets.end());
    return more;
  };
  EXPECT_DOUBLE_EQ(step_ms(with({})), 4);
  EXPECT_DOUBLE_EQ(step_ms(with({kDevice + "efficiency.conv_3x3=2"})), 2);
  EXPECT_DOUBLE_EQ(step_ms(with({kDevice + "efficiency.conv_3x3=2", kDevice + "backward_efficiency.conv_3x3=0.5"})), 5);
  // 100 us of launch do not grow with the batch.
  EXPECT_DOUBLE_EQ(step_ms(with({"workload.batch_per_worker=16", kDevice + "launch=100 us"})), 8.4);
  EXPECT_TRUE(has(errors(with({"workload.batch_per_worker=16", "workload.batch_fixed_share=0.5"})),
                  "leave batch_fixed_share out"));
}

}  // namespace
}  // namespace stretto::experiment
