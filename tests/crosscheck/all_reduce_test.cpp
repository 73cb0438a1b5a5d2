// SPDX-License-Identifier: Apache-2.0
// All-reduce against closed forms: simulated message by message and by one worker for all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "models/plan/fusion.hpp"
#include "models/training/compile.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::training {
namespace {

// One variable, read by a forward op and with a gradient by a backward op that take `op` each.
graph::Graph one_variable(std::int64_t bytes, Duration op) {
  graph::Graph g;
  g.parameters.push_back({"v", Bytes(bytes), true, graph::OpId(1)});
  g.ops.push_back({"f", graph::Phase::Forward, op, {}, {graph::ParameterId(0)}});
  g.ops.push_back({"b", graph::Phase::Backward, op, {graph::OpId(0)}, {}});
  return g;
}

// NICs of 1 B/us, no latency.
cluster::Cluster plain(std::uint32_t workers) {
  const Bandwidth rate = Bandwidth::bytes_per_second(1'000'000);
  cluster::Cluster c;
  for (std::uint32_t w = 0; w < workers; ++w) {
    cluster::Worker worker;
    worker.name = fmt::format("worker {}", w);
    worker.nic = {rate, rate};
    c.workers.push_back(worker);
  }
  return c;
}

// Neighbours share hosts of g workers.
cluster::Cluster on_hosts(cluster::Cluster c, std::uint32_t g) {
  for (std::uint32_t w = 0; w < c.workers.size(); ++w) {
    c.workers[w].with_worker.reset();
    if (w % g != 0) c.workers[w].with_worker = w - w % g;
  }
  return c;
}

plan::Layout layout_of(const graph::Graph& g, Bytes fusion = Bytes(), bool split = false) {
  plan::Layout layout;
  layout.first = {0};
  for (std::uint32_t p = 0; p < g.parameters.size(); ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, g.parameters[p].bytes, 0});
    layout.first.push_back(p + 1);
  }
  plan::fuse(g, layout, fusion);
  layout.split = split;
  return layout;
}

// Seconds of the last of `steps` steps with a barrier.
double step_time(const graph::Graph& g, const cluster::Cluster& c, const plan::Layout& layout, const AllReduce& o,
                 std::uint32_t steps = 2, bool barrier = true) {
  Options options;
  options.barrier = barrier;
  options.exchange = Exchange::AllReduce;
  options.all_reduce = o;
  const Compiled compiled = compile(g, c, layout, options);
  const program::OrderTable order = compile_order(compiled, layout, {}, 1);
  program::Simulation sim(compiled.program, order, steps + 1);
  EXPECT_EQ(sim.run_until(steps), program::Status::Reached);
  const auto& ends = sim.marker_times(0);
  return (ends[steps - 1] - ends[steps - 2]).seconds();
}

double alone(const cluster::Cluster& c, const AllReduce& o, std::int64_t bytes) {
  const graph::Graph g = one_variable(bytes, Duration());
  const double time = step_time(g, c, layout_of(g), o);
  EXPECT_NEAR(time, collective_time(c, o, Part::Whole, Bytes(bytes)).seconds(), 1e-9);
  AllReduce all = o;
  all.aggregate = true;
  if (why_no_aggregate(c, all).empty()) {
    EXPECT_EQ(step_time(g, c, layout_of(g), all), time);
  }
  return time;
}

TEST(AllReduceForms, Ring) {
  for (const std::uint32_t n : {1U, 2U, 3U, 4U, 7U, 16U}) {
    cluster::Cluster c = plain(n);
    const std::int64_t bytes = std::int64_t{n} * 1000;
    EXPECT_NEAR(alone(c, {}, bytes), 2e-6 * (n - 1) / n * static_cast<double>(bytes), 1e-9) << n;
    c.network.latency = Duration::us(50);
    AllReduce o;
    o.per_round = Duration::us(7);
    EXPECT_NEAR(alone(c, o, bytes), 2e-6 * (n - 1) / n * static_cast<double>(bytes) + 2 * (n - 1) * 57e-6, 1e-9) << n;
  }
}

