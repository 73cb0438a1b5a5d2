// SPDX-License-Identifier: Apache-2.0
// Sharing modes that are equal by definition give equal times, on random graphs and clusters.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "experiment/bounds/bounds.hpp"
#include "experiment/bounds/step_facts.hpp"
#include "models/placement/placement.hpp"
#include "models/training/compile.hpp"
#include "models/training/variation.hpp"
#include "schedulers/policies/registry.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto {
namespace {

using training::Options;
using training::Synchronization;

constexpr std::uint32_t kSteps = 8;

struct Case {
  graph::Graph graph;
  cluster::Cluster cluster;
  plan::Layout layout;
  std::string policy;
  training::VariationSpec variation;
  std::uint64_t seed = 0;
};

Case random_case(std::uint64_t seed, std::uint32_t most_workers, bool updates) {
  RandomStream random(seed, "tests/property/modes");
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.below(n + 1)); };
  Case c;
  c.seed = seed;
  c.graph = test::random_graph({test::kShapes[random.below(4)], 1 + random.below(7), 1 + random.below(6), true}, seed);
  const auto rate = [&] {
    return random.below(4) == 0 ? Bandwidth::unlimited() : Bandwidth::bytes_per_second(1'000'000 * (1 + upto(3)));
  };
  for (std::int64_t w = 1 + upto(most_workers - 1); w > 0; --w) {
    cluster::Worker worker;
    worker.nic = {rate(), rate()};
    worker.device.speed = 1 + static_cast<double>(upto(2));
    worker.threads = static_cast<std::uint32_t>(upto(2));
    if (random.below(2) == 0) worker.receive.per_message = Duration::us(upto(2));
    c.cluster.workers.push_back(worker);
  }
  for (std::int64_t s = 1 + upto(2); s > 0; --s) {
    cluster::Server server;
    server.nic = {rate(), rate()};
    server.threads = static_cast<std::uint32_t>(upto(2));
    if (random.below(2) == 0) server.send = {Duration::us(upto(2)), 1e5 * static_cast<double>(upto(2))};
    if (random.below(2) == 0) server.receive = {Duration::us(upto(2)), 0};
    if (updates && random.below(2) == 0) server.update_rate = Bandwidth::bytes_per_second(4'000'000);
    if (random.below(3) == 0) server.on_worker = static_cast<std::uint32_t>(random.below(c.cluster.workers.size()));
    c.cluster.servers.push_back(server);
  }
  c.cluster.network.latency = Duration::us(upto(3));
  c.cluster.step_overhead = Duration::us(upto(1) * 7);
  const auto servers = static_cast<std::uint32_t>(c.cluster.servers.size());
  c.layout = placement::place(random.below(2) == 0 ? "round_robin" : "partitioned", c.graph, servers);
  c.policy = random.below(2) == 0 ? "fifo" : "random";
  if (random.below(2) == 0) c.variation.compute_cv = 0.3;
  if (random.below(3) == 0)
    for (auto& worker : c.cluster.workers) {
      worker.device.order = cluster::OpOrder::Priority;
      worker.device.copy_in = worker.device.copy_out = rate();
    }
  if (random.below(3) == 0) c.variation.slow_workers = {{0, 2.5, Time(), Time::never()}};
  return c;
}

// A last backward op behind all others, so that nothing of a step comes after its last gradient.
void close(graph::Graph& g) {
  std::vector<bool> last(g.ops.size(), true);
  for (const graph::Op& op : g.ops)
    for (const graph::OpId input : op.inputs) last[input.index()] = false;
  graph::Op end{"end", graph::Phase::Backward, Duration::us(1), {}, {}};
  for (std::size_t o = 0; o < g.ops.size(); ++o)
    if (last[o]) end.inputs.emplace_back(o);
  g.parameters.push_back({"end", Bytes(4), true, graph::OpId(g.ops.size())});
  end.reads = {graph::ParameterId(g.parameters.size() - 1)};
  g.ops.push_back(end);
}

// Times of all markers.
std::vector<std::vector<Time>> times(const Case& c, const Options& options) {
  const auto order = policies::make_order(
      c.policy,
      {c.graph, c.layout, std::vector<Duration>(c.graph.parameters.size(), Duration::us(1)), c.seed, true, {}});
  const auto compiled = training::compile(c.graph, c.cluster, c.layout, options);
  const auto table = training::compile_order(compiled, c.layout, order, c.seed);
  const auto variation = training::compile_variation(compiled, c.variation, c.seed);
  program::Simulation simulation(compiled.program, table, kSteps, &variation);
  EXPECT_EQ(simulation.run(), program::Status::Reached);
  std::vector<std::vector<Time>> result;
  for (std::size_t m = 0; m < compiled.program.markers.size(); ++m) result.push_back(simulation.marker_times(m));
  return result;
}

