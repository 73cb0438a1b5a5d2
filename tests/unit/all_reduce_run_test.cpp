// SPDX-License-Identifier: Apache-2.0
// All-reduce from an experiment file to the answer: every algorithm and policy runs, nothing speaks of servers, what
// does not go together is refused at its place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiment/run/runner.hpp"
#include "experiment/setup/all_reduce_plan.hpp"
#include "schedulers/policies/registry.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::PolicyResult;

std::string minimal(const std::string& more, const std::string& policies = "[wfbp]") {
  return "stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
         "}\npolicies: " + policies + "\nruns: {iterations: 6, warm_up: 2, replications: 2}\n" + more;
}

std::string four(const std::string& training = "exchange: all_reduce", const std::string& all_reduce = "",
                 const std::string& workers = "") {
  return "cluster: {workers: {count: 4, nic: 1 Gbit/s" + workers + "}}\ntraining: {" + training + "}\n" +
         (all_reduce.empty() ? "" : "all_reduce: {" + all_reduce + "}\n");
}

RunOutput run_text(const std::string& text) {
  return run(read_experiment(text, "minimal.yaml", {}, {source_path("configs")}), {}, {});
}

const PolicyResult& result_of(const RunOutput& out, const std::string& policy) {
  for (const PolicyResult& r : out.result.results)
    if (r.policy == policy) return r;
  ADD_FAILURE() << "no result of " << policy;
  return out.result.results.front();
}

