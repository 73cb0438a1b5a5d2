// SPDX-License-Identifier: Apache-2.0
// Several jobs on one network: closed forms of two jobs on one link, what may not change the answer, and what is
// refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiment/run/jobs.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/simulate/job_simulation.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::PolicyResult;

// One variable: 10 ms of transfer at 1 Gbit/s, and an op of 10 ms.
std::string head(int iterations, int warm_up, const std::string& mode = "inference") {
  return fmt::format(
      "stretto: 1\nworkload: {{file: {}, mode: {}}}\nruns: {{iterations: {}, warm_up: {}, replications: 1}}\n",
      source_path("tests/fixtures/one_variable.workload.json"), mode, iterations, warm_up);
}
const std::string kCluster = "cluster: {workers: {nic: 10 Gbit/s}, servers: {nic: 1 Gbit/s}}\n";

Experiment read(const std::string& text) { return read_experiment(text, "jobs.yaml", {}, {source_path("configs")}); }

std::vector<PolicyResult> answer(const std::string& text) {
  RunOptions options;
  options.threads = 2;
  return run(read(text), options, {}).result.results;
}

const PolicyResult& of(const std::vector<PolicyResult>& results, const std::string& job,
                       const std::string& compared = "") {
  const auto r = std::find_if(results.begin(), results.end(), [&](const PolicyResult& p) {
    return p.job && p.job->name == job && p.job->compared == compared;
  });
  EXPECT_NE(r, results.end()) << job << " " << compared;
  return *r;
}

double step_ms(const PolicyResult& r) { return 1e3 * r.step_time.estimate.mean; }

