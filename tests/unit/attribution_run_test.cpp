// SPDX-License-Identifier: Apache-2.0
// A cause that is put into a step is found by its replays; without one, nothing is.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "experiment/run/attribution.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/idealise.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::AttributedPolicy;
using analysis::Cause;

// Three workers that compute and move beside each other: nothing is shared, first come first served is best.
struct Injected {
  std::string servers = "{}";
  std::string noise = "{}";
  std::string policy = "fifo";
};

Experiment experiment_with(const Injected& in) {
  return read_experiment("stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
                             "}\ncluster: {workers: {count: 3, nic: 10 Gbit/s}, servers: " + in.servers +
                             "}\nnoise: " + in.noise + "\npolicies: [" + in.policy +
                             "]\nruns: {iterations: 6, warm_up: 2, replications: 4}\n",
                         "injected.yaml", {}, {source_path("configs")});
}

AttributedPolicy attributed(const Injected& in) {
  analysis::AttributionResult result = attribute(experiment_with(in), {}, {});
  EXPECT_EQ(result.results.size(), 1U);
  AttributedPolicy r = result.results.front();
  EXPECT_FALSE(r.deadlock);
  double sum = r.attribution.left.share.mean;
  for (const analysis::CauseCost& c : r.attribution.causes) sum += c.cost.share.mean;
  EXPECT_NEAR(sum, 1, 1e-9);
  return r;
}

double share(const AttributedPolicy& r, Cause cause) {
  return r.attribution.causes[static_cast<std::size_t>(cause)].cost.share.mean;
}

void expect_largest(const AttributedPolicy& r, Cause cause, double at_least) {
  EXPECT_GT(share(r, cause), at_least) << cause_words(cause);
  for (std::size_t i = 0; i < analysis::kCauses; ++i)
    if (static_cast<Cause>(i) != cause) {
      EXPECT_LT(share(r, static_cast<Cause>(i)), share(r, cause) / 2) << cause_words(static_cast<Cause>(i));
    }
}

TEST(AttributionRun, NothingIsFoundWhereNothingIs) {
  const AttributedPolicy r = attributed({});
  for (std::size_t i = 0; i < analysis::kCauses; ++i)
    EXPECT_NEAR(share(r, static_cast<Cause>(i)), 0, 1e-9) << cause_words(static_cast<Cause>(i));
  EXPECT_NEAR(r.attribution.left.share.mean, 1, 1e-9);
  EXPECT_EQ(r.best_order, "fifo");
}

TEST(AttributionRun, ASlowWorkerIsFound) {
  expect_largest(attributed({.noise = "{slow_workers: [{worker: 1, slowdown: 2}]}"}), Cause::SlowWorkers, 0.3);
}

TEST(AttributionRun, OnOffStragglersAreFound) {
  expect_largest(attributed({.noise = "{stragglers: {slowdown: 3, mean_on: 100 ms, mean_off: 200 ms}}"}),
                 Cause::SlowWorkers, 0.2);
}

TEST(AttributionRun, ASlowLinkIsFound) {
  const AttributedPolicy r = attributed({.noise = "{nics: [{worker: 2, factor: 0.1}]}"});
  expect_largest(r, Cause::Links, 0.3);
  EXPECT_GT(r.path.total_s[static_cast<std::size_t>(analysis::PathKind::WireShared)], 0.25 * r.path.step_s);
}

TEST(AttributionRun, ASharedLinkIsFound) {
  expect_largest(attributed({.servers = "{nic: 2 Gbit/s}"}), Cause::Links, 0.3);
}

TEST(AttributionRun, ABadOrderIsFound) {
  // At this rate a pull takes about as long as its op, so that the order decides what overlaps.
  Experiment e = experiment_with({.policy = "reverse"});
  const Bandwidth rate = Bandwidth::bytes_per_second(500'000'000);
  for (Point& p : e.points) p.spec.cluster.workers.nic = {rate, rate};
  const AttributedPolicy r = attribute(e, {}, {}).results.front();
  expect_largest(r, Cause::Order, 0.02);
  EXPECT_NE(r.best_order, "reverse");
}

TEST(AttributionRun, AnOverloadedServerIsFound) {
  expect_largest(attributed({.servers = "{threads: 1, receive: {per_message: 2 ms}}"}), Cause::Servers, 0.2);
}

TEST(AttributionRun, SlowUpdatesOnOneThreadAreFound) {
  expect_largest(attributed({.servers = "{threads: 1, update_rate: 4 Gbit/s, aggregate_rate: 4 Gbit/s}"}),
                 Cause::Servers, 0.2);
}

TEST(AttributionRun, NoiseIsFound) {
  const AttributedPolicy r = attributed({.noise = "{compute_cv: 0.5}"});
  expect_largest(r, Cause::Noise, 0.1);
  EXPECT_GT(r.attribution.replications, 1);
}

// The replay without idealisation is the run.
TEST(AttributionRun, TheWholeIsTheStepOfTheRun) {
  const Experiment e = experiment_with({.servers = "{nic: 5 Gbit/s, threads: 2, receive: {per_message: 100 us}}",
                                        .noise = "{compute_cv: 0.2, slow_workers: [{worker: 0, slowdown: 1.5}]}",
                                        .policy = "random"});
  Workloads workloads;
  const Spec& spec = e.points.front().spec;
  const experiment::Setup setup = make_setup(spec, workloads);
  const SimulateOptions options = simulate_options(spec.runs, 2);
  const plan::Plan plan = make_plan(setup, spec.policies.front(), 1);
  const Replays replays = replay_causes(setup, {plan}, options);
  EXPECT_EQ(replays.times[analysis::kNoCause], simulate(setup, plan, options).means);
}

TEST(Idealise, TakesAwayWhatItSaysAndNothingElse) {
  training::VariationSpec v;
  v.compute_cv = 0.1;
  v.stragglers = training::Stragglers{2, Duration::ms(1), Duration::ms(1), false};
  v.slow_workers.push_back({0, 2, Time(), Time::never()});
  v.nics.push_back({true, 0, Time(), 0.5});
  EXPECT_EQ(idealise(v, analysis::kNoCause), v);
  EXPECT_TRUE(idealise(v, analysis::kAllCauses).none());
}

TEST(AttributionRun, SaysWhetherStartOffsetsCount) {
  const AttributedPolicy r = attributed({.servers = "{nic: 2 Gbit/s}"});
  EXPECT_FALSE(r.start_offsets);
  EXPECT_TRUE(r.may_be_staggered);
  Experiment e = experiment_with({.servers = "{nic: 2 Gbit/s}", .policy = "fifo, staggered"});
  EXPECT_TRUE(attribute(e, {}, {}).results.front().start_offsets);
  for (Point& p : e.points) p.spec.cluster.workers.count = 1;
  EXPECT_FALSE(attribute(e, {}, {}).results.front().may_be_staggered);
}

TEST(AttributionRun, PoliciesAreChosenByName) {
  const Experiment e = experiment_with({.policy = "fifo, {tac: {window: 2}}, tac"});
  EXPECT_EQ(attribute(e, {}, {}).results.front().policy, "fifo");
  EXPECT_EQ(attribute(e, {"tac"}, {}).results.size(), 2U);
  EXPECT_EQ(attribute(e, {"tac(window=2)"}, {}).results.front().policy, "tac(window=2)");
  EXPECT_THROW(attribute(e, {"tca"}, {}), UserError);
}

}  // namespace
}  // namespace stretto::experiment