std::string refused(const std::string& text) {
  try {
    run_text(text);
    return "no error";
  } catch (const UserError& error) {
    return render(error.diagnostics());
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(AllReduceRun, EveryAlgorithmRunsWithEveryDetail) {
  for (const char* algorithm : {"ring", "halving_doubling", "tree", "hierarchical"})
    for (const char* split : {"true", "false"}) {
      const std::string more = fmt::format("algorithm: {}, split: {}", algorithm, split);
      const std::string hosts =
          std::string(algorithm) == "hierarchical" ? ", per_host: 2, pcie: 300 MB/s, nvlink: 4 Gbit/s" : "";
      const RunOutput messages = run_text(minimal(four("exchange: all_reduce", more + ", detail: messages", hosts)));
      const RunOutput automatic = run_text(minimal(four("exchange: all_reduce", more, hosts)));
      const PolicyResult& r = result_of(messages, "wfbp");
      ASSERT_FALSE(r.deadlock) << algorithm;
      EXPECT_NEAR(r.step_time.estimate.mean, result_of(automatic, "wfbp").step_time.estimate.mean, 1e-9) << algorithm;
      EXPECT_TRUE(r.servers.empty());
      EXPECT_FALSE(has(messages.result.setup, "server")) << messages.result.setup;
      EXPECT_TRUE(has(messages.result.setup, "all-reduce")) << messages.result.setup;
      for (const std::string& a : messages.result.assumptions) EXPECT_FALSE(has(a, "server")) << a;
      for (const analysis::WhatIf& w : r.what_if) EXPECT_FALSE(has(w.change, "server")) << w.change;
      EXPECT_FALSE(has(r.verdict, "server")) << r.verdict;
    }
}

TEST(AllReduceRun, EveryPolicyRuns) {
  for (const policies::Policy& p : policies::policies()) {
    if (p.file != policies::FileKind::None) continue;
    const std::string name(p.name);
    if (p.exchange == policies::For::Servers) {
      EXPECT_TRUE(has(refused(minimal(four(), "[" + name + "]")), "is for parameter servers")) << name;
      continue;
    }
    for (const char* barrier : {"true", "false"}) {
      const RunOutput out =
          run_text(minimal(four(fmt::format("exchange: all_reduce, barrier: {}", barrier)), "[" + name + "]"));
      EXPECT_FALSE(result_of(out, name).deadlock) << name;
    }
    const std::string with_servers = minimal("cluster: {workers: {count: 2, nic: 1 Gbit/s}}\n", "[" + name + "]");
    EXPECT_EQ(has(refused(with_servers), "is for all-reduce"), p.exchange == policies::For::AllReduce) << name;
  }
}

TEST(AllReduceRun, NoStepIsShorterThanItsBound) {
  std::size_t tight = 0;
  for (const char* algorithm : {"ring", "halving_doubling", "tree", "hierarchical"})
    for (const char* split : {"true", "false"})
      for (const char* barrier : {"true", "false"})
        for (const int streams : {1, 2}) {
          const bool hosts = std::string(algorithm) == "hierarchical";
          const RunOutput out = run_text(minimal(
              four(fmt::format("exchange: all_reduce, barrier: {}", barrier),
                   fmt::format("algorithm: {}, split: {}, streams: {}, per_round: 3 us", algorithm, split, streams),
                   hosts ? ", per_host: 2, nvlink: {rate: 2 Gbit/s, latency: 2 us}" : ""),
              "[wfbp, mg_wfbp, dear, layer_priority]"));
          for (const PolicyResult& r : out.result.results) {
            ASSERT_TRUE(r.gap.value.has_value()) << r.gap.reason;
            EXPECT_GE(*r.gap.value, -1e-9) << algorithm << ' ' << r.policy << ": " << r.lower_bound_name;
            tight += *r.gap.value < 1e-6 ? 1 : 0;
            EXPECT_EQ(r.lower_bound_any_layout_s.value.has_value(), std::string(algorithm) != "tree");
            if (r.lower_bound_any_layout_s.value) {
              EXPECT_GE(r.step_time.estimate.mean, *r.lower_bound_any_layout_s.value - 1e-9) << algorithm;
            }
          }
        }
  EXPECT_GT(tight, 20U);
}

TEST(AllReduceRun, RefusesWhatDoesNotGoTogether) {
  EXPECT_TRUE(
      has(refused(minimal("cluster: {workers: {count: 2}, servers: {count: 2}}\ntraining: {exchange: all_reduce}\n")),
          "cluster.servers.count: there are no servers"));
  EXPECT_EQ(refused(minimal("cluster: {workers: {count: 2, nic: 1 Gbit/s}, servers: {nic: 1 Gbit/s}}\n"
                            "training: {exchange: all_reduce}\n")),
            "no error");
  EXPECT_TRUE(has(refused(minimal("all_reduce: {algorithm: tree}\n")), "means nothing without training.exchange"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce, synchronization: async"))), "waits for all workers"));
  EXPECT_TRUE(
      has(refused(minimal(four("exchange: all_reduce", "algorithm: hierarchical"))), "give cluster.workers.per_host"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "algorithm: hierarchical", ", per_host: 3"))),
                  "hierarchical needs hosts of equally many workers"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "per_host: 2"))),
                  "all_reduce.per_host: hosts and their links belong to the cluster"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "per_host: 2"))), "say cluster.workers.per_host"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "inside_rate: 2 GB/s"))), "say cluster.workers.nvlink"));
  EXPECT_TRUE(
      has(refused(minimal(four() + "vary: {all_reduce.inside_rate: [1 GB/s]}\n")), "say cluster.workers.nvlink"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "", ", nvlink: {latency: 1 us}"))),
                  "there are no direct links"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "algorithm: tree, detail: aggregate"))),
                  "no worker can stand for all: the workers' parts in the collective differ"));
  EXPECT_TRUE(has(refused(minimal(four() + "noise: {nics: [{worker: 1, at: 1 ms, factor: 0.5}]}\n"
                                           "all_reduce: {detail: aggregate}\n")),
                  "noise changes the rates of single NICs"));
  EXPECT_TRUE(has(refused(minimal(four("exchange: all_reduce", "fusion: 0 B"))), "say off"));
  EXPECT_TRUE(has(refused(minimal(four(), "[{fifo: {direction: pull}}]")), "no all-gathers to rank"));
  EXPECT_TRUE(has(refused(minimal(four(), "[{dear: {credit: 1 MiB}}]")), "says that itself"));
}

TEST(AllReduceRun, ByteSchedulerHasLargerDefaults) {
  const Experiment e = read_experiment(minimal(four()), "minimal.yaml", {}, {source_path("configs")});
  Workloads workloads;
  const experiment::Setup setup = make_setup(e.points.front().spec, workloads);
  const plan::Plan plan = make_plan(setup, {"bytescheduler", {}, {}}, 1);
  EXPECT_EQ(plan.order.push.credit, Bytes(64'000'000));
  EXPECT_EQ(plan.order.push.discipline, plan::Discipline::Credit);
  EXPECT_EQ(with_all_reduce_defaults({"bytescheduler", {}, {}}).options.size(), 2U);
  EXPECT_EQ(make_plan(setup, {"bytescheduler", {{"credit", "1 MB", {}, {}}}, {}}, 1).order.push.credit,
            Bytes(1'000'000));
}

TEST(AllReduceRun, BothWaysOfExchangeCanBeCompared) {
  const RunOutput out =
      run_text(minimal("cluster: {workers: {count: 4, nic: 1 Gbit/s}, servers: {count: 2, nic: 1 Gbit/s}}\n"
                       "all_reduce: {fusion: 1 MiB}\nvary: {training.exchange: [parameter_server, all_reduce]}\n",
                       "[fifo]"));
  ASSERT_EQ(out.result.results.size(), 4U);
  EXPECT_EQ(out.result.results.front().servers.size(), 2U);
  EXPECT_TRUE(out.result.results.back().servers.empty());
}

