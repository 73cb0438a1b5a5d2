// SPDX-License-Identifier: Apache-2.0
// From an experiment's text to plans and step times: options of policies, transforms and noise against figures by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "experiment/setup/order_options.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/export/schedule.hpp"
#include "io/file/file.hpp"
#include "io/import/workload.hpp"

namespace stretto::experiment {
namespace {

using plan::Discipline;

// Forward fa (reads a) -> fb (reads b), backward bb -> ba; 1 ms each; parameters of 1 MB; batch 8.
graph::Graph two_layers() {
  using graph::OpId;
  graph::Graph g;
  g.name = "two";
  g.batch = 8;
  const auto op = [&](const char* name, graph::Phase phase, std::vector<OpId> inputs) {
    g.ops.push_back({name, phase, Duration::ms(1), std::move(inputs), {}, 0, 0});
  };
  op("fa", graph::Phase::Forward, {});
  op("fb", graph::Phase::Forward, {OpId(0)});
  op("bb", graph::Phase::Backward, {OpId(1)});
  op("ba", graph::Phase::Backward, {OpId(2)});
  g.parameters.push_back({"a", Bytes(1'000'000), true, OpId(3), -1});
  g.parameters.push_back({"b", Bytes(1'000'000), true, OpId(2), -1});
  g.ops[0].reads.emplace_back(0U);
  g.ops[1].reads.emplace_back(1U);
  return g;
}

class Experiments : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(directory_);
    write("two.workload.json", io::write_workload(two_layers()));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    file::write_atomic(path, text);
    return path;
  }

  // One worker and one server at 1 GB/s each way, so that a parameter takes 1 ms.
  Spec spec(const std::vector<std::string>& sets) const {
    const std::string text = fmt::format(
        "stretto: 1\nworkload: {{file: {}}}\n"
        "cluster: {{workers: {{nic: 1 GB/s}}, servers: {{nic: 1 GB/s}}}}\n"
        "runs: {{iterations: 12, warm_up: 4}}\n",
        (directory_ / "two.workload.json").string());
    return read_experiment(text, "t.yaml", sets).points.at(0).spec;
  }

  experiment::Setup setup(const std::vector<std::string>& sets) const {
    Workloads workloads;
    return make_setup(spec(sets), workloads);
  }

  // Mean step time in ms of the first policy.
  double step_ms(std::vector<std::string> sets, const std::string& policies = "[fifo]") const {
    sets.push_back("policies=" + policies);
    const Spec s = spec(sets);
    Workloads workloads;
    const experiment::Setup made = make_setup(s, workloads);
    SimulateOptions options;
    options.iterations = s.runs.iterations;
    options.warm_up = s.runs.warm_up;
    options.min_replications = options.max_replications = 1;
    return 1e3 * simulate(made, make_plan(made, s.policies.at(0), 1), options).mean();
  }

  std::string errors(const std::vector<std::string>& sets, const std::string& policy = "fifo") const {
    try {
      step_ms(sets, "[" + policy + "]");
    } catch (const UserError& e) {
      return render(e.diagnostics());
    }
    return "no error";
  }

  std::filesystem::path directory_;
};

PolicySpec policy(const std::string& name, const std::vector<std::pair<std::string, std::string>>& options) {
  PolicySpec p;
  p.name = name;
  for (const auto& [key, text] : options) p.options.push_back({key, text, {}, {}});
  return p;
}

