// SPDX-License-Identifier: Apache-2.0
// Background traffic that comes and goes, from the text of an experiment to its answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiment/run/attribution.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/search/evaluator.hpp"
#include "experiment/simulate/simulate.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::PolicyResult;
using analysis::ResourceUse;

// One variable: 10 ms of transfer at 1 Gbit/s, and an op of 10 ms.
std::string text(const std::string& runs, const std::string& network, const std::string& more = "",
                 const std::string& nic = "1 Gbit/s") {
  return fmt::format(
      "stretto: 1\nworkload: {{file: {}, mode: inference}}\nruns: {{{}}}\ncluster: {{workers: {{nic: unlimited}}, "
      "servers: {{nic: {}}}, network: {{{}}}}}\npolicies: [fifo]\n{}",
      source_path("tests/fixtures/one_variable.workload.json"), runs, nic, network, more);
}

std::string bursts(const std::string& entry, const std::string& more = "") {
  return "background: [{from: server 0, to: worker 0, " + entry + "}]" + more;
}

Experiment read(const std::string& experiment) {
  return read_experiment(experiment, "background.yaml", {}, {source_path("configs")});
}

PolicyResult answer(const std::string& experiment) {
  RunOptions options;
  options.threads = 2;
  return run(read(experiment), options, {}).result.results.back();
}

double step_ms(const std::string& experiment) { return 1e3 * answer(experiment).step_time.estimate.mean; }