std::string findings(const std::string& text) {
  try {
    answer(text);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "";
}

std::string two(const std::string& of_b) {
  return "jobs: [{name: a, policy: fifo}, {name: b, policy: fifo, servers_on: a" + of_b + "}]\n";
}

// While both transfer each has half the link: 2 x 10 ms, then 10 ms of compute. Begun d later, b leaves a the link for
// d and has it for d alone: 30 ms - d each, for ever; 10 ms apart they never meet.
TEST(Jobs, TwoOnOneLink) {
  for (const double d : {0.0, 2.5, 5.0, 10.0}) {
    const auto results = answer(head(8, 2) + kCluster + two(fmt::format(", start: {} ms", d)));
    ASSERT_EQ(results.size(), 2U);
    for (const char* job : {"a", "b"}) {
      const PolicyResult& r = of(results, job);
      EXPECT_NEAR(step_ms(r), 30 - d, 1e-6) << job << " " << d;
      EXPECT_NEAR(1e3 * *r.job->alone_s.value, 20, 1e-6);
      EXPECT_NEAR(r.job->slowdown->mean, (30 - d) / 20, 1e-7);
      EXPECT_EQ(r.job->contended, "a server 0 NIC up");
      EXPECT_NEAR(r.job->contended_use, 20 / (30 - d), 1e-6) << job << " " << d;
      ASSERT_EQ(r.job->contended_by.size(), 2U);
      EXPECT_NEAR(r.job->contended_by[0].share, 0.5, 1e-9);
      EXPECT_FALSE(r.verdict.empty());
      // The bound is that of the job alone and holds in any company.
      EXPECT_NEAR(1e3 * *r.lower_bound_s.value, 20, 1e-6);
      EXPECT_NEAR(*r.gap.value, (30 - d) / 20 - 1, 1e-6);
    }
  }
}

// The first step of each: a has the link alone for 5 ms, then half of it for 10 ms; b half for 10 ms, all for 5 ms.
TEST(Jobs, MakespanOfTheFirstStep) {
  const auto results = answer(head(1, 0) + kCluster + two(", start: 5 ms"));
  EXPECT_NEAR(step_ms(of(results, "a")), 25, 1e-6);
  EXPECT_NEAR(step_ms(of(results, "b")), 25, 1e-6);
  // A third job that begins when a's pull is over meets b alone. b: 5 -> 15 at a half, 15 -> 25 at a half; c: 15 -> 25
  // at a half, the rest alone.
  const auto three = answer(head(1, 0) + kCluster +
                            "jobs: [{name: a, policy: fifo}, {name: b, policy: fifo, servers_on: a, start: 5 ms}, "
                            "{name: c, policy: fifo, servers_on: a, start: 15 ms}]\n");
  EXPECT_NEAR(step_ms(of(three, "a")), 25, 1e-6);
  EXPECT_NEAR(step_ms(of(three, "b")), 30, 1e-6);
}

// What crosses the uplink of a rack: workers in rack 1, servers in rack 0; the link of both jobs is rack 0's uplink.
TEST(Jobs, OneUplinkOfARack) {
  const std::string racks =
      "cluster: {workers: {nic: 10 Gbit/s}, servers: {nic: 10 Gbit/s}, network: {topology: racks, racks: {count: 2, "
      "uplink: 1 Gbit/s}, workers_at: [1, 1], servers_at: [0, 0]}}\n";
  const auto results = answer(head(6, 2) + racks + "jobs: [{name: a, policy: fifo}, {name: b, policy: fifo}]\n");
  for (const char* job : {"a", "b"}) {
    EXPECT_NEAR(step_ms(of(results, job)), 30, 1e-6);
    EXPECT_EQ(of(results, job).job->contended.substr(0, 4), "rack");
  }
  // In racks of their own they do not meet.
  const std::string apart = "workers_at: [1, 0], servers_at: [1, 0]}}\n";
  const auto free = answer(head(6, 2) + racks.substr(0, racks.find("workers_at")) + apart +
                           "jobs: [{name: a, policy: fifo}, {name: b, policy: fifo}]\n");
  for (const char* job : {"a", "b"}) {
    EXPECT_NEAR(step_ms(of(free, job)), 11, 1e-6);
    EXPECT_EQ(of(free, job).job->slowdown->mean, 1);
    EXPECT_EQ(of(free, job).job->contended, "");
  }
}

// Two ring all-reduces of two workers on the same two hosts: 2 x 1/2 of 10 ms alone, twice that in company.
TEST(Jobs, TwoAllReducesOnTheSameHosts) {
  const auto results = answer(head(6, 2, "training") + "training: {exchange: all_reduce}\n" +
                              "cluster: {workers: {count: 2, nic: 1 Gbit/s}}\n"
                              "jobs: [{name: a, policy: fifo}, {name: b, policy: fifo, workers_on: a}]\n");
  for (const char* job : {"a", "b"}) {
    EXPECT_NEAR(1e3 * *of(results, job).job->alone_s.value, 20, 1e-3);
    EXPECT_NEAR(step_ms(of(results, job)), 30, 1e-3);
  }
}

std::string mixed(const std::string& jobs) {
  return "stretto: 1\nruns: {iterations: 6, warm_up: 2, replications: 2}\nnoise: {compute_cv: 5 %}\n"
         "cluster: {workers: {count: 2, nic: 2 Gbit/s}, servers: {nic: 2 Gbit/s}, network: {latency: 20 us}}\n"
         "workload: {file: " +
         source_path("tests/fixtures/toy_chain.workload.json") + "}\njobs: [" + jobs + "]\n";
}

// Nor does an order of the jobs change what is drawn for them, nor their company what they draw alone.
TEST(Jobs, PermutationChangesNothing) {
  const std::string a = "{name: a, policy: random}";
  const std::string b = "{name: b, policy: tic, start: 3 ms, training: {synchronization: async}}";
  const std::string c = "{name: c, start: 1 ms, policy: random, training: {barrier: false}, workers_on: b}";
  const auto one = answer(mixed(a + ", " + b + ", " + c));
  const auto other = answer(mixed(b + ", " + c + ", " + a));
  const auto alone = answer(mixed(a));
  for (const char* job : {"a", "b", "c"}) {
    const PolicyResult& x = of(one, job);
    const PolicyResult& y = of(other, job);
    EXPECT_NEAR(step_ms(x), step_ms(y), 1e-6) << job;
    EXPECT_NEAR(x.job->slowdown->mean, y.job->slowdown->mean, 1e-8) << job;
    EXPECT_EQ(x.job->contended, y.job->contended) << job;
    EXPECT_EQ(*x.job->alone_s.value, *y.job->alone_s.value) << job;
  }
  EXPECT_GT(of(one, "b").job->slowdown->mean, 1);
  EXPECT_EQ(of(one, "a").job->slowdown->mean, 1) << "a shares nothing";
  EXPECT_EQ(of(alone, "a").step_time.estimate.mean, of(one, "a").step_time.estimate.mean);
}

// Without draws a job alone is the experiment that it would be by itself.
TEST(Jobs, AloneIsThePlainExperiment) {
  const std::string plain =
      "stretto: 1\nruns: {iterations: 6, warm_up: 2, replications: 1}\npolicies: [fifo, tac]\n"
      "cluster: {workers: {count: 3, nic: 2 Gbit/s}, servers: {count: 2, nic: 1 Gbit/s}, "
      "network: {latency: 20 us}}\nworkload: {file: " +
      source_path("tests/fixtures/toy_chain.workload.json") + "}\n";
  for (const char* training : {"{}", "{barrier: false}", "{synchronization: async}", "{synchronization: backup}",
                               "{synchronization: ssp, staleness: 0}", "{exchange: all_reduce}"}) {
    std::string base = plain + "training: " + training + "\n";
    if (std::string(training).find("all_reduce") != std::string::npos) base.replace(base.find("count: 2, "), 10, "");
    const auto expected = answer(base);
    const auto results = answer(base + "jobs: [{name: a, workload: {mode: training}}]\n");
    for (const char* policy : {"fifo", "tac"}) {
      const auto same =
          std::find_if(expected.begin(), expected.end(), [&](const auto& r) { return r.policy == policy; });
      const PolicyResult& r = of(results, "a", policy);
      EXPECT_NEAR(step_ms(r), 1e3 * same->step_time.estimate.mean, 1e-6) << training << policy;
      EXPECT_EQ(r.job->slowdown->mean, 1) << training << policy;
      if (!r.all_reduce) {
        EXPECT_EQ(r.resources.size(), same->resources.size());
      }
      EXPECT_NEAR(r.gain_over_fifo.estimate.value_or(analysis::Estimate()).mean,
                  same->gain_over_fifo.estimate.value_or(analysis::Estimate()).mean, 1e-6);
    }
  }
}

// The policies of the experiment are compared for the jobs that have none; each job's gain is over itself.
TEST(Jobs, PoliciesAreCompared) {
  const auto results = answer("policies: [tac]\n" + mixed("{name: a}, {name: b, policy: fifo, servers_on: a}"));
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(of(results, "a", "tac").policy, "tac");
  EXPECT_EQ(of(results, "b", "tac").policy, "fifo");
  EXPECT_TRUE(of(results, "b", "tac").gain_over_random.estimate);
  EXPECT_EQ(of(results, "a", "fifo").gain_over_fifo.reason, "the baseline itself");
}

TEST(Jobs, ReadsBackWhatItWrites) {
  const Experiment experiment =
      read(mixed("{name: \"a: b\", policy: {tic: {window: 2}}}, {workload: {mode: inference}, start: 2 ms}"));
  const Spec& spec = experiment.points.at(0).spec;
  EXPECT_EQ(spec.jobs.at(1).job.name, "job 2");
  EXPECT_EQ(spec.jobs[1].job.start, Duration::us(2000));
  const Experiment again = read(effective_yaml(experiment));
  EXPECT_EQ(again.points.at(0).spec, spec);
}

TEST(Jobs, RefusesWhatCannotBe) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
  };
  const auto refused = [&](const std::string& jobs) { return findings(mixed(jobs)); };
  EXPECT_TRUE(has(refused(""), "found an empty list"));
  EXPECT_TRUE(has(findings(head(2, 0) + kCluster + "jobs:\n"), "found an empty value"));
  EXPECT_TRUE(has(refused("{name: a}, {name: a}"), "two jobs are named 'a'"));
  EXPECT_TRUE(has(refused("{nam: a}"), "did you mean 'name'?"));
  EXPECT_TRUE(has(refused("{name: a, servers_on: b}, {name: b}"), "no job 'b' comes before"));
  EXPECT_TRUE(has(refused("{name: a}, {name: b, workers_on: a, cluster: {workers: {count: 3}}}"), "would need 3"));
  EXPECT_TRUE(has(refused("{name: a, cluster: {network: {latency: 1 ms}}}"), "the network is that of all jobs"));
  EXPECT_TRUE(has(refused("{name: a}, {name: b, noise: {compute_cv: 9 %}}"), "vary under two laws"));
  EXPECT_TRUE(has(refused("{name: a, policy: nonsense}"), "nonsense"));
  EXPECT_TRUE(has(refused("{name: a, cluster: {workers: {count: 0}}}"), "0"));
  EXPECT_TRUE(has(refused("{name: a, cluster: {servers: {colocated: true}}}, {name: b, workers_on: a, servers_on: a}"),
                  "would share a host"));
  EXPECT_TRUE(has(findings(head(2, 0) + "cluster: {network: {comm_compute_ratio: 1}}\njobs: [{name: a}]\n"),
                  "there are several jobs"));
  EXPECT_TRUE(has(findings(head(2, 0, "training") + "jobs: [{name: a, training: {exchange: all_reduce}, all_reduce: "
                                                    "{detail: aggregate}}]\n"),
                  "no worker can stand for all"));
  Workloads workloads;
  const Experiment experiment = read(mixed("{name: a}"));
  EXPECT_THROW(make_setup(experiment.points.at(0).spec, workloads), UserError);
  EXPECT_EQ(read(mixed("{name: a}") + "vary: {\"jobs[0].start\": [0 s, 1 ms]}\n").points.size(), 2U);
}

}  // namespace
}  // namespace stretto::experiment