// Ring over two racks: one message of each round leaves each rack.
TEST(AllReduceRun, RacksLimitByTheirUplinks) {
  const auto step = [](const std::string& network) {
    const RunOutput out = run_text(minimal("cluster: {workers: {count: 4, nic: 1 Gbit/s}, network: {" + network +
                                           "}}\ntraining: {exchange: all_reduce}\nall_reduce: {fusion: 1 GiB}\n"));
    const PolicyResult& r = result_of(out, "fifo");
    EXPECT_GE(r.gap.value.value_or(-1), -1e-9) << r.lower_bound_name;
    return r.step_time.estimate.mean;
  };
  const double star = step("topology: star");
  EXPECT_NEAR(step("topology: racks, racks: {count: 2, uplink: 1 Gbit/s}"), star, 1e-9);
  const double narrow = step("topology: racks, racks: {count: 2, uplink: 500 Mbit/s}");
  const double nic_time = step("topology: star, efficiency: 50 %");
  EXPECT_NEAR(narrow, nic_time, 1e-9);
  EXPECT_GT(narrow, 1.1 * star);
  EXPECT_TRUE(has(refused(minimal("cluster: {workers: {count: 2, nic: 1 Gbit/s}, network: {topology: links, links: "
                                  "[{from: worker 0, to: worker 1, rate: 1 Gbit/s}]}}\n"
                                  "training: {exchange: all_reduce}\n")),
                  "no links lead from worker 1 to worker 0"));
}

// Two hosts of two: what stays on a host crosses NVLink, what leaves it PCIe and the NIC. Constant background takes its
// rate, bursts share; both end the symmetry of the workers.
TEST(AllReduceRun, BackgroundCrossesCollectives) {
  const std::string hosts = ", per_host: 2, nvlink: 4 Gbit/s";
  const auto with = [&](const std::string& entry, const std::string& more = "") {
    return minimal("cluster: {workers: {count: 4, nic: 1 Gbit/s" + hosts + "}, network: {background: [" + entry +
                   "]}}\ntraining: {exchange: all_reduce}\nall_reduce: {algorithm: hierarchical" + more + "}\n");
  };
  const auto step = [&](const std::string& text) {
    const RunOutput out = run_text(text);
    const PolicyResult& r = result_of(out, "fifo");
    EXPECT_GE(r.gap.value.value_or(-1), -1e-9) << r.lower_bound_name;
    return r.step_time.estimate.mean;
  };
  const double alone = step(with(""));
  const double constant = step(with("{from: worker 0, to: worker 2, rate: 500 Mbit/s}"));
  EXPECT_NEAR(constant, step(with("{from: worker 1, to: worker 3, rate: 500 Mbit/s}")), 1e-9) << "of one host";
  const double bursty = step(with("{from: worker 0, to: worker 2, burst: 100 kB, pause: 100 us}"));
  EXPECT_GT(constant, 1.05 * alone);
  EXPECT_GT(bursty, 1.02 * alone);
  EXPECT_NEAR(step(with("{from: worker 0, to: worker 1, rate: 1 Mbit/s}")), alone, 0.01 * alone) << "over NVLink";
  EXPECT_TRUE(has(refused(with("{from: worker 0, to: worker 2, burst: 1 MB, pause: 1 ms}", ", detail: aggregate")),
                  "no worker can stand for all: bursts of background traffic cross single links"));
  EXPECT_TRUE(has(refused(with("{from: worker 0, to: worker 2, rate: 1 Mbit/s}", ", detail: aggregate")),
                  "no worker can stand for all: background traffic takes its rate from single links"));
}

TEST(AllReduceRun, EffectiveYamlReadsBack) {
  const Experiment e = read_experiment(
      minimal(four("exchange: all_reduce, barrier: false",
                   "algorithm: hierarchical, fusion: 2 MiB, split: true, streams: 3, per_round: 5 us, detail: messages",
                   ", per_host: 2, nvlink: {rate: 10 Gbit/s, latency: 1 us}")),
      "minimal.yaml", {}, {source_path("configs")});
  const Spec& spec = e.points.front().spec;
  Spec again = read_experiment(effective_yaml(spec), "again.yaml", {}, {source_path("configs")}).points.front().spec;
  EXPECT_EQ(again.training, spec.training);
  EXPECT_TRUE(again.cluster == spec.cluster);
  again.all_reduce.detail_place = spec.all_reduce.detail_place;
  EXPECT_EQ(again.all_reduce, spec.all_reduce);
}

}  // namespace
}  // namespace stretto::experiment