// Those of the workers' arrivals.
std::vector<std::vector<Time>> arrivals(const Case& c, const Options& options) {
  auto all = times(c, options);
  if (options.synchronization == Synchronization::Sync) all.erase(all.begin());
  return all;
}

Options mode(Synchronization synchronization, std::uint32_t staleness = 0) {
  Options o;
  o.synchronization = synchronization;
  o.staleness = staleness;
  return o;
}

// An update for each gradient costs what one for all does only if it costs nothing.
TEST(Modes, SspWithoutLeadIsSyncWithABarrier) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Case c = random_case(seed, 4, false);
    c.policy = "tic";  // drawn orders differ: both modes number their messages in another way
    EXPECT_TRUE(arrivals(c, mode(Synchronization::Ssp, 0)) == arrivals(c, mode(Synchronization::Sync)))
        << "seed " << seed;
  }
}

TEST(Modes, SspWithoutBoundIsAsync) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = random_case(seed, 4, true);
    const auto free = arrivals(c, mode(Synchronization::Async));
    EXPECT_TRUE(arrivals(c, mode(Synchronization::Ssp, kSteps)) == free) << "seed " << seed;
    EXPECT_TRUE(arrivals(c, mode(Synchronization::Ssp, 1'000'000)) == free) << "seed " << seed;
  }
}

TEST(Modes, OneAsyncWorkerIsOneSyncWorker) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Case c = random_case(seed, 1, true);
    c.policy = "tic";
    const std::vector<Time> steps = times(c, mode(Synchronization::Sync))[0];
    EXPECT_TRUE(times(c, mode(Synchronization::Async))[0] == steps) << "seed " << seed;
    EXPECT_TRUE(times(c, mode(Synchronization::Local))[0] == steps) << "seed " << seed;
  }
}

TEST(Modes, WithoutBackupsEveryGradientCounts) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Case c = random_case(seed, 4, true);
    close(c.graph);
    c.layout = placement::place("round_robin", c.graph, static_cast<std::uint32_t>(c.cluster.servers.size()));
    EXPECT_TRUE(times(c, mode(Synchronization::Backup))[0] == times(c, mode(Synchronization::Sync))[0])
        << "seed " << seed;
  }
}

// The bound of several passes (experiment/bounds/bounds.hpp).
TEST(Modes, NoStepOfSeveralPassesIsShorterThanItsBound) {
  std::size_t tight = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Case c = random_case(seed, 3, true);
    for (auto& s : c.cluster.servers) s.on_worker.reset();
    c.variation = {};
    for (const bool barrier : {true, false}) {
      experiment::Setup setup;
      setup.graph = std::make_shared<const graph::Graph>(c.graph);
      setup.cluster = c.cluster;
      setup.training.passes = 1 + static_cast<std::uint32_t>(seed % 4);
      setup.training.barrier = barrier;
      setup.layout = c.layout;
      const bounds::Bound bound = experiment::layout_bound(setup, c.layout);
      const bounds::Bound any = experiment::any_layout_bound(setup);
      bounds::Facts of_order = experiment::step_facts(setup);
      of_order.one_order = of_order.alike = true;
      EXPECT_EQ(experiment::any_layout_bound(setup, of_order).value, any.value) << "seed " << seed;
      ASSERT_TRUE(bound.value && any.value) << bound.reason << any.reason;
      const std::vector<Time> ends = times(c, setup.training)[0];
      const Duration mean = Duration::ps((ends[kSteps - 1] - ends[1]).ps() / (kSteps - 2));
      // Without a barrier the mean of a few steps differs from the long run's by parts of a step.
      const Duration least = barrier ? mean : Duration::ps(mean.ps() + mean.ps() / 3);
      EXPECT_GE(least, *bound.value) << "seed " << seed << " " << bound.name;
      EXPECT_GE(least, *any.value) << "seed " << seed << " " << any.name;
      if (barrier && *bound.value == mean) ++tight;
    }
  }
  EXPECT_GT(tight, 5U);
}

// Where nothing is shared, a looser bound can only help.
TEST(Modes, ALooserBoundDelaysNobody) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Case c = random_case(seed, 4, false);
    for (auto& w : c.cluster.workers) w.nic = {};
    for (auto& s : c.cluster.servers) s = {};
    auto tighter = arrivals(c, mode(Synchronization::Ssp, 0));
    for (const std::uint32_t s : {1U, 2U, 5U}) {
      const auto looser = arrivals(c, mode(Synchronization::Ssp, s));
      for (std::size_t w = 0; w < looser.size(); ++w)
        for (std::size_t i = 0; i < kSteps; ++i) EXPECT_LE(looser[w][i], tighter[w][i]) << "seed " << seed;
      tighter = looser;
    }
  }
}

}  // namespace
}  // namespace stretto