std::string refused(const std::string& name, const std::vector<std::pair<std::string, std::string>>& options) {
  try {
    choose_policy(policy(name, options));
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(OrderOptions, OneOptionImpliesTheDiscipline) {
  EXPECT_EQ(choose_policy(policy("tac", {})).order.discipline, std::nullopt);
  const OrderOptions window = choose_policy(policy("tac", {{"window", "3"}})).order;
  EXPECT_EQ(window.discipline, Discipline::Window);
  EXPECT_EQ(window.window, 3U);
  const OrderOptions credit = choose_policy(policy("fifo", {{"credit", "4 MiB"}, {"direction", "push"}})).order;
  EXPECT_EQ(credit.discipline, Discipline::Credit);
  EXPECT_EQ(credit.credit, Bytes(4 << 20));
  EXPECT_EQ(credit.direction, Direction::Push);
  EXPECT_EQ(choose_policy(policy("tic", {{"window", "2"}, {"discipline", "chain_window"}})).order.discipline,
            Discipline::ChainWindow);
}

TEST(OrderOptions, LayerPriorityHasDefaultsOfItsOwn) {
  const OrderOptions order = choose_policy(policy("layer_priority", {})).order;
  EXPECT_EQ(order.discipline, Discipline::Credit);
  EXPECT_EQ(order.credit, Bytes(16 << 20));
  EXPECT_EQ(order.partition, Bytes(4 << 20));
  EXPECT_EQ(order.direction, Direction::Both);
  const OrderOptions other =
      choose_policy(policy("layer_priority", {{"discipline", "priority"}, {"partition", "0 B"}})).order;
  EXPECT_EQ(other.discipline, Discipline::Priority);
  EXPECT_EQ(other.partition, Bytes());
}

TEST(OrderOptions, EveryDefaultOfAPolicyIsRight) {
  for (const policies::Policy& p : policies::policies()) {
    std::vector<std::pair<std::string, std::string>> options;
    if (p.file != policies::FileKind::None) options.emplace_back("file", "x");
    EXPECT_NO_THROW(choose_policy(policy(std::string(p.name), options))) << p.name;
  }
}

TEST(OrderOptions, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(has(refused("tca", {}), "there is no policy 'tca'"));
  EXPECT_TRUE(has(refused("tac", {{"widnow", "2"}}), "did you mean 'window'?"));
  EXPECT_TRUE(has(refused("tac", {{"window", "0"}}), "valid: 1 to"));
  EXPECT_TRUE(has(refused("tac", {{"credit", "0 B"}}), "at least 1 B"));
  EXPECT_TRUE(has(refused("tac", {{"credit", "4"}}), "policies.tac.credit"));
  EXPECT_TRUE(has(refused("tac", {{"discipline", "window"}}), "needs a window"));
  EXPECT_TRUE(has(refused("tac", {{"discipline", "credit"}}), "needs a credit"));
  EXPECT_TRUE(has(refused("tac", {{"discipline", "strict"}, {"window", "2"}}), "does not go with"));
  EXPECT_TRUE(has(refused("tac", {{"credit", "1 MiB"}, {"window", "2"}}), "does not go with"));
  EXPECT_TRUE(has(refused("tac", {{"discipline", "strickt"}}), "did you mean 'strict'?"));
  EXPECT_TRUE(has(refused("tic", {{"ties", "nam"}}), "policies.tic.ties"));
  EXPECT_TRUE(has(refused("random", {{"window", "2"}}), "ranks nothing"));
  EXPECT_EQ(refused("random", {{"partition", "1 MiB"}}), "no error");
  EXPECT_TRUE(has(refused("schedule", {{"file", "x"}, {"partition", "1 MiB"}}), "says that itself"));
  EXPECT_TRUE(has(refused("schedule", {}), "needs a file"));
  EXPECT_TRUE(has(refused("fifo", {{"file", "x"}}), "has no option 'file'"));
}

TEST_F(Experiments, DirectionRanksPushesAndDefaultsToPriorityThere) {
  const experiment::Setup s = setup({});
  const plan::Order both = make_plan(s, policy("reverse", {{"direction", "both"}}), 1).order;
  EXPECT_EQ(both.pull.discipline, Discipline::Strict);
  EXPECT_EQ(both.push.discipline, Discipline::Priority);
  EXPECT_EQ(both.push.rank, both.pull.rank);
  const plan::Order push = make_plan(s, policy("fifo", {{"direction", "push"}, {"discipline", "strict"}}), 1).order;
  EXPECT_EQ(push.pull.discipline, Discipline::Unordered);
  EXPECT_TRUE(push.pull.rank.empty());
  EXPECT_EQ(push.push.discipline, Discipline::Strict);
  EXPECT_EQ(make_plan(s, policy("fifo", {}), 1).order.push.discipline, Discipline::Free);
}

TEST_F(Experiments, PartitionCutsBeforeRanksAreMade) {
  const plan::Plan p = make_plan(setup({}), policy("reverse", {{"partition", "400 kB"}}), 1);
  ASSERT_EQ(p.layout.transfers.size(), 6U);
  EXPECT_EQ(p.order.pull.rank, (std::vector<std::uint32_t>{3, 4, 5, 0, 1, 2}));
}

// Pull a, then fa beside the pull of b, fb, bb, then ba beside the push of b, push a: 1 + 1 + 1 + 1 + 1 + 1 ms.
TEST_F(Experiments, StepByHand) {
  EXPECT_DOUBLE_EQ(step_ms({}), 6);
  EXPECT_DOUBLE_EQ(step_ms({"workload.mode=inference"}), 3);
}

TEST_F(Experiments, BatchScalesOps) {
  EXPECT_DOUBLE_EQ(step_ms({"workload.batch_per_worker=8"}), 6);
  // Ops of 3 ms: pull a 1, four ops 12, push a 1.
  EXPECT_DOUBLE_EQ(step_ms({"workload.batch_per_worker=24"}), 14);
  // Half of the time stays: ops of 2 ms.
  EXPECT_DOUBLE_EQ(step_ms({"workload.batch_per_worker=24", "workload.batch_fixed_share=0.5"}), 10);
  EXPECT_EQ(setup({"workload.batch_per_worker=24"}).graph->batch, 24);
  EXPECT_EQ(setup({"workload.batch_per_worker=24"}).assumptions.size(), 1U);
  EXPECT_TRUE(has(errors({"workload.batch_per_worker=1000000000"}), "workload.batch_per_worker"));
}

TEST_F(Experiments, TheAnswerRestsOnWhatTheFileSaysOfItself) {
  EXPECT_TRUE(setup({}).assumptions.empty());
  graph::Graph g = two_layers();
  g.source = "a trace; without 2 ms in which the device was idle";
  write("two.workload.json", io::write_workload(g));
  EXPECT_EQ(setup({}).assumptions, (std::vector<std::string>{"the workload is as its file has it: " + g.source}));
}

TEST_F(Experiments, TransfersAreSmallerAndCostTheirCoding) {
  // Transfers of 0.5 ms: pull a 0.5, ops 4, push a 0.5.
  EXPECT_DOUBLE_EQ(step_ms({"workload.transfers.precision=fp16"}), 5);
  EXPECT_DOUBLE_EQ(step_ms({"workload.transfers.ratio=0.25"}), 4.5);
  // Encoding 1 ms and decoding 2 ms a variable, at unlimited threads: each end of the critical path costs 3 ms more.
  EXPECT_DOUBLE_EQ(step_ms({"workload.transfers={precision: fp16, encode: 1 ns/B, decode: 2 ns/B}"}), 11);
  // An update of 1 ms works on whole variables.
  EXPECT_DOUBLE_EQ(step_ms({"workload.transfers.precision=fp16", "cluster.servers.update_rate=1 GB/s"}), 6);
  EXPECT_DOUBLE_EQ(step_ms({"cluster.servers.update_rate=1 GB/s"}), 7);
}

TEST_F(Experiments, TheRatioIsThatOfTheProfile) {
  const std::vector<std::string> ratio{"cluster.workers.nic=unlimited", "cluster.servers.nic=unlimited",
                                       "cluster.network.comm_compute_ratio=2"};
  std::vector<std::string> half = ratio;
  half.push_back("workload.transfers.precision=fp16");
  EXPECT_EQ(setup(half).cluster.workers[0].nic.up, setup(ratio).cluster.workers[0].nic.up);
}

TEST_F(Experiments, StepsWaitForTheirInput) {
  EXPECT_DOUBLE_EQ(step_ms({"workload.input_pipeline=4 ms"}), 6);
  EXPECT_DOUBLE_EQ(step_ms({"workload.input_pipeline=9 ms"}), 9);
  EXPECT_DOUBLE_EQ(step_ms({"workload.input_pipeline=9 ms", "training.barrier=false"}), 9);
  EXPECT_DOUBLE_EQ(step_ms({"workload.input_pipeline=9 ms", "workload.mode=inference"}), 9);
}

TEST_F(Experiments, FrozenVariablesAreNotPushed) {
  // a frozen: ba is dropped, b is pushed after bb: 1 + 1 + 1 + 1 + 1 ms.
  EXPECT_DOUBLE_EQ(step_ms({"workload.freeze=[a]"}), 5);
  // b frozen: bb stays, since ba needs it; the push of a is alone.
  EXPECT_DOUBLE_EQ(step_ms({"workload.freeze=[b]"}), 6);
  EXPECT_TRUE(has(errors({"workload.freeze=[x*, a]"}), "workload.freeze[0]: no variable is named 'x*'"));
  EXPECT_TRUE(has(errors({"workload.freeze=[\"?\"]"}), "nothing is left to train"));
  EXPECT_EQ(step_ms({"workload.freeze=[a, b]", "workload.mode=inference"}), 3);
}

TEST_F(Experiments, OpsCanBeLeftOut) {
  EXPECT_DOUBLE_EQ(step_ms({"workload.leave_out=[fb]"}), 5);
  EXPECT_TRUE(has(errors({"workload.leave_out=[x*]"}), "workload.leave_out[0]: no op is named 'x*'"));
  EXPECT_TRUE(has(errors({"workload.leave_out=[ba]"}), "op 'ba' completes a gradient"));
  EXPECT_TRUE(has(errors({"workload.leave_out=[f*, b*]"}), "completes a gradient"));
}

// At half the rate: pull a 0-2, pull b 2-4, fb and bb 4-6, push b 6-8, push a 8-10 ms.
TEST_F(Experiments, NoiseSlowsWorkersAndNics) {
  EXPECT_DOUBLE_EQ(step_ms({"noise.slow_workers=[{worker: 0, slowdown: 2}]"}), 10);
  EXPECT_DOUBLE_EQ(step_ms({"noise.slow_workers=[{worker: 0, slowdown: 2, until: 3 ms}]"}), 6);
  EXPECT_DOUBLE_EQ(step_ms({"noise.nics=[{worker: 0, at: 0 s, factor: 0.5}]"}), 10);
  EXPECT_NE(step_ms({"noise.compute_cv=10 %"}), 6);
}

TEST_F(Experiments, OrdersOfFiles) {
  write("order.txt", "b\t0\na\t5\n");
  const std::string file = (directory_ / "order.txt").string();
  // b first: pulls 2 ms, then as before.
  EXPECT_DOUBLE_EQ(step_ms({}, fmt::format("[{{order_file: {}}}]", file)), 7);
  EXPECT_DOUBLE_EQ(step_ms({}, fmt::format("[{{order_file: {{file: {}, window: 1}}}}]", file)), 7);
  write("order.txt", "aa\t0\n");
  EXPECT_TRUE(has(errors({}, fmt::format("{{order_file: {}}}", file)), "order.txt:1:1: error"));
  write("order.txt", "b\t0\n");
  EXPECT_TRUE(has(errors({}, fmt::format("{{order_file: {{file: {}, missing: error}}}}", file)), "leaves out 1 param"));
  EXPECT_TRUE(has(errors({}, "{order_file: nowhere.txt}"), "nowhere.txt"));
}

TEST_F(Experiments, RecordedOrdersAreDrawnPerStep) {
  const auto steps = [&](const std::string& orders) {
    const std::string file =
        write("r.json", "{\"format\": \"stretto-arrivals\", \"version\": 1, \"orders\": " + orders + "}");
    const experiment::Setup s = setup({});
    SimulateOptions options;
    options.iterations = 200;
    options.warm_up = 0;
    options.min_replications = options.max_replications = 1;
    std::map<double, int> count;
    const Measured measured = simulate(s, make_plan(s, policy("recorded", {{"file", file}}), 1), options);
    for (const double step : measured.steps.at(0)) ++count[std::round(step * 1e6) / 1e3];
    return count;
  };
  EXPECT_EQ(steps(R"([["a", "b"]])"), (std::map<double, int>{{6, 200}}));
  EXPECT_EQ(steps(R"([["b", "a"]])"), (std::map<double, int>{{7, 200}}));
  const auto mixed = steps(R"([["a", "b"], ["b", "a"], ["b", "a"], ["b", "a"]])");
  ASSERT_EQ(mixed.size(), 2U);
  EXPECT_NEAR(mixed.at(7), 150, 25);         // 4 standard deviations
  const auto missing = steps(R"([["a"]])");  // b takes a random place
  ASSERT_EQ(missing.size(), 2U);
  EXPECT_NEAR(missing.at(7), 100, 28);
}

TEST_F(Experiments, AScheduleRepeatsTheStep) {
  const experiment::Setup s = setup({});
  for (const PolicySpec& p : {policy("reverse", {}), policy("layer_priority", {{"partition", "300 kB"}}),
                              policy("fifo", {{"window", "1"}, {"direction", "both"}})}) {
    plan::Schedule schedule;
    schedule.plan = make_plan(s, p, 1);
    const std::string file = write("s.json", io::write_schedule(*s.graph, schedule));
    SimulateOptions options;
    options.min_replications = options.max_replications = 2;
    const plan::Plan again = make_plan(s, policy("schedule", {{"file", file}}), 1);
    EXPECT_EQ(simulate(s, again, options).steps, simulate(s, schedule.plan, options).steps) << p.name;
  }
}

}  // namespace
}  // namespace stretto::experiment
