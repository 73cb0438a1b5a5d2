// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/placement/placement.hpp"
#include "models/training/compile.hpp"
#include "models/training/deadlock.hpp"
#include "models/training/variation.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::training {
namespace {

Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }

// One variable of `bytes` per pair of a forward and a backward op (`forward`, `backward` us); a chain.
graph::Graph chain(std::size_t variables, std::int64_t bytes, std::int64_t forward, std::int64_t backward) {
  graph::Graph g;
  g.name = "chain";
  for (std::size_t i = 0; i < variables; ++i) {
    g.parameters.push_back({"v" + std::to_string(i), Bytes(bytes), true, {}});
    graph::Op op{"f" + std::to_string(i), graph::Phase::Forward, Duration::us(forward), {}, {}};
    if (i > 0) op.inputs = {graph::OpId(i - 1)};
    op.reads = {graph::ParameterId(i)};
    g.ops.push_back(op);
  }
  for (std::size_t i = variables; i-- > 0;) {
    graph::Op op{"b" + std::to_string(i), graph::Phase::Backward, Duration::us(backward), {}, {}};
    op.inputs = {graph::OpId(g.ops.size() - 1)};
    g.parameters[i].gradient = graph::OpId(g.ops.size());
    g.ops.push_back(op);
  }
  return g;
}

// NICs of 1 B/us everywhere, no latency, no cost.
cluster::Cluster plain(std::size_t workers, std::size_t servers) {
  const Bandwidth rate = Bandwidth::bytes_per_second(1'000'000);
  cluster::Cluster c;
  for (std::size_t w = 0; w < workers; ++w) {
    cluster::Worker worker;
    worker.name = "worker " + std::to_string(w);
    worker.nic = {rate, rate};
    c.workers.push_back(worker);
  }
  for (std::size_t s = 0; s < servers; ++s) {
    cluster::Server server;
    server.name = "server " + std::to_string(s);
    server.nic = {rate, rate};
    c.servers.push_back(server);
  }
  return c;
}

void unlimit(cluster::Cluster& c) {
  for (auto& w : c.workers) w.nic = {};
  for (auto& s : c.servers) s.nic = {};
}

// A run of `steps` steps of every worker (of all together where they go at their own pace).
struct Simulated {
  Compiled compiled;
  program::OrderTable order;
  std::unique_ptr<program::Simulation> sim;

  Simulated(const graph::Graph& graph, const cluster::Cluster& cluster, const Options& options, std::uint32_t steps,
            const VariationSpec& variation = {}) {
    const plan::Layout layout =
        placement::place("round_robin", graph, static_cast<std::uint32_t>(cluster.servers.size()));
    compiled = compile(graph, cluster, layout, options);
    order = compile_order(compiled, layout, {}, 0);
    varied = compile_variation(compiled, variation, 7);
    sim = std::make_unique<program::Simulation>(compiled.program, order, steps, &varied);
    EXPECT_EQ(sim->run(), program::Status::Reached);
  }
  // End of step i of worker w, or of the step.
  Time end(std::size_t step, std::size_t worker = 0) const {
    return sim->marker_times(
        compiled.synchronization == Synchronization::Backup ? 0 : compiled.worker_marker(worker))[step];
  }
  program::Variation varied;
};

Options mode(Synchronization synchronization, std::uint32_t value = 0) {
  Options o;
  o.synchronization = synchronization;
  if (synchronization == Synchronization::Ssp) o.staleness = value;
  if (synchronization == Synchronization::Backup) o.backups = value;
  if (synchronization == Synchronization::Local) o.passes = value;
  return o;
}

// Worker 1 takes three times as long for its ops.
VariationSpec slow_worker_1() {
  VariationSpec v;
  v.slow_workers = {{1, 3.0, Time(), Time::never()}};
  return v;
}

TEST(Async, EachWorkerGoesAtItsOwnPace) {
  cluster::Cluster c = plain(2, 1);
  unlimit(c);
  const Simulated r(chain(1, 1, 10, 20), c, mode(Synchronization::Async), 4, slow_worker_1());
  EXPECT_EQ(r.end(3, 0), us(4 * 30));
  EXPECT_EQ(r.end(3, 1), us(4 * 90));
}

