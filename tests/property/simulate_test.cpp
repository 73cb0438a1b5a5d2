// SPDX-License-Identifier: Apache-2.0
// Measurements of whole experiments. The number of threads never changes a bit of them: noise, drawn orders, policies,
// and a number of replications that depends on the precision reached. And no order of any discipline ends in a
// deadlock: within a step every wait of a direction is for a lower rank or an arrival, and pulls, ops, pushes and
// updates follow each other in one sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/graph/reduce.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::experiment {
namespace {

using plan::Discipline;

std::uint64_t trials(std::uint64_t quick) { return std::getenv("STRETTO_SOAK") != nullptr ? quick * 50 : quick; }

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
  constexpr std::array kAll{Discipline::Free,   Discipline::Unordered, Discipline::Strict,      Discipline::Priority,
                            Discipline::Credit, Discipline::Window,    Discipline::ChainWindow, Discipline::CreditSkip};
  plan::DirectionOrder order;
  order.discipline = kAll[random.below(kAll.size())];
  if (order.discipline == Discipline::Free || order.discipline == Discipline::Unordered) return order;
  order.rank = random_permutation(layout.transfers.size(), random);
  if (plan::has_credit(order.discipline)) order.credit = Bytes(static_cast<std::int64_t>(1 + random.below(40)));
  if (order.discipline == Discipline::CreditSkip)
    for (const plan::Transfer& t : layout.transfers) order.credit = std::max(order.credit, t.bytes);
  if (order.discipline == Discipline::Window || order.discipline == Discipline::ChainWindow)
    order.window = static_cast<std::uint32_t>(1 + random.below(3));
  else if (order.discipline != Discipline::Strict || random.below(2) == 0)
    for (std::uint32_t& rank : order.rank)
      if (random.below(5) == 0) rank = plan::kUnranked;
  return order;
}

Setup random_setup(RandomStream& random) {
  Setup setup;
  test::RandomGraphSpec spec;
  spec.shape = test::kShapes[random.below(test::kShapes.size())];
  spec.ops = 2 + random.below(8);
  spec.parameters = 2 + random.below(12);
  spec.training = random.below(4) != 0;
  setup.graph = std::make_shared<const graph::Graph>(test::random_graph(spec, random()));
  setup.training.mode = spec.training ? training::Mode::Training : training::Mode::Inference;
  setup.training.barrier = random.below(2) == 0;
  if (random.below(4) == 0) setup.training.input_time = Duration::us(static_cast<std::int64_t>(random.below(30)));
  const auto rate = [&] {
    return Bandwidth::bytes_per_second(static_cast<std::int64_t>(1 + random.below(8)) * 1'000'000);
  };
  const cluster::ServiceCost cost{Duration::ns(static_cast<std::int64_t>(random.below(1500))), 0};
  for (auto n = 1 + random.below(3); n > 0; --n) {
    cluster::Worker worker;
    worker.device.cores = static_cast<std::uint32_t>(1 + random.below(2));
    worker.nic = {rate(), rate()};
    worker.threads = static_cast<std::uint32_t>(random.below(3));
    worker.send = worker.receive = cost;
    setup.cluster.workers.push_back(worker);
  }
  for (auto n = 1 + random.below(3); n > 0; --n) {
    cluster::Server server;
    server.nic = {rate(), rate()};
    server.threads = static_cast<std::uint32_t>(random.below(3));
    server.send = server.receive = cost;
    setup.cluster.servers.push_back(server);
  }
  setup.cluster.network.latency = Duration::ns(static_cast<std::int64_t>(random.below(3)) * 400);
  setup.cluster.network.streams = static_cast<std::uint32_t>(random.below(4));
  setup.cluster.network.model = random.below(4) == 0 ? cluster::LinkModel::Fifo : cluster::LinkModel::Fluid;
  setup.variation.compute_cv = random.below(2) == 0 ? 0.3 : 0;
  setup.placement = "round_robin";
  place(setup);
  return setup;
}

TEST(Simulate, NoOrderEndsInADeadlock) {
  RandomStream random(1, "simulate/deadlock");
  for (std::uint64_t trial = 0; trial < trials(2000); ++trial) {
    SCOPED_TRACE(trial);
    const experiment::Setup setup = random_setup(random);
    plan::Plan plan;
    plan.layout = setup.layout;
    plan.order = {random_order(plan.layout, random), random_order(plan.layout, random)};
    const Measured measured = simulate(setup, plan, {4, 1, 1, 1, 0.01, trial, 1});
    ASSERT_FALSE(measured.deadlock) << *measured.deadlock;
  }
}

}  // namespace
}  // namespace stretto::experiment
