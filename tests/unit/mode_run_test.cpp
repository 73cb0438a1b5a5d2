// SPDX-License-Identifier: Apache-2.0
// Every sharing mode of the field table runs from a minimal experiment.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "experiment/run/runner.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::PolicyResult;

std::string minimal(const std::string& more) {
  return "stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
         "}\npolicies: [fifo]\nruns: {iterations: 6, warm_up: 2, replications: 2}\n" + more;
}

PolicyResult run_fifo(const std::string& more, const std::vector<std::string>& sets = {}) {
  const Experiment e = read_experiment(minimal(more), "minimal.yaml", sets, {source_path("configs")});
  for (PolicyResult& r : run(e, {}, {}).result.results)
    if (r.policy == "fifo") return std::move(r);
  return {};
}

std::string cluster(int workers, const std::string& servers = "nic: 1 Gbit/s") {
  return fmt::format("cluster: {{workers: {{count: {}, nic: 1 Gbit/s}}, servers: {{{}}}}}\n", workers, servers);
}

std::vector<std::string> modes() {
  for (const config::FieldRecord& f : field_records()) {
    if (f.path != "training.synchronization") continue;
    std::vector<std::string> names;
    std::string range = f.type.substr(std::string("one of ").size());
    std::replace(range.begin(), range.end(), ',', ' ');
    std::istringstream words(range);
    for (std::string word; words >> word;) names.push_back(word);
    return names;
  }
  return {};
}

// Bounds hold for the mean of steps whose ops vary: workers wait for each other, and what precedes them all has a mean
// below that of each.
TEST(ModeRun, BoundsHoldUnderNoise) {
  for (const char* servers : {"nic: 1 Gbit/s", "count: 2, nic: 1 Gbit/s", "nic: {up: 100 Gbit/s, down: 1 Gbit/s}"})
    for (const char* training : {"{barrier: false}", "{barrier: true}", "{synchronization: local, local_steps: 2}"})
      for (const char* noise : {"{compute_cv: 0.3}", "{compute_cv: 0.6, distribution: gamma}"})
        for (const char* slow : {"1", "6"}) {
          const std::string more = cluster(8, servers) + "training: " + training + "\nnoise: " + noise + '\n';
          const PolicyResult r =
              run_fifo(more, {"runs.replications=40", std::string("cluster.workers.device.speed=") + slow});
          SCOPED_TRACE(more + slow);
          ASSERT_TRUE(r.lower_bound_s.value) << r.lower_bound_s.reason;
          EXPECT_LE(*r.lower_bound_s.value, r.step_time.estimate.mean * 1.005);
          EXPECT_LE(r.lower_bound_any_layout_s.value.value_or(0), r.step_time.estimate.mean * 1.005);
          EXPECT_GT(*r.lower_bound_s.value, r.step_time.estimate.mean * 0.3);
        }
}

TEST(ModeRun, EveryModeRuns) {
  const std::vector<std::string> names = modes();
  ASSERT_GE(names.size(), 5U);
  const PolicyResult sync = run_fifo(cluster(3));
  for (const std::string& name : names) {
    const PolicyResult r = run_fifo(cluster(3) + "training: {synchronization: " + name + "}\n");
    EXPECT_FALSE(r.deadlock) << name;
    EXPECT_GT(r.samples_per_s, 0) << name;
    EXPECT_EQ(r.lower_bound_s.value.has_value(), name == "sync" || name == "local") << name;
    EXPECT_EQ(r.lower_bound_s.value.has_value(), r.lower_bound_s.reason.empty()) << name;
    EXPECT_EQ(r.staleness.known, name == "async" || name == "ssp") << name;
    EXPECT_EQ(r.dropped_gradients.value.has_value(), name == "backup") << name;
    if (name == "local") {
      EXPECT_EQ(r.step_time.estimate.mean, sync.step_time.estimate.mean) << "one local step is a step";
    }
  }
}

TEST(ModeRun, AsyncWorkersOfEqualPaceAreBehindByLessThanTheOthers) {
  const PolicyResult r = run_fifo(cluster(4) + "training: {synchronization: async}\nnoise: {compute_cv: 0.1}\n");
  ASSERT_TRUE(r.staleness.known);
  // Less than 3: a variable is pushed before the step ends and pulled after the next one starts.
  EXPECT_GT(r.staleness.mean, 1.5);
  EXPECT_LT(r.staleness.mean, 3);
  double all = 0;
  for (const double share : r.staleness.histogram) all += share;
  EXPECT_NEAR(all, 1, 1e-12);
  EXPECT_EQ(r.staleness.histogram.size(), r.staleness.max + 1);
}

TEST(ModeRun, ABoundOfStalenessLimitsLeadAndAge) {
  const std::string slow = "noise: {slow_workers: [{worker: 0, slowdown: 100}]}\n";
  const std::vector<std::string> sets = {"runs.iterations=60"};
  const PolicyResult free = run_fifo(cluster(2, "") + slow + "training: {synchronization: async}\n", sets);
  const std::string one = "training: {synchronization: ssp, staleness: 1}\n";
  const PolicyResult bound = run_fifo(cluster(2, "") + slow + one, sets);
  EXPECT_GT(free.samples_per_s, bound.samples_per_s);
  EXPECT_GE(free.staleness.max, 3U);
  EXPECT_LE(bound.staleness.max, 2U) << "the fast one leads by one step, and ends it before it waits";
}

