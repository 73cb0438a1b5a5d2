// SPDX-License-Identifier: Apache-2.0
// Steps short enough to be told by hand: one variable of 10 B, forward 3 us, backward 5 us, NICs of 1 B/us.
#include "analysis/critical_path.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/training/variation.hpp"
#include "sim/program/simulation.hpp"
#include "sim/record/recorder.hpp"

namespace stretto::analysis {
namespace {

Duration us(std::int64_t v) { return Duration::us(v); }

graph::Graph one_variable() {
  graph::Graph g;
  g.name = "one";
  g.parameters.push_back({"v", Bytes(10), true, graph::OpId(1)});
  g.ops.push_back({"f", graph::Phase::Forward, us(3), {}, {graph::ParameterId(0)}});
  g.ops.push_back({"b", graph::Phase::Backward, us(5), {graph::OpId(0)}, {}});
  return g;
}

struct Case {
  graph::Graph graph = one_variable();
  cluster::Cluster cluster;
  plan::Layout layout{1, {{graph::ParameterId(0), 0, Bytes(10), 0}}, {0, 1}};
  plan::Order order;
  training::VariationSpec variation;

  explicit Case(std::size_t workers) {
    const Bandwidth rate = Bandwidth::bytes_per_second(1'000'000);
    cluster.workers.resize(workers);
    cluster.servers.resize(1);
    for (cluster::Worker& w : cluster.workers) w.nic = {rate, rate};
    cluster.servers[0].nic = {rate, rate};
  }

  // Of the second step, which ends at the barrier.
  CriticalPath path() const {
    const training::Compiled compiled = training::compile(graph, cluster, layout, {});
    const program::OrderTable table = training::compile_order(compiled, layout, order, 1);
    const program::Variation v = training::compile_variation(compiled, variation, 1);
    program::Simulation sim(compiled.program, table, 2, &v);
    record::Recorder recorder;
    sim.observe(&recorder);
    EXPECT_EQ(sim.run_until(2), program::Status::Reached);
    return critical_path(compiled, table, recorder.records(), compiled.program.markers[0], 1, sim.marker_times(0)[0]);
  }
};

Duration of(const CriticalPath& path, PathKind kind) { return path.total()[static_cast<std::size_t>(kind)]; }

TEST(CriticalPath, OneWorkerComputesAndMovesAlone) {
  const CriticalPath path = Case(1).path();
  EXPECT_EQ(path.end - path.begin, us(10 + 3 + 5 + 10));
  EXPECT_EQ(of(path, PathKind::WireOwn), us(20));
  EXPECT_EQ(of(path, PathKind::Compute), us(8));
  ASSERT_EQ(path.links.size(), 4U);
  EXPECT_EQ(path.links[0].from, path.begin);
  EXPECT_EQ(path.links[1].to - path.links[1].from, us(3));
}

TEST(CriticalPath, TwoWorkersTakeTheServersNicFromEachOther) {
  const CriticalPath path = Case(2).path();
  EXPECT_EQ(path.end - path.begin, us(20 + 3 + 5 + 20));
  EXPECT_EQ(of(path, PathKind::WireOwn), us(20));
  EXPECT_EQ(of(path, PathKind::WireShared), us(20));
  EXPECT_EQ(of(path, PathKind::Compute), us(8));
}

// One thread sends to both workers, 7 us each: the second to be served waits for the first.
TEST(CriticalPath, ServiceIsSplitFromItsQueue) {
  Case c(2);
  c.cluster.servers[0].threads = 1;
  c.cluster.servers[0].send.per_message = us(7);
  c.cluster.servers[0].nic = {};
  c.cluster.network.latency = us(2);
  const CriticalPath path = c.path();
  EXPECT_EQ(of(path, PathKind::ServiceQueue), us(7));
  EXPECT_EQ(of(path, PathKind::Service), us(7));
  EXPECT_EQ(of(path, PathKind::Latency), us(3 * 2));
  EXPECT_EQ(of(path, PathKind::WireOwn), us(20));
  EXPECT_EQ(path.end - path.begin, us(7 + 7 + 6 + 20 + 8));
}

TEST(CriticalPath, SlownessIsApartFromWhatAnOpShouldTake) {
  Case c(1);
  c.variation.slow_workers.push_back({0, 2.0, Time(), Time::never()});
  const CriticalPath path = c.path();
  EXPECT_EQ(of(path, PathKind::Compute), us(8));
  EXPECT_EQ(of(path, PathKind::Slowed), us(8));
}

// A second variable of the same gradient's op is first in the order of pushes but is complete 4 us later.
TEST(CriticalPath, AnOrderThatWaitsForAnotherTensorIsNamed) {
  Case c(1);
  c.graph.ops.push_back({"b2", graph::Phase::Backward, us(4), {graph::OpId(1)}, {}});
  c.graph.parameters.push_back({"w", Bytes(1), true, graph::OpId(2)});
  c.graph.ops[0].reads.push_back(graph::ParameterId(1));
  c.layout = {1, {{graph::ParameterId(0), 0, Bytes(10), 0}, {graph::ParameterId(1), 0, Bytes(1), 0}}, {0, 1, 2}};
  c.order.push = {plan::Discipline::Strict, {1, 0}, {}, 0, {}};
  const CriticalPath path = c.path();
  // Pulls 11 us (of them 10 + 1), ops 12, the pushes wait for w and then take 11.
  EXPECT_EQ(path.end - path.begin, us(11 + 12 + 11));
  // The last link is v's push: ready after b, held for b2, then behind w.
  const PathLink& push = path.links.back();
  EXPECT_EQ(push.parts[static_cast<std::size_t>(PathKind::SenderNotReady)], us(4));
  EXPECT_EQ(push.parts[static_cast<std::size_t>(PathKind::WireQueue)], us(1));
  EXPECT_EQ(push.parts[static_cast<std::size_t>(PathKind::WireOwn)], us(10));
}

TEST(CriticalPath, EveryKindHasItsWords) {
  std::set<std::string_view> keys;
  for (std::size_t k = 0; k < kPathKinds; ++k) {
    keys.insert(path_key(static_cast<PathKind>(k)));
    EXPECT_FALSE(path_words(static_cast<PathKind>(k)).empty());
  }
  EXPECT_EQ(keys.size(), kPathKinds);
}

}  // namespace
}  // namespace stretto::analysis
