// SPDX-License-Identifier: Apache-2.0
// All-reduce: one worker's messages stand for those of all, on random graphs, clusters, layouts and orders; collectives
// begin in one order everywhere; the policies' buckets hold every gradient once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/placement/placement.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "models/training/compile.hpp"
#include "models/training/variation.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/trials.hpp"

namespace stretto::training {
namespace {

struct Case {
  graph::Graph graph;
  cluster::Cluster cluster;
  plan::Layout layout;
  plan::Order order;
  Options options;
  VariationSpec variation;
};

plan::DirectionOrder random_direction(std::size_t transfers, RandomStream& random) {
  plan::DirectionOrder order;
  const plan::Discipline choices[] = {plan::Discipline::Free, plan::Discipline::Unordered, plan::Discipline::Strict,
                                      plan::Discipline::Priority, plan::Discipline::Credit};
  order.discipline = choices[random.below(5)];
  if (order.discipline == plan::Discipline::Credit)
    order.credit = Bytes(1 + static_cast<std::int64_t>(random.below(60)));
  if (plan::traits(order.discipline).ranks) order.rank = random_permutation(transfers, random);
  return order;
}

Case random_case(std::uint64_t seed) {
  RandomStream random(seed, "tests/all_reduce");
  Case c;
  c.graph =
      test::random_graph({test::kShapes[random.below(4)], 2 + random.below(6), 1 + random.below(6), true, 6, 40}, seed);
  const auto count = [&](std::uint64_t most) { return static_cast<std::uint32_t>(1 + random.below(most)); };
  AllReduce& o = c.options.all_reduce;
  const std::uint32_t workers = count(8);
  o.algorithm = static_cast<Algorithm>(random.below(4));
  o.streams = count(3);
  const std::uint32_t per_host = random.below(2) == 0 ? 1 : count(4);
  o.per_round = Duration::us(static_cast<std::int64_t>(random.below(3)));
  cluster::Worker worker;
  if (random.below(2) == 0) {
    worker.nvlink = Bandwidth::bytes_per_second(3'000'000);
    worker.nvlink_latency = Duration::us(static_cast<std::int64_t>(random.below(3)));
  }
  if (random.below(3) == 0) worker.pcie = Bandwidth::bytes_per_second(600'000);
  worker.nic = {Bandwidth::bytes_per_second(1'000'000),
                Bandwidth::bytes_per_second(random.below(2) == 0 ? 1'000'000 : 2'000'000)};
  if (random.below(3) == 0) {
    worker.send = {Duration::us(static_cast<std::int64_t>(random.below(3))), 100.0};
    worker.receive = {Duration::us(1), 0};
    worker.threads = static_cast<std::uint32_t>(random.below(2));
  }
  for (std::uint32_t w = 0; w < workers; ++w) {
    worker.name = fmt::format("worker {}", w);
    worker.device.speed = 1 + static_cast<double>(random.below(3));
    worker.with_worker.reset();
    if (w % per_host != 0) worker.with_worker = w - w % per_host;
    c.cluster.workers.push_back(worker);
  }
  c.cluster.network.latency = Duration::us(static_cast<std::int64_t>(random.below(3)));
  if (random.below(3) == 0) c.cluster.network.rate_cap = Bandwidth::bytes_per_second(700'000);
  if (random.below(4) == 0) c.cluster.network.model = cluster::LinkModel::Fifo;
  if (random.below(3) == 0) c.variation.compute_cv = 0.3;
  c.layout = placement::place("round_robin", c.graph, 1, {});
  if (random.below(3) == 0) c.layout = plan::partition(c.layout, Bytes(16));
  plan::fuse(c.graph, c.layout, Bytes(static_cast<std::int64_t>(random.below(120))));
  c.layout.split = random.below(2) == 0;
  c.order = {random_direction(c.layout.transfers.size(), random), random_direction(c.layout.transfers.size(), random)};
  c.options.exchange = Exchange::AllReduce;
  c.options.barrier = random.below(2) == 0;
  c.options.passes = count(2);
  return c;
}

constexpr std::uint32_t kSteps = 4;

std::vector<std::vector<Time>> markers(const Case& c, bool aggregate) {
  Options options = c.options;
  options.all_reduce.aggregate = aggregate;
  const Compiled compiled = compile(c.graph, c.cluster, c.layout, options);
  const program::OrderTable order = compile_order(compiled, c.layout, c.order, 7);
  const program::Variation variation = compile_variation(compiled, c.variation, 11);
  program::Simulation sim(compiled.program, order, kSteps, &variation);
  EXPECT_EQ(sim.run(), program::Status::Reached);
  std::vector<std::vector<Time>> times;
  for (std::size_t m = 0; m < compiled.program.markers.size(); ++m) times.push_back(sim.marker_times(m));
  return times;
}

TEST(AllReduce, OneWorkerStandsForAll) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; compared < test::trials(1500); ++seed) {
    Case c = random_case(seed);
    AllReduce& o = c.options.all_reduce;
    if (o.algorithm == Algorithm::Hierarchical && cluster::workers_per_host(c.cluster) == 0) continue;
    if (!why_no_aggregate(c.cluster, o).empty()) {
      markers(c, false);
      continue;
    }
    // Which of those that are ready together goes first is drawn by activity: compared without.
    for (plan::DirectionOrder* d : {&c.order.pull, &c.order.push})
      if (d->discipline == plan::Discipline::Unordered) d->discipline = plan::Discipline::Free;
    ++compared;
    const auto all = markers(c, false);
    const auto one = markers(c, true);
    ASSERT_EQ(all.size(), one.size());
    ASSERT_EQ(all, one) << "seed " << seed;
  }
}

// Every worker enters the collectives in the same order, whatever the order of turns.
class EnterLog : public program::Observer {
 public:
  explicit EnterLog(const Compiled& compiled) : compiled_(compiled), entered(compiled.workers) {}
  void on_end(const program::ActivityRecord& r) override {
    const Label& label = compiled_.labels[r.activity];
    if (label.role == Role::Enter)
      entered[label.worker].push_back({label.item, static_cast<int>(label.part), r.iteration});
  }

 private:
  const Compiled& compiled_;

 public:
  std::vector<std::vector<std::tuple<std::uint32_t, int, std::uint32_t>>> entered;
};

TEST(AllReduce, AllWorkersEnterInOneOrder) {
  for (const test::Trial seed : test::Trials(300)) {
    const Case c = random_case(seed);
    if (c.options.all_reduce.algorithm == Algorithm::Hierarchical && cluster::workers_per_host(c.cluster) == 0)
      continue;
    const Compiled compiled = compile(c.graph, c.cluster, c.layout, c.options);
    const program::OrderTable order = compile_order(compiled, c.layout, c.order, seed);
    program::Simulation sim(compiled.program, order, kSteps);
    EnterLog log(compiled);
    sim.observe(&log);
    ASSERT_EQ(sim.run(), program::Status::Reached) << "seed " << seed;
    for (const auto& entered : log.entered) ASSERT_EQ(entered, log.entered[0]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto::training
