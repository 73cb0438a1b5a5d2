// SPDX-License-Identifier: Apache-2.0
// The critical path of a step of any mode, cluster and order leads from its begin to its end without a gap, and its
// parts sum to the step. With all causes idealised there is no queue for a service and nothing is lost on the wire.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "experiment/run/idealise.hpp"
#include "experiment/simulate/simulate.hpp"
#include "tests/support/random_setup.hpp"
#include "tests/support/trials.hpp"

namespace stretto::experiment {
namespace {

using analysis::CriticalPath;
using analysis::PathKind;
using plan::Discipline;
using training::Synchronization;

plan::DirectionOrder random_order(const plan::Layout& layout, RandomStream& random) {
  return test::random_order(layout, static_cast<Discipline>(random.below(plan::kDisciplines.size())), random);
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
  Setup setup = test::random_setup(random);
  // Nothing idealises the queues of copy engines.
  for (cluster::Worker& worker : setup.cluster.workers)
    worker.device.copy_in = worker.device.copy_out = Bandwidth::unlimited();
  for (cluster::Server& server : setup.cluster.servers) {
    if (random.below(2) == 0) server.aggregate_rate = test::random_rate(random);
    if (random.below(4) == 0) server.on_worker = static_cast<std::uint32_t>(random.below(setup.cluster.workers.size()));
  }
  if (setup.training.mode == training::Mode::Training)
    choose_mode(setup.training, setup.cluster.workers.size(), random);
  setup.cluster.step_overhead = Duration::us(static_cast<std::int64_t>(random.below(2)));
  if (random.below(2) == 0) setup.variation.compute_cv = 0.3;
  if (random.below(4) == 0) setup.variation.slow_workers.push_back({0, 3, Time(), Time::ps(100'000'000)});
  if (random.below(4) == 0)
    setup.variation.stragglers = training::Stragglers{2, Duration::us(20), Duration::us(30), false};
  if (random.below(4) == 0) setup.variation.nics.push_back({false, 0, Time::ps(30'000'000), 0.3});
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
  for (const test::Trial trial : test::Trials(600)) {
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