TEST(ModeRun, ASlowWorkerIsDroppedByBackup) {
  const std::string slow = "noise: {slow_workers: [{worker: 0, slowdown: 100}]}\n";
  const PolicyResult sync = run_fifo(cluster(4) + slow);
  const PolicyResult r = run_fifo(cluster(4) + slow + "training: {synchronization: backup}\n");
  EXPECT_LT(r.step_time.estimate.mean, 0.5 * sync.step_time.estimate.mean);
  EXPECT_GT(*r.dropped_gradients.value, 0);
  EXPECT_GT(r.samples_per_s, sync.samples_per_s);
}

TEST(ModeRun, PassesRaiseTheBoundAndKeepSamples) {
  const PolicyResult one = run_fifo(cluster(2));
  for (const char* more : {"training: {accumulation: 4}\n", "training: {synchronization: local, local_steps: 4}\n"}) {
    const PolicyResult four = run_fifo(cluster(2) + more);
    EXPECT_GT(four.samples_per_s, one.samples_per_s);
    EXPECT_LT(four.step_time.estimate.mean, 4 * one.step_time.estimate.mean);
    EXPECT_GT(*four.lower_bound_s.value, *one.lower_bound_s.value);
    EXPECT_LE(*four.lower_bound_s.value, four.step_time.estimate.mean);
  }
}

TEST(ModeRun, OptimizersAndSumsTakeServersTime) {
  const std::string servers = "nic: 1 Gbit/s, threads: 1, update_rate: 10 MB/s";
  std::map<std::string, double> step;
  for (const char* optimizer : {"sgd", "momentum", "adam"})
    step[optimizer] =
        run_fifo(cluster(2, servers) + "training: {optimizer: " + optimizer + "}\n").step_time.estimate.mean;
  EXPECT_LT(step["sgd"], step["momentum"]);
  EXPECT_LT(step["momentum"], step["adam"]);
  EXPECT_GT(run_fifo(cluster(2, servers + ", aggregate_rate: 1 MB/s")).step_time.estimate.mean, step["sgd"]);
}

TEST(ModeRun, ServersBesideWorkersAreListedOnce) {
  const PolicyResult r = run_fifo(cluster(2, "count: 4, colocated: true, per_host: 2, cores: 1"));
  EXPECT_FALSE(r.deadlock);
  EXPECT_EQ(r.lower_bound_s.reason, "no bound is known for servers on workers' hosts");
  for (const auto& a : r.resources)
    EXPECT_EQ(std::count_if(r.resources.begin(), r.resources.end(), [&](const auto& b) { return a.name == b.name; }), 1)
        << a.name;
  EXPECT_EQ(std::count_if(r.resources.begin(), r.resources.end(),
                          [](const auto& u) { return u.kind == analysis::ResourceKind::ServerThreads; }),
            2);
}

TEST(ModeRun, GammaNoiseAndStragglersCostTime) {
  const double plain = run_fifo(cluster(2)).step_time.estimate.mean;
  const PolicyResult gamma = run_fifo(cluster(2) + "noise: {distribution: gamma, compute_cv: 1}\n");
  EXPECT_EQ(gamma.step_time.n, 2);
  EXPECT_NE(gamma.step_time.estimate.mean, plain);
  const PolicyResult slow =
      run_fifo(cluster(2) + "noise: {stragglers: {slowdown: 50, mean_on: 300 ms, mean_off: 300 ms}}\n");
  EXPECT_EQ(slow.step_time.n, 2);
  EXPECT_GT(slow.step_time.estimate.mean, plain);
  EXPECT_GT(slow.step_time.max, slow.step_time.min);
}

TEST(ModeRun, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::string& more, const std::string& key) {
    try {
      read_experiment(minimal(more), "minimal.yaml", {}, {source_path("configs")});
    } catch (const UserError& e) {
      return e.diagnostics().size() == 1 && e.diagnostics()[0].key == key;
    }
    return false;
  };
  EXPECT_TRUE(refused(cluster(2) + "training: {staleness: 2}\n", "training.staleness"));
  EXPECT_TRUE(refused(cluster(2) + "training: {synchronization: async, backups: 1}\n", "training.backups"));
  EXPECT_TRUE(refused(cluster(2) + "training: {synchronization: backup, backups: 2}\n", "training.backups"));
  EXPECT_TRUE(refused(cluster(1) + "training: {synchronization: backup}\n", "training.backups"));
  EXPECT_TRUE(refused(cluster(2) + "training: {synchronization: ssp, barrier: true}\n", "training.barrier"));
  EXPECT_TRUE(refused(cluster(2) + "training: {synchronization: local, local_steps: 0}\n", "training.local_steps"));
  EXPECT_TRUE(refused("noise: {stragglers: {slowdown: 2, mean_on: 1 s}}\n", "noise.stragglers.mean_off"));
  EXPECT_TRUE(refused(cluster(2, "count: 3, colocated: true"), "cluster.servers.colocated"));
  EXPECT_TRUE(refused(cluster(2, "count: 2, per_host: 2, threads: 2, cores: 3"), "cluster.servers.cores"));
  const std::string backup = cluster(2) + "training: {synchronization: backup}\n";
  EXPECT_FALSE(refused(backup, "training.backups"));
}

}  // namespace
}  // namespace stretto::experiment
