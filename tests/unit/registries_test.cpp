// SPDX-License-Identifier: Apache-2.0
// Every policy on every placement in every sharing mode, from an experiment's text to its answer; and what the policies
// do that are more than an order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "experiment/run/runner.hpp"
#include "experiment/setup/placement_loads.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/export/schedule.hpp"
#include "io/file/file.hpp"
#include "io/import/workload.hpp"
#include "models/placement/placement.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {
namespace {

// Forward fa (reads a) -> fb (reads b), backward bb -> ba; 1 ms each; parameters of 1 MB.
graph::Graph two_layers() {
  using graph::OpId;
  graph::Graph g;
  g.name = "two";
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

class Registries : public testing::Test {
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

  // Two workers; hosts at 1 GB/s each way, so that a parameter takes 1 ms.
  Experiment read(const std::string& servers, const std::string& more,
                  const std::vector<std::string>& sets = {}) const {
    const std::string text = fmt::format(
        "stretto: 1\nworkload: {{file: {}}}\n"
        "cluster: {{workers: {{count: 2, nic: 1 GB/s}}, servers: {{nic: 1 GB/s, {}}}}}\n{}",
        (directory_ / "two.workload.json").string(), servers, more);
    return read_experiment(text, "t.yaml", sets);
  }

  plan::Plan plan_of(const Experiment& e) const {
    Workloads workloads;
    return make_plan(make_setup(e.points[0].spec, workloads), e.points[0].spec.policies[0], 1);
  }

  // Step time in ms of the first policy.
  double step_ms(const std::string& servers, const std::string& policy, const std::string& training = "",
                 const std::vector<std::string>& sets = {}) const {
    const Experiment e =
        read(servers, fmt::format("policies: [{}]\nruns: {{iterations: 9, warm_up: 4}}\n{}", policy, training), sets);
    Workloads workloads;
    const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
    const Measured m = simulate(setup, make_plan(setup, e.points[0].spec.policies[0], 1), {9, 4});
    EXPECT_FALSE(m.deadlock);
    return m.mean() * 1e3;
  }

  std::string errors(const std::string& servers, const std::string& more) const {
    try {
      const Experiment e = read(servers, more);
      plan_of(e);
    } catch (const UserError& e) {
      return render(e.diagnostics());
    }
    return "no error";
  }

  std::filesystem::path directory_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Registries, EveryPolicyOnEveryPlacementInEveryMode) {
  const std::string order = write("order.txt", "b\t0\na\t5\n");
  const std::string recorded =
      write("arrivals.json", R"({"format": "stretto-arrivals", "version": 1, "orders": [["a", "b"], ["b", "a"]]})");
  const Experiment plain = read("count: 3", "policies: [fifo]");
  Workloads workloads;
  const experiment::Setup setup = make_setup(plain.points[0].spec, workloads);
  const plan::Schedule schedule{make_plan(setup, {"fifo", {}, {}}, 1), "two", "a test", {}};
  const std::string schedule_file = write("schedule.json", io::write_schedule(*setup.graph, schedule));
  std::string all;
  std::size_t count = 2;
  for (const policies::Policy& policy : policies::policies()) {
    if (policy.name == "random" || policy.name == "fifo" || policy.exchange == policies::For::AllReduce) continue;
    ++count;
    const std::string& file = policy.file == policies::FileKind::Order      ? order
                              : policy.file == policies::FileKind::Recorded ? recorded
                                                                            : schedule_file;
    all += fmt::format(", {{{}: {}}}", policy.name, policy.file == policies::FileKind::None ? "" : file);
  }
  const std::vector<std::string> modes{"{}",
                                       "{barrier: false}",
                                       "{synchronization: async}",
                                       "{synchronization: ssp, staleness: 1}",
                                       "{synchronization: backup, backups: 1}",
                                       "{synchronization: local, local_steps: 2}",
                                       "{accumulation: 2}"};
  for (const placement::Placement& placement : placement::placements())
    for (const std::string& mode : modes) {
      SCOPED_TRACE(fmt::format("{} {}", placement.name, mode));
      const std::string where = placement.name == "by_name" ? "{by_name: {a: 0, b: 2}}" : std::string(placement.name);
      const std::string hosts = placement.name == "byteps" ? ", colocated: 2" : "";
      const Experiment e = read(fmt::format("count: 3, placement: {}{}", where, hosts),
                                fmt::format("training: {}\npolicies: [random, fifo{}]\n", mode, all) +
                                    "runs: {iterations: 6, warm_up: 2, replications: 2}\n");
      const RunOutput out = run(e, {}, {});
      ASSERT_EQ(out.result.results.size(), count);
      for (const analysis::PolicyResult& r : out.result.results) {
        EXPECT_FALSE(r.deadlock) << r.policy << ": " << r.deadlock.value_or("");
        EXPECT_GT(r.step_time.estimate.mean, 0) << r.policy;
        EXPECT_GE(r.gap.value.value_or(0), -1e-6) << r.policy << ", " << r.lower_bound_name;
        std::int64_t bytes = 0;
        for (const analysis::ServerLoad& s : r.servers) bytes += s.bytes;
        EXPECT_EQ(bytes, 2'000'000) << r.policy;
      }
    }
}

// Together: each pull at half the rate, a at 2 and b at 4 ms, ops until 7, pushes of b 6-8, of a 8-10 ms. Staggered by
// the 2 ms of one worker's pulls: worker 0 needs 6 ms alone, worker 1 the same 2 ms later, in the other direction.
TEST_F(Registries, StaggeredWorkersByHand) {
  EXPECT_DOUBLE_EQ(step_ms("count: 1", "fifo"), 10);
  EXPECT_DOUBLE_EQ(step_ms("count: 1", "staggered"), 8);
  EXPECT_DOUBLE_EQ(step_ms("count: 1", "{staggered: {group: 2}}"), 10);
  EXPECT_DOUBLE_EQ(step_ms("count: 1", "{staggered: {offset: 30 ms}}"), 36);
  EXPECT_TRUE(has(errors("count: 1", "policies: [{staggered: {group: 0}}]"), "valid: 1 to 1000000"));
  EXPECT_TRUE(has(errors("count: 1", "policies: [{staggered: {offset: 3}}]"), "policies.staggered.offset"));
}

// Four workers, a and b on servers of 0.8 GB/s. Together: both pulls until 5 ms, ops until 9, pushes of b 8-13, of a
// 9-14. Pairs: pulls 0-2.5, pushes 5.5-8 and 6.5-9; the second pair the same 2.5 ms later. By ones, 2 ms apart: pulls
// 0-2, pushes from 5 and 6 until 6.4 and 7.4.
TEST_F(Registries, StaggeredPairsByHand) {
  const auto step = [&](const std::string& policy) {
    return step_ms("count: 2", policy, "", {"cluster.workers.count=4", "cluster.servers.nic=800 MB/s"});
  };
  EXPECT_NEAR(step("fifo"), 14, 1e-6);
  EXPECT_NEAR(step("{staggered: {group: 1}}"), 13.4, 1e-6);
  EXPECT_NEAR(step("{staggered: {group: 2}}"), 11.5, 1e-6);
  EXPECT_NEAR(step("staggered"), 11.5, 1e-6);
}

// Without a barrier the offset comes once: async steps take as long as before, with 1 ms of it too.
TEST_F(Registries, WithoutABarrierAnOffsetComesOnce) {
  EXPECT_DOUBLE_EQ(step_ms("count: 2", "{staggered: {group: 1, offset: 100 ms}}", "training: {barrier: false}\n"),
                   step_ms("count: 2", "fifo", "training: {barrier: false}\n"));
}

TEST_F(Registries, PoliciesBringTheirPlacement) {
  const auto servers_of = [&](const std::string& policy) {
    std::vector<std::uint32_t> servers;
    const plan::Plan plan = plan_of(read("count: 3", "policies: [" + policy + "]"));
    for (const plan::Transfer& t : plan.layout.transfers) servers.push_back(t.server);
    return servers;
  };
  EXPECT_EQ(servers_of("p3"), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 0, 1, 2, 0, 1}));
  EXPECT_EQ(servers_of("{p3: {partition: 0 B}}"), (std::vector<std::uint32_t>{0, 9973 % 3}));
  EXPECT_EQ(servers_of("{p3: {placement: experiment}}"), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(servers_of("{byteps: {placement: experiment}}"), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(servers_of("bytescheduler"), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(has(errors("count: 3", "policies: [{p3: {placement: hash}}]"), "policies.p3.placement"));
}

TEST_F(Registries, CreditsThatHoldNoSliceAreRefused) {
  EXPECT_TRUE(has(errors("count: 1", "policies: [{byteps: {credit: 100 kB}}]"), "it could never go"));
  EXPECT_TRUE(has(errors("count: 1", "policies: [{fifo: {discipline: credit_skip}}]"), "needs a credit"));
  EXPECT_EQ(errors("count: 1", "policies: [{byteps: {credit: 1 MB}}]"), "no error");
  const plan::Plan plan = plan_of(read("count: 1", "policies: [{byteps: {credit: 2 MB}}]"));
  EXPECT_EQ(plan.order.pull.discipline, plan::Discipline::CreditSkip);
  EXPECT_EQ(plan.order.push.discipline, plan::Discipline::CreditSkip);
}

// A what-if whose slices no credit holds is named, with the reason, and ends nothing.
TEST_F(Registries, WhatAPlanDoesNotGoWithIsNotTried) {
  const RunOutput out = run(read("count: 2, placement: {hash: {size: 250 kB}}",
                                 "policies: [{fifo: {discipline: credit_skip, credit: 300 kB}}]\n"
                                 "runs: {iterations: 4, warm_up: 1, replications: 1}\n"),
                            {}, {});
  const analysis::PolicyResult& r = out.result.results.back();
  ASSERT_EQ(r.not_tried.size(), 1U);
  EXPECT_EQ(r.not_tried[0].change, "variables cut over the servers (placement: partitioned)");
  EXPECT_TRUE(has(r.not_tried[0].reason, "has 500 kB and the credit is 300 kB: it could never go")) << r.verdict;
  EXPECT_TRUE(has(r.verdict, "Not tried: variables cut over the servers (placement: partitioned) (a transfer of 'a'"));
  EXPECT_GT(r.what_if.size(), 3U) << "the others";
  EXPECT_TRUE(out.result.results.front().not_tried.empty());
}

// Two workers and two servers at one rate, 8 ms: all NICs twice as fast do more (6 ms) than those of one side.
// One server: its NIC alone does what all do, and workers that start one after the other take 8 ms in place of 10.
TEST_F(Registries, WhatIfsNameTheLinksThatTheyChange) {
  const std::string network = "the whole network 2x faster (worker NICs, server NICs)";
  const std::string starts = "workers that start one after the other (policy staggered)";
  const auto gains = [&](const std::string& servers, const std::string& training = "{}") {
    const RunOutput out = run(read(servers, fmt::format("policies: [fifo]\ntraining: {}\nruns: {{iterations: 9, "
                                                        "warm_up: 4, replications: 1}}\n",
                                                        training)),
                              {}, {});
    std::map<std::string, double> found;
    for (const analysis::WhatIf& w : out.result.results.back().what_if) found[w.change] = w.gain;
    return found;
  };
  auto two = gains("count: 2");
  EXPECT_NEAR(two.at("worker NICs 2x faster"), 0, 1e-6);
  EXPECT_NEAR(two.at("server NICs 2x faster"), 8.0 / 7 - 1, 1e-6);
  EXPECT_NEAR(two.at(network), 8.0 / 6 - 1, 1e-6);
  EXPECT_EQ(two.count(starts), 0U) << "both together are fastest";
  auto one = gains("count: 1");
  EXPECT_GT(one.at("server NICs 2x faster"), 0.2);
  EXPECT_EQ(one.count(network), 0U);
  EXPECT_NEAR(one.at(starts), 10.0 / 8 - 1, 1e-6);
  EXPECT_EQ(gains("count: 1", "{barrier: false}").count(starts), 0U);
}

// Without a barrier wfbp pulls b, whose gradient comes first, before a. In slices and by layer a comes first.
TEST_F(Registries, WfbpIsNotFifo) {
  const std::string mode =
      "training: {barrier: false}\ncluster: {workers: {nic: 250 MB/s}, servers: {nic: 250 MB/s}}\n";
  const auto one = [&](const std::string& policy) {
    const Experiment e = read_experiment(fmt::format("stretto: 1\nworkload: {{file: {}}}\npolicies: [{}]\n{}",
                                                     (directory_ / "two.workload.json").string(), policy, mode),
                                         "t.yaml");
    Workloads workloads;
    const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
    return simulate(setup, make_plan(setup, e.points[0].spec.policies[0], 1), {9, 4}).mean() * 1e3;
  };
  EXPECT_GT(one("wfbp"), 0);
  EXPECT_GE(one("wfbp"), one("{fifo: {partition: 250 kB, direction: both}}"));
}

TEST_F(Registries, LoadsOfEveryPlacement) {
  Workloads workloads;
  const experiment::Setup setup = make_setup(read("count: 4, colocated: 2", "").points[0].spec, workloads);
  const std::vector<PlacementLoads> list = placement_loads(setup);
  ASSERT_EQ(list.size() + 1, placement::placements().size());  // but by_name
  for (const PlacementLoads& loads : list) {
    ASSERT_EQ(loads.servers.size(), 4U) << loads.placement << ": " << loads.reason;
    std::int64_t bytes = 0;
    for (const analysis::ServerLoad& s : loads.servers) bytes += s.bytes;
    EXPECT_EQ(bytes, 2'000'000);
  }
  const experiment::Setup apart = make_setup(read("count: 2", "").points[0].spec, workloads);
  EXPECT_TRUE(has(placement_loads(apart).back().reason, "a server on the host of each"));
}

// n workers' hosts with a server each and k hosts of servers alone, no barrier, no compute to speak of, small slices:
// the step is not below, and not far above, 2 n (n - 1) M / ((n^2 + k n - 2 k) B).
TEST_F(Registries, BytepsComesNearItsOptimum) {
  graph::Graph g = two_layers();
  for (graph::Op& op : g.ops) op.time = Duration::us(1);
  for (graph::Parameter& p : g.parameters) p.bytes = Bytes(50'000'000);
  write("two.workload.json", io::write_workload(g));
  for (const std::uint32_t k : {0U, 1U, 2U, 4U}) {
    const Experiment e = read(fmt::format("count: {}, colocated: 4, placement: {{byteps: {{size: 500 kB}}}}", 4 + k),
                              "training: {barrier: false}\n"
                              "policies: [{byteps: {placement: experiment, partition: 500 kB, credit: 8 MB}}]\n",
                              {"cluster.workers.count=4"});
    Workloads workloads;
    const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
    const Measured m = simulate(setup, make_plan(setup, e.points[0].spec.policies[0], 1), {12, 4});
    const double optimum = placement::best_split(4, k).nic_load * 0.1;
    EXPECT_GE(m.mean(), optimum * 0.98) << k;
    EXPECT_LE(m.mean(), optimum * 1.3) << k;
  }
}

}  // namespace
}  // namespace stretto::experiment