TEST(AllReduceForms, HalvingDoubling) {
  AllReduce o;
  o.algorithm = Algorithm::HalvingDoubling;
  for (const std::uint32_t n : {1U, 2U, 4U, 8U, 16U}) {
    cluster::Cluster c = plain(n);
    c.network.latency = Duration::us(50);
    const double rounds = 2 * std::log2(n);
    EXPECT_NEAR(alone(c, o, 16'000), 2e-6 * (n - 1) / n * 16'000 + rounds * 50e-6, 1e-9) << n;
  }
  // Others go in with all they have and come back with all.
  for (const std::uint32_t n : {3U, 5U, 6U, 7U, 12U}) {
    const std::uint32_t m = n < 4 ? 2 : n < 8 ? 4 : 8;
    EXPECT_NEAR(alone(plain(n), o, 16'000), 2e-6 * (m - 1) / m * 16'000 + 2e-6 * 16'000, 1e-9) << n;
  }
}

TEST(AllReduceForms, Tree) {
  AllReduce o;
  o.algorithm = Algorithm::Tree;
  EXPECT_NEAR(alone(plain(1), o, 1000), 0, 1e-12);
  EXPECT_NEAR(alone(plain(2), o, 1000), 2e-3, 1e-9);
  // A full tree: on each of the log2((n + 1) / 2) levels two children share the parent's NIC, up and down.
  for (const std::uint32_t n : {3U, 7U, 15U, 31U})
    EXPECT_NEAR(alone(plain(n), o, 1000), 2 * std::log2((n + 1) / 2) * 2e-3, 1e-9) << n;
}

TEST(AllReduceForms, Hierarchical) {
  AllReduce o;
  o.algorithm = Algorithm::Hierarchical;
  o.per_round = Duration::us(7);
  for (const std::uint32_t g : {1U, 2U, 4U})
    for (const std::uint32_t hosts : {1U, 2U, 3U}) {
      cluster::Cluster c = on_hosts(plain(g * hosts), g);
      c.network.latency = Duration::us(50);
      for (auto& w : c.workers) {
        w.nvlink = Bandwidth::bytes_per_second(10'000'000);
        w.nvlink_latency = Duration::us(3);
      }
      const double bytes = 12'000;
      // Reduce-scatter and all-gather inside: g - 1 rounds of b / g each. Between: the host's g ranks send
      // 2 (H - 1) / H b / g each over one NIC.
      const double inside = 2 * (1e-7 * (g - 1) / g * bytes + (g - 1) * 10e-6);
      const double between = 2e-6 * (hosts - 1) / hosts * bytes + 2 * (hosts - 1) * 57e-6;
      EXPECT_NEAR(alone(c, o, 12'000), inside + between, 1e-9) << g << " x " << hosts;
    }
}

// Without direct links ranks of a host exchange over the PCIe of their devices, which what leaves the host crosses too.
TEST(AllReduceForms, HierarchicalOverPcie) {
  AllReduce o;
  o.algorithm = Algorithm::Hierarchical;
  const double bytes = 12'000;
  for (const std::uint32_t g : {2U, 4U})
    for (const double pcie : {0.125, 0.5, 4.0}) {  // B/us; the NIC 1
      cluster::Cluster c = on_hosts(plain(3 * g), g);
      for (auto& w : c.workers) w.pcie = Bandwidth::bytes_per_second(static_cast<std::int64_t>(pcie * 1e6));
      const double inside = 2e-6 * (g - 1) / g * bytes / pcie;
      const double between = 2e-6 * 2 / 3 * bytes / std::min(1.0, g * pcie);
      EXPECT_NEAR(alone(c, o, 12'000), inside + between, 1e-9) << g << " " << pcie;
      // NVLink takes what stays on the host off PCIe.
      for (auto& w : c.workers) w.nvlink = Bandwidth::unlimited();
      EXPECT_NEAR(alone(c, o, 12'000), between, 1e-9) << g << " " << pcie;
    }
}

TEST(AllReduceForms, HostsOfDifferentSizesRingAsTheyCan) {
  cluster::Cluster c = on_hosts(plain(5), 2);
  EXPECT_EQ(cluster::workers_per_host(c), 0U);
  EXPECT_EQ(why_no_aggregate(c, {}), "hosts have different numbers of workers");
  EXPECT_NEAR(alone(c, {}, 5000), 8 * 1e-3, 1e-9) << "one message of each round leaves each host";
  EXPECT_EQ(cluster::workers_per_host(on_hosts(plain(6), 2)), 2U);
  EXPECT_EQ(cluster::workers_per_host(on_hosts(plain(3), 4)), 3U);
  EXPECT_EQ(cluster::workers_per_host(plain(3)), 1U);
}

TEST(AllReduceForms, RingOverHostsIsLimitedByTheHostsNic) {
  AllReduce o;
  const cluster::Cluster eight = on_hosts(plain(8), 4);
  const cluster::Cluster four = on_hosts(plain(4), 4);
  EXPECT_FALSE(why_no_aggregate(eight, o).empty());
  EXPECT_NEAR(alone(eight, o, 8000), 2e-6 * 7 / 8 * 8000, 1e-9) << "one message of each round leaves each host";
  EXPECT_TRUE(why_no_aggregate(four, o).empty());
  EXPECT_NEAR(alone(four, o, 8000), 0, 1e-12) << "all on one host, whose inside has no limit";
  o.algorithm = Algorithm::HalvingDoubling;
  EXPECT_TRUE(why_no_aggregate(eight, o).empty());
  EXPECT_NEAR(alone(eight, o, 8000), 2 * 4 * 4000e-6, 1e-9) << "four ranks send half of it over one NIC";
}

TEST(AllReduceForms, ASlowNicHoldsUpEverybody) {
  cluster::Cluster c = plain(4);
  c.workers[2].nic.up = Bandwidth::bytes_per_second(250'000);
  EXPECT_EQ(why_no_aggregate(c, {}), "the workers' NICs, links or service costs differ");
  EXPECT_NEAR(alone(c, {}, 4000), 6 * 4e-3, 1e-9);
}

TEST(AllReduceForms, ServicesAreOnThePathOfEachRound) {
  cluster::Cluster c = plain(4);
  for (auto& w : c.workers) {
    w.threads = 1;
    w.send = {Duration::us(10), 0};
    w.receive = {Duration::us(20), 1000.0};
  }
  EXPECT_NEAR(alone(c, {}, 4000), 6 * (1000e-6 + 30e-6 + 1000e-9), 1e-9);
}

// A parameter server with k servers takes max(M/B, n M / (k B)) per direction, a ring 2 (n - 1) M / (n B).
TEST(AllReduceForms, AgainstParameterServers) {
  constexpr double kBytes = 24'000;
  for (const std::uint32_t n : {2U, 4U, 8U})
    for (const std::uint32_t k : {1U, 2U, 4U}) {
      graph::Graph g;
      for (std::uint32_t v = 0; v < 4; ++v)
        g.parameters.push_back({fmt::format("v{}", v), Bytes(6000), true, graph::OpId(1)});
      g.ops.push_back({"f", graph::Phase::Forward, {}, {}, {}});
      for (std::uint32_t v = 0; v < 4; ++v) g.ops[0].reads.emplace_back(v);
      g.ops.push_back({"b", graph::Phase::Backward, {}, {graph::OpId(0)}, {}});
      cluster::Cluster c = plain(n);
      const double ring = step_time(g, c, layout_of(g, Bytes(1 << 20)), {});
      EXPECT_NEAR(ring, 2e-6 * (n - 1) / n * kBytes, 1e-8);
      plan::Layout servers = layout_of(g);
      servers.bucket.clear();
      servers.servers = k;
      for (std::uint32_t v = 0; v < 4; ++v) servers.transfers[v].server = v % k;
      for (std::uint32_t s = 0; s < k; ++s) {
        cluster::Server server;
        server.nic = c.workers[0].nic;
        c.servers.push_back(server);
      }
      const Compiled compiled = compile(g, c, servers, {});
      const program::OrderTable order = compile_order(compiled, servers, {}, 1);
      program::Simulation sim(compiled.program, order, 1);
      ASSERT_EQ(sim.run_until(1), program::Status::Reached);
      EXPECT_NEAR(sim.now().seconds(), 2e-6 * std::max(kBytes, n * kBytes / k), 1e-8) << n << " " << k;
    }
}

// What a collective is for: at its end every rank has heard of every other, and the parts are what they say.
TEST(Rounds, EveryRankHearsOfEveryOther) {
  for (const auto& [algorithm, host] :
       {std::pair(Algorithm::Ring, 1U), std::pair(Algorithm::HalvingDoubling, 1U), std::pair(Algorithm::Tree, 1U),
        std::pair(Algorithm::Hierarchical, 2U), std::pair(Algorithm::Hierarchical, 4U)})
    for (std::uint32_t n = 1; n <= 16; ++n) {
      Collective c{algorithm, Part::Whole, n, host};
      if (algorithm == Algorithm::Hierarchical && n % std::min(host, n) != 0) continue;
      std::vector<std::vector<bool>> knows(n, std::vector<bool>(n, false));
      for (std::uint32_t r = 0; r < n; ++r) knows[r][r] = true;
      double count = 0;
      for (const Round& round : rounds(c, Bytes(1000))) {
        const auto before = knows;
        count += static_cast<double>(round.size());
        for (const Send& s : round) {
          EXPECT_NE(s.from, s.to);
          for (std::uint32_t r = 0; r < n; ++r)
            if (before[s.from][r]) knows[s.to][r] = true;
        }
      }
      for (std::uint32_t r = 0; r < n; ++r)
        EXPECT_EQ(std::count(knows[r].begin(), knows[r].end(), true), n) << n << " rank " << r;
      EXPECT_EQ(count, messages(c)) << n;
      std::vector<Round> parts;
      for (const Part part : {Part::Reduce, Part::Gather}) {
        c.part = part;
        double half = 0;
        for (const Round& round : rounds(c, Bytes(1000))) {
          parts.push_back(round);
          half += static_cast<double>(round.size());
        }
        EXPECT_EQ(half, messages(c)) << n;
      }
      c.part = Part::Whole;
      const std::vector<Round> whole = rounds(c, Bytes(1000));
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t k = 0; k < whole.size(); ++k) {
        ASSERT_EQ(parts[k].size(), whole[k].size());
        for (std::size_t i = 0; i < whole[k].size(); ++i) EXPECT_EQ(parts[k][i].bytes, whole[k][i].bytes);
      }
    }
}

TEST(Rounds, EqualRoundsAreThoseOfEveryRank) {
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Hierarchical})
    for (const std::uint32_t host : {1U, 2U, 4U, 16U})
      for (std::uint32_t n = 1; n <= 16; ++n) {
        const Collective c{algorithm, Part::Whole, n, host};
        if (!symmetric(c)) continue;
        const auto equal = equal_rounds(c, Bytes(1001));
        const auto all = rounds(c, Bytes(1001));
        ASSERT_EQ(equal.size(), all.size());
        for (std::size_t k = 0; k < all.size(); ++k) {
          EXPECT_EQ(all[k].size(), n);
          for (const Send& s : all[k]) {
            EXPECT_EQ(s.bytes, equal[k].bytes);
            EXPECT_EQ(s.from / host == s.to / host, equal[k].inside) << n << " " << host << " " << k;
          }
        }
      }
}

// Three variables of 1000 B, whose gradients are ready at 4 (c), 5 (b) and 6 ms (a). Two ranks take 1 ms for each.
TEST(Overlap, CollectivesHideBehindBackward) {
  graph::Graph g;
  for (const char* name : {"a", "b", "c"}) g.parameters.push_back({name, Bytes(1000), true, {}});
  for (std::uint32_t i = 0; i < 6; ++i) {
    graph::Op op{
        fmt::format("op{}", i), i < 3 ? graph::Phase::Forward : graph::Phase::Backward, Duration::ms(1), {}, {}};
    if (i > 0) op.inputs = {graph::OpId(i - 1)};
    if (i < 3)
      op.reads = {graph::ParameterId(i)};
    else
      g.parameters[5 - i].gradient = graph::OpId(i);
    g.ops.push_back(op);
  }
  const auto run = [&](Bytes fusion, bool split, bool barrier) {
    return step_time(g, plain(2), layout_of(g, fusion, split), {}, 3, barrier);
  };
  EXPECT_NEAR(run(Bytes(), false, true), 7e-3, 1e-9) << "only the last all-reduce is seen";
  EXPECT_NEAR(run(Bytes(1 << 20), false, true), 9e-3, 1e-9) << "one bucket waits for all gradients";
  EXPECT_NEAR(run(Bytes(2000), false, true), 8e-3, 1e-9) << "c and b from 5 to 7 ms, then a";
  EXPECT_NEAR(run(Bytes(), true, true), 8e-3, 1e-9) << "scattered at 6.5 ms, then three times 0.5 ms to gather";
  // Without a barrier only a's collective stands between the end of backward and the next forward.
  EXPECT_NEAR(run(Bytes(), false, false), 7e-3, 1e-9);
  // Gathered at 7 ms (c), 7.5 (b) and 8 ms (a): the order of readiness is the wrong one.
  EXPECT_NEAR(run(Bytes(), true, false), 8e-3, 1e-9);
}

}  // namespace
}  // namespace stretto::training