TEST(Async, UpdatesQueueForTheServersThread) {
  // Each of 4 workers: 30 us of ops, then an update of 20 us on one thread: the server is the bottleneck.
  cluster::Cluster c = plain(4, 1);
  unlimit(c);
  c.servers[0].threads = 1;
  c.servers[0].update_rate = Bandwidth::bytes_per_second(1'000'000);
  const Simulated r(chain(1, 20, 10, 20), c, mode(Synchronization::Async), 50);
  EXPECT_EQ(r.end(49, 3) - r.end(39, 3), Duration::us(10 * 4 * 20));
  // Synchronous: one update a step, for all.
  const Simulated s(chain(1, 20, 10, 20), c, mode(Synchronization::Sync), 50);
  EXPECT_EQ(s.end(49, 3) - s.end(39, 3), Duration::us(10 * (30 + 20)));
  EXPECT_EQ(s.sim->busy_time(s.compiled.server_threads[0]), Duration::us(50 * 20));
}

TEST(Ssp, TheFastWorkerLeadsByTheBoundAndThenWaits) {
  cluster::Cluster c = plain(2, 1);
  unlimit(c);
  for (const std::uint32_t s : {0U, 1U, 3U}) {
    const Simulated r(chain(1, 1, 10, 20), c, mode(Synchronization::Ssp, s), 12, slow_worker_1());
    std::int64_t fast = 0;
    for (std::uint32_t i = 0; i < 12; ++i) {
      EXPECT_EQ(r.end(i, 1), us(90 * (i + 1))) << "the slow one never waits";
      // It starts step i when the slow one has done step i - s - 1.
      fast = std::max<std::int64_t>(fast, i > s ? 90 * (i - s) : 0) + 30;
      EXPECT_EQ(r.end(i, 0), us(fast)) << "step " << i << " bound " << s;
    }
  }
}

TEST(Backup, TheStepGoesByTheFirstGradients) {
  cluster::Cluster c = plain(3, 1);
  unlimit(c);
  const graph::Graph g = chain(2, 8, 10, 10);
  VariationSpec slow;
  slow.slow_workers = {{1, 2.9, Time(), Time::never()}};
  const Simulated all(g, c, mode(Synchronization::Sync), 9, slow);
  const Simulated first(g, c, mode(Synchronization::Backup, 1), 9, slow);
  EXPECT_EQ(all.sim->marker_times(0)[8], us(9 * 116));
  EXPECT_EQ(first.end(8), us(9 * 40));
  // The slow worker is in time for no step: at 0, 116, 232 and 348 us it starts steps 0, 2, 5 and 8.
  EXPECT_EQ(first.sim->late_arrivals(), 4U * 2);
  EXPECT_EQ(first.sim->busy_time(first.compiled.device[1]), Duration::us(4 * 116));
}

TEST(Backup, WhatComesLateIsSentButNotAddedUp) {
  cluster::Cluster c = plain(3, 1);
  for (auto& w : c.workers) w.nic = {};
  c.servers[0].nic.up = Bandwidth::unlimited();
  c.servers[0].threads = 1;
  c.servers[0].aggregate_rate = Bandwidth::bytes_per_second(8'000'000);
  const graph::Graph g = chain(1, 8, 10, 10);
  const Simulated r(g, c, mode(Synchronization::Backup, 2), 1);
  // Three gradients of 8 B share the incoming NIC and are there after 24 us. One is added up, in 1 us.
  EXPECT_EQ(r.end(0), us(20 + 24 + 1));
  EXPECT_EQ(r.sim->bytes_carried(r.compiled.server_links[0].down), 24);
  EXPECT_EQ(r.sim->late_arrivals(), 2U);
}