std::string findings(const std::string& experiment) {
  try {
    answer(experiment);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "";
}

bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

const std::string kOne = "iterations: 1, warm_up: 0, replications: 1";

// A burst of b alone takes b / C, beside the pull twice that. In a pause of p the pull moves for p, in a burst for
// b / C: p + b / C of its 10 ms in each cycle of p + 2 b / C; what is left at the end goes in the pause.
TEST(Background, FixedBurstsBesideOneTransfer) {
  struct Case {
    double burst_ms, pause_ms;  // b / C, p
  };
  for (const auto& [burst, pause] : {Case{1, 2}, Case{0.5, 3}, Case{2, 1}, Case{1, 0}, Case{1, 20}}) {
    double work = 10, time = 0;
    for (;; work -= pause + burst, time += pause + 2 * burst) {
      if (work <= pause) {
        time += work;
        break;
      }
      if (work < pause + burst) {
        time += pause + 2 * (work - pause);
        break;
      }
    }
    const std::string network = bursts(fmt::format("burst: {} B, pause: {} us", burst * 125'000, pause * 1000));
    EXPECT_NEAR(step_ms(text(kOne, network)), time + 10, 1e-6) << burst << " " << pause;
  }
  EXPECT_NEAR(step_ms(text(kOne, "latency: 0 us")), 20, 1e-6);
}

// In a FIFO network bursts queue like messages: begun at 1.4 ms, the first waits for the pull until 10 ms; the one that
// begins at 19.6 ms holds up the second pull until 20.6 ms.
TEST(Background, BurstsQueueAtFifoLinks) {
  const std::string network = bursts("burst: 125000 B, pause: 1400 us", ", model: fifo");
  EXPECT_NEAR(step_ms(text(kOne, network)), 20, 1e-6);
  EXPECT_NEAR(step_ms(text("iterations: 2, warm_up: 1, replications: 1", network)), 20.6, 1e-6);
}

// A pull that lasts for many cycles gets (p + b / C) / (p + 2 b / C) of the link, whatever the law of the pauses.
TEST(Background, LongTransfersGetTheirMeanShare) {
  const std::string runs = "iterations: 12, warm_up: 2, replications: 4";
  for (const char* times : {"fixed", "exponential"})
    for (const double pause : {0.1, 0.3}) {
      // 1 Mbit/s: the pull alone takes 10 s, a burst 0.1 s.
      const std::string network = bursts(fmt::format("burst: 12500 B, pause: {} ms, times: {}", 1000 * pause, times));
      const double share = (pause + 0.1) / (pause + 0.2);
      const PolicyResult r = answer(text(runs, network, "", "1 Mbit/s"));
      EXPECT_NEAR(10 / (r.step_time.estimate.mean - 0.01), share, 0.015 * share) << times << pause;
      EXPECT_EQ(r.step_time.n, std::string(times) == "fixed" ? 1 : 4);
      // The link is busy but for the op and the pauses in it; the bytes are those of the pull.
      const auto nic = std::find_if(r.resources.begin(), r.resources.end(),
                                    [](const ResourceUse& u) { return u.name == "server 0 NIC up"; });
      ASSERT_NE(nic, r.resources.end());
      EXPECT_GT(nic->utilisation, 0.99);
      EXPECT_EQ(nic->bytes_per_step, 1'250'000);
      EXPECT_NEAR(*r.lower_bound_s.value, 10.01, 1e-6);
    }
}

// Other draws with another seed, the same with the same one.
TEST(Background, PausesAreDrawnFromTheSeed) {
  const std::string network = bursts("burst: 200 kB, pause: 3 ms, times: exponential");
  const auto steps = [&](int seed) {
    return answer(text(fmt::format("iterations: 9, warm_up: 1, replications: 2, seed: {}", seed), network))
        .step_time.estimate.mean;
  };
  EXPECT_EQ(steps(1), steps(1));
  EXPECT_NE(steps(1), steps(2));
}

// A job alone on the same network is the plain experiment; in company it draws the same pauses as alone.
TEST(Background, SeveralJobsMeetTheSameBursts) {
  const std::string runs = "iterations: 6, warm_up: 2, replications: 2";
  const auto of_job = [](const std::string& entry) {
    return "background: [{from: a server 0, to: a worker 0, " + entry + "}]";
  };
  const std::string fixed = "burst: 200 kB, pause: 3 ms";
  const PolicyResult plain = answer(text(runs, bursts(fixed)));
  const auto jobs = [&](const std::string& entry, const std::string& list) {
    return run(read(text(runs, of_job(entry), "jobs: [" + list + "]\n")), {}, {}).result.results;
  };
  const auto alone = jobs(fixed, "{name: a, policy: fifo}");
  EXPECT_EQ(alone.back().step_time.estimate.mean, plain.step_time.estimate.mean);
  EXPECT_GT(plain.step_time.estimate.mean, 0.0205);
  const auto apart = jobs(fixed + ", times: exponential", "{name: a, policy: fifo}, {name: b, policy: fifo}");
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(apart[0].job->slowdown->mean, 1) << "b shares nothing with a";
  EXPECT_GT(apart[0].step_time.estimate.mean, 0.0205);
  EXPECT_NEAR(apart[1].step_time.estimate.mean, 0.02, 1e-9) << "bursts cross a's links only";
  const auto together = jobs(fixed, "{name: a, policy: fifo}, {name: b, policy: fifo, servers_on: a}");
  EXPECT_GT(together[1].job->slowdown->mean, 1.2);
}

// What the search measures is the step of the plan under the same bursts.
TEST(Background, TheSearchMeetsTheSameBursts) {
  const Experiment e = read(text("iterations: 9, warm_up: 3, replications: 1", bursts("burst: 200 kB, pause: 3 ms")));
  Workloads workloads;
  const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
  const plan::Plan plan = make_plan(setup, e.points[0].spec.policies[0], 1);
  EvaluatorOptions options;
  options.iterations = 9;
  options.warm_up = 3;
  const double found = make_engine_evaluator(setup, options)->evaluate(plan.order, search::kAbove).seconds();
  EXPECT_NEAR(found, simulate(setup, plan, {9, 3}).mean(), 1e-11);
  EXPECT_EQ(make_closed_form_evaluator(setup), nullptr);
}

// Bursts are link contention, all of it here.
TEST(Background, AttributionCallsBurstsLinkContention) {
  const Experiment e = read(text("iterations: 6, warm_up: 2, replications: 1", bursts("burst: 200 kB, pause: 3 ms")));
  Workloads workloads;
  const experiment::Setup setup = make_setup(e.points[0].spec, workloads);
  const Replays replays = replay_causes(setup, {make_plan(setup, e.points[0].spec.policies[0], 1)}, {6, 2}, {});
  const auto mean = [&](analysis::CauseSet set) { return replays.times.at(set).front(); };
  const auto links = analysis::CauseSet{1} << static_cast<unsigned>(analysis::Cause::Links);
  EXPECT_GT(mean(0), 0.0205);
  EXPECT_NEAR(mean(links), 0.02, 1e-9);
  EXPECT_NEAR(mean(analysis::kAllCauses), 0.02, 1e-9);
}

// Bursts between other hosts of a larger cluster: one worker alone, the base of scaling, lacks some of their links.
TEST(Background, OneWorkerAloneMeetsWhatIsLeft) {
  const std::string cluster =
      "stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
      "}\nruns: {iterations: 4, warm_up: 1, replications: 1}\npolicies: [fifo]\ncluster: {workers: {count: 3, nic: 1 "
      "Gbit/s}, servers: {count: 2, nic: 10 Gbit/s}, network: {background: [";
  const auto scaling = [&](const std::string& entries) {
    return *answer(cluster + entries + "]}}\n").scaling_efficiency.value;
  };
  const double free = scaling("");
  EXPECT_LT(scaling("{from: worker 1, to: worker 2, burst: 1 MB, pause: 0 us}"), 0.9 * free)
      << "the worker alone meets none of it";
  EXPECT_LT(scaling("{from: server 0, to: worker 2, burst: 1 MB, pause: 0 us}"), 0.9 * free)
      << "what worker 2's NIC lets through leaves the server enough for one worker";
}

TEST(Background, WhatMakesNoSenseIsRefused) {
  const auto found = [](const std::string& entry, const std::string& nic = "1 Gbit/s") {
    return findings(text(kOne, bursts(entry), "", nic));
  };
  EXPECT_TRUE(has(found("burst: 1 MB"), "'pause' is missing")) << found("burst: 1 MB");
  EXPECT_TRUE(has(found("burst: 1 MB, pause: 1 ms, rate: 1 Mbit/s"), "both rate and burst are given"));
  EXPECT_TRUE(has(found("rate: 1 Mbit/s, pause: 1 ms"), "means nothing without burst"));
  EXPECT_TRUE(has(found("rate: 1 Mbit/s, times: fixed"), "means nothing without burst"));
  EXPECT_TRUE(has(found("burst: 0 B, pause: 1 ms"), "a burst of nothing"));
  EXPECT_TRUE(has(found("burst: 1 MB, pause: 1 ms, times: often"), "often"));
  EXPECT_TRUE(has(found("burst: 1 MB, pause: 1 ms", "unlimited"), "has a limit, so that a burst takes no time"));
  EXPECT_TRUE(has(found("burst: 10 B, pause: 0 us"), "a burst and its pause take 80 ns alone"))
      << found("burst: 10 B, pause: 0 us");
  EXPECT_EQ(found("burst: 125 B, pause: 0 us"), "");
  const std::string ratio = "stretto: 1\nworkload: {file: " + source_path("tests/fixtures/one_variable.workload.json") +
                            "}\nruns: {iterations: 2, warm_up: 0, replications: 1}\npolicies: [fifo]\n"
                            "cluster: {network: {comm_compute_ratio: 1, background: [{from: server 0, to: worker 0, ";
  EXPECT_EQ(findings(ratio + "burst: 1 MB, pause: 1 ms}]}}\n"), "");
  EXPECT_TRUE(has(findings(ratio + "burst: 1 B, pause: 0 us}]}}\n"), "a burst and its pause take"));
  EXPECT_TRUE(has(findings(ratio + "rate: 1 Mbit/s}]}}\n"), "give NIC rates in place of it"));
}

}  // namespace
}  // namespace stretto::experiment
