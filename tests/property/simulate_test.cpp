// SPDX-License-Identifier: Apache-2.0
// Measurements of whole experiments. The number of threads never changes a bit of them: noise, drawn orders, policies,
// and a number of replications that depends on the precision reached. And no order of any discipline ends in a
// deadlock: within a step every wait of a direction is for a lower rank or an arrival, and pulls, ops, pushes and
// updates follow each other in one sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/graph/reduce.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/random_setup.hpp"
#include "tests/support/trials.hpp"

namespace stretto::experiment {
namespace {

using plan::Discipline;

std::vector<double> figures(const analysis::Waits& w) {
  return {w.sender_not_ready, w.turn, w.service, w.wire_queue, w.wire_own, w.wire_shared};
}

void expect_equal_bits(const Measured& a, const Measured& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.means, b.means);
  EXPECT_EQ(a.straggler_effect, b.straggler_effect);
  EXPECT_EQ(a.ordering_efficiency, b.ordering_efficiency);
  ASSERT_EQ(a.resources.size(), b.resources.size());
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    EXPECT_EQ(a.resources[i].utilisation, b.resources[i].utilisation) << a.resources[i].name;
    EXPECT_EQ(a.resources[i].bytes_per_step, b.resources[i].bytes_per_step) << a.resources[i].name;
  }
  EXPECT_EQ(figures(a.pull_waits), figures(b.pull_waits));
  EXPECT_EQ(figures(a.push_waits), figures(b.push_waits));
  EXPECT_EQ(a.deadlock, b.deadlock);
}

TEST(Simulate, ThreadsNeverChangeABit) {
  Options options;
  options.shipped = source_path("configs");
  Workloads workloads;
  for (const char* barrier : {"true", "false"}) {
    const Experiment experiment = read_experiment(
        "stretto: 1\n"
        "workload: {model: vgg_16}\n"
        "cluster:\n"
        "  workers: {count: 6, nic: 10 Gbit/s, threads: 2, receive: {per_message: 50 us}}\n"
        "  servers: {count: 2, nic: 10 Gbit/s, threads: 2, send: {per_message: 50 us}}\n"
        "  network: {latency: 20 us}\n"
        "policies: [random, fifo, tac, {tac: {window: 2}}, {tic: {credit: 8 MiB, direction: both}}]\n"
        "noise: {compute_cv: 5 %, slow_workers: [{worker: 1, slowdown: 1.5}]}\n",
        "text", {std::string("training.barrier=") + barrier}, options);
    const Spec& spec = experiment.points.front().spec;
    const experiment::Setup setup = make_setup(spec, workloads);
    for (const PolicySpec& policy : spec.policies) {
      const plan::Plan plan = make_plan(setup, policy, 3);
      ASSERT_TRUE(is_random(setup, plan));
      for (const double precision : {1e-6, 0.004}) {
        SCOPED_TRACE(policy.name + " to " + std::to_string(precision));
        SimulateOptions simulate_options{4, 1, 3, 20, precision, 3, 1};
        const Measured one = simulate(setup, plan, simulate_options);
        ASSERT_FALSE(one.deadlock);
        EXPECT_TRUE(precision > 1e-3 || one.means.size() == 20);
        EXPECT_NE(one.means[0], one.means[1]);
        for (const std::size_t threads : {2, 3}) {
          simulate_options.threads = threads;
          expect_equal_bits(simulate(setup, plan, simulate_options), one);
        }
        simulate_options.seed = 4;
        EXPECT_NE(simulate(setup, plan, simulate_options).means, one.means);
      }
    }
  }
}

plan::DirectionOrder random_order(const plan::Layout& layout, RandomStream& random) {
  const auto discipline = static_cast<Discipline>(random.below(plan::kDisciplines.size()));
  plan::DirectionOrder order = test::random_order(layout, discipline, random);
  if (!plan::has_window(discipline) && (discipline != Discipline::Strict || random.below(2) == 0))
    for (std::uint32_t& rank : order.rank)
      if (random.below(5) == 0) rank = plan::kUnranked;
  return order;
}

TEST(Simulate, NoOrderEndsInADeadlock) {
  RandomStream random(1, "simulate/deadlock");
  for (const test::Trial trial : test::Trials(2000)) {
    experiment::Setup setup = test::random_setup(random);
    if (random.below(4) == 0) setup.training.input_time = Duration::us(static_cast<std::int64_t>(random.below(30)));
    if (random.below(2) == 0) setup.variation.compute_cv = 0.3;
    plan::Plan plan;
    plan.layout = setup.layout;
    plan.order = {random_order(plan.layout, random), random_order(plan.layout, random)};
    const Measured measured = simulate(setup, plan, {4, 1, 1, 1, 0.01, trial, 1});
    ASSERT_FALSE(measured.deadlock) << *measured.deadlock;
  }
}

}  // namespace
}  // namespace stretto::experiment