TEST(Sync, GradientsAreAddedUpOneByOne) {
  cluster::Cluster c = plain(4, 1);
  unlimit(c);
  c.servers[0].threads = 1;
  c.servers[0].aggregate_rate = Bandwidth::bytes_per_second(1'000'000);
  c.servers[0].update_rate = Bandwidth::bytes_per_second(2'000'000);
  const Simulated r(chain(1, 8, 10, 10), c, mode(Synchronization::Sync), 3);
  EXPECT_EQ(r.sim->marker_times(0)[2], us(3 * (20 + 4 * 8 + 4)));
}

TEST(Passes, MultiplyComputeAndDivideTransfers) {
  for (const std::uint32_t k : {1U, 2U, 5U}) {
    for (const Synchronization s : {Synchronization::Sync, Synchronization::Local, Synchronization::Async}) {
      Options o = mode(s, k);
      o.passes = k;
      const Simulated r(chain(1, 7, 10, 20), plain(1, 1), o, 4);
      EXPECT_EQ(r.end(3), us(4 * (7 + 30 * k + 7)));
      EXPECT_EQ(r.sim->bytes_carried(r.compiled.server_links[0].up), 4 * 7);
      EXPECT_EQ(r.sim->busy_time(r.compiled.device[0]), Duration::us(4 * 30 * k));
    }
  }
}

TEST(Passes, EachTakesAnInputAndMeetsNoiseOfItsOwn) {
  cluster::Cluster c = plain(1, 1);
  unlimit(c);
  Options o;
  o.passes = 3;
  o.input_time = Duration::us(50);
  const Simulated r(chain(1, 7, 10, 20), c, o, 10);
  EXPECT_EQ(r.end(9) - r.end(4), Duration::us(5 * 3 * 50));
  o.input_time = {};
  const Compiled compiled = compile(chain(1, 7, 10, 20), c, placement::place("round_robin", chain(1, 7, 10, 20), 1), o);
  VariationSpec v;
  v.compute_cv = 0.2;
  const program::Variation noise = compile_variation(compiled, v, 3);
  std::set<std::uint64_t> keys;
  for (const std::uint64_t key : noise.key)
    if (key != 0) keys.insert(key);
  EXPECT_EQ(keys.size(), 6U);
  v.per_step = true;
  std::set<std::uint64_t> of_steps;
  for (const std::uint64_t key : compile_variation(compiled, v, 3).key)
    if (key != 0) of_steps.insert(key);
  ASSERT_EQ(of_steps.size(), 1U);
  EXPECT_FALSE(keys.contains(*of_steps.begin())) << "draws apart from those of ops";
}

TEST(Hosts, AColocatedServerTalksToItsWorkerOverLoopback) {
  cluster::Cluster c = plain(2, 1);
  c.servers[0].on_worker = 0;
  c.network.latency = Duration::us(100);
  c.network.loopback = Bandwidth::bytes_per_second(5'000'000);
  const Simulated r(chain(1, 10, 1000, 1000), c, mode(Synchronization::Async), 1);
  EXPECT_EQ(r.end(0, 0), us(2 + 2000 + 2)) << "no latency, five times the rate";
  EXPECT_EQ(r.end(0, 1), us(200 + 10 + 2000 + 100 + 10));
  EXPECT_EQ(r.sim->bytes_carried(r.compiled.worker_links[0].up), 10);
  EXPECT_EQ(r.sim->bytes_carried(r.compiled.worker_links[0].down), 10);
  EXPECT_EQ(cluster::pull_time(c, 0, 0, Bytes(10)), Duration::us(2));
  EXPECT_EQ(cluster::push_time(c, 1, 0, Bytes(10)), Duration::us(110));
}

TEST(Hosts, AColocatedServerSharesTheWorkersNic) {
  // Two workers, a server beside each: what worker 0 pulls from server 1 shares its NIC with nothing else downwards,
  // but its gradient for server 1 goes up beside the variable that server 0 sends to worker 1 in the step after.
  cluster::Cluster c = plain(2, 2);
  c.servers[0].on_worker = 0;
  c.servers[1].on_worker = 1;
  const Simulated r(chain(2, 10, 0, 0), c, mode(Synchronization::Sync), 1);
  for (const HostLinks& nic : r.compiled.worker_links) {
    EXPECT_EQ(r.sim->bytes_carried(nic.up), 20);
    EXPECT_EQ(r.sim->bytes_carried(nic.down), 20);
  }
}

