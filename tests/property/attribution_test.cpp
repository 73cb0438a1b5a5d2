// SPDX-License-Identifier: Apache-2.0
// The critical path of a step of any mode, cluster and order leads from its begin to its end without a gap, and its
// parts sum to the step. With all causes idealised there is no queue for a service and nothing is lost on the wire.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "experiment/run/idealise.hpp"
#include "experiment/simulate/simulate.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::experiment {
namespace {

using analysis::CriticalPath;
using analysis::PathKind;
using plan::Discipline;
using training::Synchronization;

std::uint64_t trials(std::uint64_t quick) { return std::getenv("STRETTO_SOAK") != nullptr ? quick * 50 : quick; }

plan::DirectionOrder random_order(const plan::Layout& layout, RandomStream& random) {
  constexpr std::array kAll{Discipline::Free,   Discipline::Unordered, Discipline::Strict,     Discipline::Priority,
                            Discipline::Credit, Discipline::Window,    Discipline::ChainWindow};
  plan::DirectionOrder order;
  order.discipline = kAll[random.below(kAll.size())];
  if (order.discipline == Discipline::Free || order.discipline == Discipline::Unordered) return order;
  order.rank = random_permutation(layout.transfers.size(), random);
  if (order.discipline == Discipline::Credit) order.credit = Bytes(static_cast<std::int64_t>(1 + random.below(40)));
  if (order.discipline == Discipline::Window || order.discipline == Discipline::ChainWindow)
    order.window = static_cast<std::uint32_t>(1 + random.below(3));
  return order;
}

void choose_mode(training::Options& o, std::size_t workers, RandomStream& random) {
  constexpr std::array kModes{Synchronization::Sync, Synchronization::Async, Synchronization::Ssp,
                              Synchronization::Backup};
  o.synchronization = kModes[random.below(kModes.size())];
  o.barrier = o.synchronization == Synchronization::Backup ||
              (o.synchronization == Synchronization::Sync && random.below(2) == 0);
  o.staleness = static_cast<std::uint32_t>(random.below(3));
  if (o.synchronization == Synchronization::Backup) o.backups = static_cast<std::uint32_t>(random.below(workers));
  o.passes = static_cast<std::uint32_t>(1 + random.below(2));
  if (o.synchronization != Synchronization::Backup && random.below(4) == 0)
    o.input_time = Duration::us(static_cast<std::int64_t>(1 + random.below(30)));
}

Setup random_setup(RandomStream& random) {
  Setup setup;
  test::RandomGraphSpec spec;
  spec.shape = test::kShapes[random.below(test::kShapes.size())];
  spec.ops = 2 + random.below(8);
  spec.parameters = 2 + random.below(12);
  spec.training = random.below(4) != 0;
  setup.graph = std::make_shared<const graph::Graph>(test::random_graph(spec, random()));
  const auto rate = [&] {
    return Bandwidth::bytes_per_second(static_cast<std::int64_t>(1 + random.below(8)) * 1'000'000);
  };
  const cluster::ServiceCost cost{Duration::ns(static_cast<std::int64_t>(random.below(1500))), 0};
  for (auto n = 1 + random.below(3); n > 0; --n) {
    cluster::Worker worker;
    worker.device.cores = static_cast<std::uint32_t>(1 + random.below(2));
    worker.device.speed = 1 + static_cast<double>(random.below(2));
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
    if (random.below(2) == 0) server.update_rate = rate();
    if (random.below(2) == 0) server.aggregate_rate = rate();
    if (random.below(4) == 0) server.on_worker = static_cast<std::uint32_t>(random.below(setup.cluster.workers.size()));
    setup.cluster.servers.push_back(server);
  }
  setup.training.mode = spec.training ? training::Mode::Training : training::Mode::Inference;
  if (spec.training)
    choose_mode(setup.training, setup.cluster.workers.size(), random);
  else
    setup.training.barrier = random.below(2) == 0;
  setup.cluster.network.latency = Duration::ns(static_cast<std::int64_t>(random.below(3)) * 400);
  setup.cluster.network.streams = static_cast<std::uint32_t>(random.below(4));
  setup.cluster.network.model = random.below(4) == 0 ? cluster::LinkModel::Fifo : cluster::LinkModel::Fluid;
  setup.cluster.step_overhead = Duration::us(static_cast<std::int64_t>(random.below(2)));
  if (random.below(2) == 0) setup.variation.compute_cv = 0.3;
  if (random.below(4) == 0) setup.variation.slow_workers.push_back({0, 3, Time(), Time::ps(100'000'000)});
  if (random.below(4) == 0)
    setup.variation.stragglers = training::Stragglers{2, Duration::us(20), Duration::us(30), false};
  if (random.below(4) == 0) setup.variation.nics.push_back({false, 0, Time::ps(30'000'000), 0.3});
  setup.placement = "round_robin";
  place(setup);
  return setup;
}

void expect_whole(const CriticalPath& path) {
  Time at = path.begin;
  Duration sum;
  for (const analysis::PathLink& link : path.links) {
    ASSERT_EQ(link.from, at);
    Duration parts;
    for (const Duration d : link.parts) {
      ASSERT_GE(d, Duration());
      parts += d;
    }
    ASSERT_EQ(parts, link.to - link.from);
    at = link.to;
    sum += parts;
  }
  ASSERT_EQ(at, path.end);
  ASSERT_EQ(sum, path.end - path.begin);
}

TEST(CriticalPath, LeadsThroughTheStepWithoutAGap) {
  RandomStream random(1, "attribution/path");
  for (std::uint64_t trial = 0; trial < trials(600); ++trial) {
    SCOPED_TRACE(trial);
    const experiment::Setup setup = random_setup(random);
    plan::Plan plan;
    plan.layout = setup.layout;
    plan.order = {random_order(plan.layout, random), random_order(plan.layout, random)};
    const SimulateOptions options{5, static_cast<std::uint32_t>(random.below(4)), 1, 1, 0.01, trial, 1};
    const training::Compiled compiled = training::compile(*setup.graph, setup.cluster, plan.layout, setup.training);
    const CriticalPath path = step_path(setup, plan, compiled, options);
    expect_whole(path);
    if (HasFatalFailure()) return;
    const Measured measured = simulate(setup, plan, options);
    if (compiled.barrier) {
      EXPECT_NEAR(measured.steps[0][0], (path.end - path.begin).seconds(), 1e-15);
    }
    EXPECT_EQ(replay(setup, plan, compiled, options, 0).mean_step, measured.means[0]);

    const experiment::Setup ideal = idealise(setup, analysis::kAllCauses);
    training::Compiled program = training::compile(*ideal.graph, ideal.cluster, plan.layout, ideal.training);
    idealise(program, analysis::kAllCauses);
    const CriticalPath left = step_path(ideal, plan, program, options);
    expect_whole(left);
    if (HasFatalFailure()) return;
    const analysis::PathParts total = left.total();
    EXPECT_EQ(total[static_cast<std::size_t>(PathKind::ServiceQueue)], Duration());
    EXPECT_EQ(total[static_cast<std::size_t>(PathKind::Slowed)], Duration());
    if (setup.cluster.network.model == cluster::LinkModel::Fluid && setup.cluster.network.streams == 1) {
      EXPECT_LE(total[static_cast<std::size_t>(PathKind::WireShared)],
                Duration::ps(2 * static_cast<std::int64_t>(left.links.size())));
    }
  }
}

}  // namespace
}  // namespace stretto::experiment