TEST(Hosts, ServersOnOneHostShareItsNicAndCores) {
  cluster::Cluster c = plain(1, 2);
  unlimit(c);
  c.servers[0].nic = {Bandwidth::bytes_per_second(1'000'000), Bandwidth::bytes_per_second(1'000'000)};
  const graph::Graph g = chain(2, 10, 0, 0);
  EXPECT_EQ(Simulated(g, c, {}, 1).end(0), us(20)) << "apart: one server has no limit";
  c.servers[1].with_server = 0;
  EXPECT_EQ(Simulated(g, c, {}, 1).end(0), us(40));
  for (auto& s : c.servers) s.send.per_message = s.receive.per_message = Duration::us(100);
  c.servers[0].nic = {};
  EXPECT_EQ(Simulated(g, c, {}, 1).end(0), us(200));
  for (auto& s : c.servers) s.cores = 1;
  EXPECT_EQ(Simulated(g, c, {}, 1).end(0), us(400));
  for (auto& s : c.servers) s.cores = 2;
  EXPECT_EQ(Simulated(g, c, {}, 1).end(0), us(200));
}

TEST(Deadlock, CountsTheGradientsThatWillEverCome) {
  // Gradients of worker 1 go from that of the last variable on, v29 first; v22 has a place that never comes, so that it
  // and the 22 after it stay.
  const graph::Graph g = chain(30, 1, 1, 1);
  const plan::Layout layout = placement::place("round_robin", g, 1);
  const Compiled compiled = compile(g, plain(2, 1), layout, {});
  plan::Order order;
  order.push.discipline = plan::Discipline::Strict;
  for (std::uint32_t t = 0; t < 30; ++t) order.push.rank.push_back(29 - t);
  program::OrderTable table = compile_order(compiled, layout, order, 0);
  table.rank[compiled.push[30 + 22].index()] = 1000;
  program::Simulation sim(compiled.program, table, 3);
  ASSERT_EQ(sim.run_until(3), program::Status::Deadlock);
  const std::string text = explain_deadlock(compiled, g, layout, sim);
  EXPECT_NE(text.find(": 37 of 60 gradients of step 0 will ever come; push v"), std::string::npos) << text;
  EXPECT_NE(text.find("of worker 1 (step 0) waits for its turn"), std::string::npos) << text;
}

TEST(Describe, NamesWhatIsNew) {
  cluster::Cluster c = plain(2, 1);
  c.servers[0].update_rate = c.servers[0].aggregate_rate = Bandwidth::bytes_per_second(1'000'000);
  const graph::Graph g = chain(1, 8, 10, 10);
  const plan::Layout layout = placement::place("round_robin", g, 1);
  const auto names = [&](const Options& o) {
    const Compiled compiled = compile(g, c, layout, o);
    std::string all;
    for (std::uint32_t a = 0; a < compiled.program.size(); ++a)
      all += describe(compiled, g, layout, program::ActivityId(a)) + "\n";
    return all;
  };
  Options two;
  two.passes = 2;
  EXPECT_NE(names(two).find("op b0 of worker 1, pass 1\n"), std::string::npos);
  EXPECT_NE(names(two).find("end of pass 0 of worker 1\n"), std::string::npos);
  EXPECT_NE(names(two).find("adding the gradient of v0 of worker 1\n"), std::string::npos);
  EXPECT_NE(names(two).find("update of v0\n"), std::string::npos);
  EXPECT_NE(names(mode(Synchronization::Ssp, 1)).find("update of v0 by worker 1\n"), std::string::npos);
  EXPECT_NE(names(mode(Synchronization::Ssp, 1)).find("bound of staleness\n"), std::string::npos);
}

}  // namespace
}  // namespace stretto::training
