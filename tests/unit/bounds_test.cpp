// SPDX-License-Identifier: Apache-2.0
// Bounds against formulas by hand and enumeration of tiny problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "models/graph/order.hpp"
#include "schedulers/bounds/forward.hpp"
#include "schedulers/bounds/machine.hpp"
#include "schedulers/bounds/split.hpp"
#include "schedulers/bounds/step.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::bounds {
namespace {

using graph::Graph;
using graph::OpId;
using graph::ParameterId;
using graph::Phase;

Duration us(std::int64_t n) { return Duration::us(n); }

std::vector<Duration> times(const std::vector<std::int64_t>& list) {
  std::vector<Duration> result;
  for (const auto t : list) result.push_back(us(t));
  return result;
}

ForwardProblem problem(const std::vector<std::int64_t>& m, const std::vector<std::int64_t>& p,
                       const std::vector<std::vector<std::size_t>>& needs) {
  ForwardProblem result{times(m), times(p), graph::BitMatrix(p.size(), m.size())};
  for (std::size_t o = 0; o < needs.size(); ++o)
    for (const auto r : needs[o]) result.needs.set(o, r);
  return result;
}

// The GPU picks a random ready op whenever it is free.
Duration scheduled(const Graph& g, const std::vector<Duration>& m, const std::vector<std::uint32_t>& order,
                   RandomStream& random) {
  std::vector<Duration> arrival(m.size());
  Duration now;
  for (const auto r : order) arrival[r] = now += m[r];
  Duration end = now;
  std::vector<bool> done(g.ops.size(), false);
  std::vector<Duration> finish(g.ops.size());
  Duration free;
  for (std::size_t left = g.ops.size(); left > 0; --left) {
    std::vector<std::pair<Duration, std::size_t>> open;  // start, op
    for (std::size_t o = 0; o < g.ops.size(); ++o) {
      if (done[o]) continue;
      Duration start = free;
      bool ready = true;
      for (const OpId input : g.ops[o].inputs) {
        ready = ready && done[input.index()];
        start = std::max(start, finish[input.index()]);
      }
      for (const ParameterId r : g.ops[o].reads) start = std::max(start, arrival[r.index()]);
      if (ready) open.emplace_back(start, o);
    }
    const auto earliest = std::min_element(open.begin(), open.end())->first;
    std::erase_if(open, [&](const auto& entry) { return entry.first > earliest; });
    const auto op = open[random.below(open.size())].second;
    done[op] = true;
    free = finish[op] = earliest + g.ops[op].time;
    end = std::max(end, free);
  }
  return end;
}

std::vector<std::uint32_t> first_order(std::size_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

TEST(Forward, TacWorstCase) {  // A=6, B=1, C=2; x (6) needs B and C, y (1) needs A
  const auto p = problem({6, 1, 2}, {6, 1}, {{1, 2}, {0}});
  EXPECT_EQ(makespan(p, {0, 1, 2}), us(15));
  EXPECT_EQ(makespan(p, {1, 2, 0}), us(10));
  EXPECT_EQ(load_bound(p), us(9));
  EXPECT_EQ(head_bound(p), us(10));
  EXPECT_EQ(tail_bound(p), us(10));
}

TEST(Forward, ChainOfThree) {
  const auto p = problem({2, 3, 1}, {2, 2, 2}, {{0}, {0, 1}, {0, 1, 2}});
  EXPECT_EQ(makespan(p, {0, 1, 2}), us(9));
  EXPECT_EQ(makespan(p, {2, 1, 0}), us(12));
  EXPECT_EQ(tail_bound(p), us(9));
}

TEST(Forward, TransfersThatNobodyNeedsCount) {
  const auto p = problem({2, 9}, {3}, {{0}});
  EXPECT_EQ(makespan(p, {0, 1}), us(11));
  EXPECT_EQ(makespan(p, {1, 0}), us(14));
  EXPECT_EQ(tail_bound(p), us(11));
}

TEST(Forward, NothingToSend) {
  const auto p = problem({}, {3, 4}, {{}, {}});
  EXPECT_EQ(makespan(p, {}), us(7));
  EXPECT_EQ(load_bound(p), us(7));
  EXPECT_EQ(head_bound(p), us(7));
}

// T1: every order of ops that never idles gives the closed form. No bound exceeds the best of all orders.
TEST(Forward, ClosedFormAndBoundsOnRandomGraphs) {
  int tight = 0;
  int cases = 0;
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
      const auto g = test::random_graph({shape, 1 + seed % 8, 1 + seed % 5, seed % 3 == 0}, seed);
      RandomStream random(seed, "list");
      std::vector<Duration> m;
      for (const auto& p : g.parameters) m.push_back(us(p.bytes.count() / 4));
      const auto p = forward_problem(g, m);
      auto order = first_order(m.size());
      Duration best = us(1'000'000);
      do {
        const auto value = makespan(p, order);
        ASSERT_EQ(value, scheduled(g, m, order, random)) << seed;
        best = std::min(best, value);
      } while (std::next_permutation(order.begin(), order.end()));
      EXPECT_LE(load_bound(p), best);
      EXPECT_LE(head_bound(p), best);
      EXPECT_LE(tail_bound(p), best);
      EXPECT_GE(head_bound(p), std::accumulate(p.compute.begin(), p.compute.end(), Duration()));
      ++cases;
      tight += std::max(head_bound(p), tail_bound(p)) == best ? 1 : 0;
    }
  EXPECT_GT(tight * 10, cases * 8);
}

TEST(Machine, JacksonEqualsTheBestOfAllSets) {
  RandomStream random(5, "jobs");
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Job> jobs(1 + random.below(6));
    for (Job& job : jobs)
      job = {us(static_cast<std::int64_t>(random.below(9))), us(static_cast<std::int64_t>(random.below(5))),
             us(static_cast<std::int64_t>(random.below(9)))};
    Duration best;
    for (std::size_t set = 1; set < std::size_t{1} << jobs.size(); ++set) {
      Duration head = us(100);
      Duration tail = us(100);
      Duration sum;
      for (std::size_t j = 0; j < jobs.size(); ++j)
        if ((set >> j & 1) != 0) {
          head = std::min(head, jobs[j].head);
          tail = std::min(tail, jobs[j].tail);
          sum += jobs[j].time;
        }
      best = std::max(best, head + sum + tail);
    }
    ASSERT_EQ(one_machine_bound(jobs), best) << trial;
  }
  EXPECT_EQ(one_machine_bound({}), Duration());
}

TEST(Machine, SequencesAreTheBestOfAll) {
  RandomStream random(1, "tests/unit/bounds/sequence");
  std::size_t closed = 0;
  std::size_t waits = 0;
  for (int trial = 0; trial < 2'000; ++trial) {
    std::vector<Job> jobs(1 + random.below(7));
    for (Job& job : jobs)
      job = {us(static_cast<std::int64_t>(random.below(20))), us(static_cast<std::int64_t>(random.below(9))),
             us(static_cast<std::int64_t>(random.below(20)))};
    const auto cost = [&](const std::vector<std::uint32_t>& order) {
      Duration now;
      Duration end;
      for (const std::uint32_t j : order) {
        now = std::max(now, jobs[j].head) + jobs[j].time;
        end = std::max(end, now + jobs[j].tail);
      }
      return end;
    };
    std::vector<std::uint32_t> order(jobs.size());
    std::iota(order.begin(), order.end(), 0U);
    Duration best = cost(order);
    while (std::next_permutation(order.begin(), order.end())) best = std::min(best, cost(order));
    const Sequence found = one_machine_sequence(jobs, 1'000);
    ASSERT_EQ(found.cost, best) << trial;
    ASSERT_EQ(found.bound, best) << trial;
    ASSERT_EQ(cost(found.order), best) << trial;
    waits += one_machine_bound(jobs) < best ? 1 : 0;
    const Sequence cut = one_machine_sequence(jobs, 1);
    ASSERT_LE(cut.bound, best) << trial;
    ASSERT_GE(cut.cost, best) << trial;
    ASSERT_EQ(cost(cut.order), cut.cost) << trial;
    closed += cut.bound == cut.cost ? 1 : 0;
  }
  EXPECT_GT(waits, 100U);     // breaks would gain
  EXPECT_LT(closed, 1'950U);  // one node is not always enough
  EXPECT_EQ(one_machine_sequence({}, 10).bound, Duration());
}

TEST(Machine, TwoMachinesNeverExceedTheBestSchedule) {
  RandomStream random(6, "jobs");
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<TwoStageJob> jobs(1 + random.below(4));
    for (TwoStageJob& job : jobs) {
      const auto draw = [&] { return us(static_cast<std::int64_t>(random.below(6))); };
      job = {draw(), draw(), draw(), draw(), draw()};
    }
    Duration best = us(1000);
    auto up = first_order(jobs.size());
    do {
      auto down = first_order(jobs.size());
      do {
        std::vector<Duration> sent(jobs.size());
        Duration now;
        for (const auto j : up) sent[j] = now = std::max(now, jobs[j].head) + jobs[j].first;
        Duration end;
        now = Duration();
        for (const auto j : down) {
          now = std::max(now, sent[j] + jobs[j].lag) + jobs[j].second;
          end = std::max(end, now + jobs[j].tail);
        }
        best = std::min(best, end);
      } while (std::next_permutation(down.begin(), down.end()));
    } while (std::next_permutation(up.begin(), up.end()));
    ASSERT_LE(two_machine_bound(jobs), best) << trial;
  }
}

// Layers with forward time, backward time and tensor, all in us; 1000 bytes take 1 us on the ideal cluster.
struct Layer {
  std::int64_t forward;
  std::int64_t backward;
  std::int64_t tensor;
};

Graph chain(const std::vector<Layer>& layers) {
  Graph g;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    g.ops.push_back({fmt::format("f{}", i), Phase::Forward, us(layers[i].forward), {}, {ParameterId(i)}});
    if (i > 0) g.ops.back().inputs.emplace_back(i - 1);
    g.parameters.push_back(
        {fmt::format("w{}", i), Bytes(1000 * layers[i].tensor), true, OpId(2 * layers.size() - 1 - i)});
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    g.ops.push_back({fmt::format("b{}", i), Phase::Backward, us(layers[i].backward), {}, {ParameterId(i)}});
    g.ops.back().inputs.emplace_back(g.ops.size() - 2);
  }
  return g;
}

cluster::Cluster ideal(std::size_t workers, std::size_t servers) {
  cluster::Cluster c;
  const cluster::Nic nic{Bandwidth(8'000'000'000), Bandwidth(8'000'000'000)};
  for (std::size_t w = 0; w < workers; ++w) c.workers.push_back({fmt::format("worker {}", w), {}, nic, 0, {}, {}});
  for (std::size_t s = 0; s < servers; ++s)
    c.servers.push_back({fmt::format("server {}", s), nic, 0, {}, {}, Bandwidth::unlimited()});
  return c;
}

plan::Layout in_turn(const Graph& g, std::uint32_t servers) {
  plan::Layout layout;
  layout.servers = servers;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < g.parameters.size(); ++p) {
    layout.transfers.push_back({ParameterId(p), 0, g.parameters[p].bytes, static_cast<std::uint32_t>(p % servers)});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  return layout;
}

TEST(Split, OfAChainIsItsForwardPass) {
  const auto g = chain({{1, 2, 1}, {3, 4, 1}});
  const auto split = split_at_loss(g, graph::needs(g), feeds(g));
  EXPECT_TRUE(split.holds);
  EXPECT_EQ(split.before, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(split.after, (std::vector<bool>{false, false, true, true}));
}

TEST(Split, FailsWhereAPullComesAfterAGradient) {
  auto g = chain({{1, 2, 1}, {3, 4, 1}});
  g.parameters.push_back({"late", Bytes(8), false, {}});
  g.ops[3].reads.emplace_back(2u);
  EXPECT_FALSE(split_at_loss(g, graph::needs(g), feeds(g)).holds);
  EXPECT_TRUE(step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, true).value.has_value());
  EXPECT_TRUE(step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, false).value.has_value());
}

TEST(Split, LeavesOutSideBranches) {
  auto g = chain({{1, 2, 1}, {3, 4, 1}});
  g.ops.push_back({"accuracy", Phase::Forward, us(50), {OpId(1)}, {}});  // nothing waits for it
  const auto split = split_at_loss(g, graph::needs(g), feeds(g));
  EXPECT_TRUE(split.holds);
  EXPECT_FALSE(split.before[4]);
}

// A trunk (pull 0, 2), a main head (pull 1, 3) with a large tensor, an auxiliary head (pull 2, 1); every op takes 1.
// Pulls 0, 1, 2 take 2, 10, 5. The main gradient follows the main loss, the auxiliary one the other loss, the trunk's
// both.
graph::Graph two_heads() {
  graph::Graph g;
  for (const std::int64_t bytes : {2, 10, 5}) g.parameters.push_back({"p", Bytes(1000 * bytes), true, {}});
  g.ops.push_back({"trunk", Phase::Forward, us(1), {}, {ParameterId(0)}});
  g.ops.push_back({"main", Phase::Forward, us(1), {OpId(0)}, {ParameterId(1)}});
  g.ops.push_back({"aux", Phase::Forward, us(1), {OpId(0)}, {ParameterId(2)}});
  g.ops.push_back({"main_grad", Phase::Backward, us(1), {OpId(1)}, {}});
  g.ops.push_back({"aux_grad", Phase::Backward, us(1), {OpId(2)}, {}});
  g.ops.push_back({"trunk_grad", Phase::Backward, us(1), {OpId(3), OpId(4)}, {}});
  for (const std::size_t p : {0, 1, 2}) g.parameters[p].gradient = OpId(std::array{5, 3, 4}[p]);
  return g;
}

TEST(Split, SeveralLosses) {
  const auto g = two_heads();
  EXPECT_FALSE(split_at_loss(g, graph::needs(g), feeds(g)).holds);
  const Losses found = losses(g, graph::needs(g), feeds(g));
  ASSERT_EQ(found.each.size(), 2U);
  EXPECT_EQ(found.each[0].before, (std::vector<bool>{true, true, false, false, false, false}));
  EXPECT_EQ(found.each[0].pushed, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(found.each[0].after, (std::vector<bool>{false, false, false, true, false, true}));
  EXPECT_EQ(found.each[1].needed, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(found.last.needed, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(found.first.after, (std::vector<bool>{false, false, false, true, true, true}));
  EXPECT_TRUE(losses(chain({{1, 2, 1}, {3, 4, 1}}), graph::needs(chain({{1, 2, 1}, {3, 4, 1}})),
                     feeds(chain({{1, 2, 1}, {3, 4, 1}})))
                  .each.empty());
}

// All pulls until the last loss: 2 + 10 + 5, and an op: 18; until the main loss 2 + 10 + 1 = 13, until
// the other 2 + 5 + 1 = 8. All pushes behind a loss: an op, 17: 18; of trunk and main 1 + 12 = 13, of trunk and aux 8.
// First the main loss: max(18 + 8, 13 + 18) = 31; first the other: max(18 + 13, 8 + 18) = 31.
TEST(Step, BarrierWithSeveralLosses) {
  const auto bound = step_lower_bound(two_heads(), ideal(1, 1), in_turn(two_heads(), 1), true, true);
  EXPECT_EQ(bound.value, us(31));
  EXPECT_EQ(bound.name, "tail bounds of worker 0 NIC down and worker 0 NIC up, with 2 losses");
}

TEST(Step, SteadyPeriodOfTwoEqualLayers) {
  const auto g = chain({{1, 1, 1}, {1, 1, 1}});
  EXPECT_EQ(step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, false).value, us(6));
  EXPECT_EQ(any_layout_lower_bound(g, ideal(1, 1), true, false).value, us(5));
  EXPECT_EQ(step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, true).value, us(6));
}

TEST(Step, SteadyPeriodWithALargeLastTensor) {
  const auto g = chain({{2, 3, 1}, {1, 1, 8}});
  const auto bound = step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, false);
  EXPECT_EQ(bound.value, us(19));
  EXPECT_EQ(bound.name, "steady bound of worker 0 NIC up and down");
  EXPECT_EQ(any_layout_lower_bound(g, ideal(1, 1), true, false).value, us(11));
  EXPECT_EQ(step_lower_bound(g, ideal(1, 1), in_turn(g, 1), true, true).value, us(20));
}

// 4 workers, 2 servers; server 0 has tensors of 1 and 4, server 1 one of 2; forward 3 x 1, backward 3 x 1.
// Server 0 up: 4 x 5 and then 1 of forward; every worker's backward part: its own NIC up, heads 1, 2, 3: 1 + 7 = 8.
// Server 0 down: heads 1 and 3, 1 + 4 x 5 = 21; least forward part: NIC down 7 + 1 = 8. Both sums: 29.
TEST(Step, BarrierWithTheServerFull) {
  const auto g = chain({{1, 1, 1}, {1, 1, 2}, {1, 1, 4}});
  const auto bound = step_lower_bound(g, ideal(4, 2), in_turn(g, 2), true, true);
  EXPECT_EQ(bound.value, us(29));
  EXPECT_EQ(bound.name, "tail bounds of server 0 NIC up and worker 0 NIC up");
  const auto inference = step_lower_bound(g, ideal(4, 2), in_turn(g, 2), false, true);
  EXPECT_EQ(inference.value, us(21));
  EXPECT_EQ(inference.name, "tail bound of server 0 NIC up");
  // Any layout: 28 over two NICs, 14 + 1, and 8; and the same mirrored.
  EXPECT_EQ(any_layout_lower_bound(g, ideal(4, 2), true, true).value, us(23));
}

TEST(Step, CostsOfEveryStageAddUpOnASingleMessage) {
  const auto g = chain({{10, 20, 5}});
  auto c = ideal(1, 1);
  c.step_overhead = us(100);
  c.network.latency = us(1000);
  c.workers[0].send.per_message = us(3);
  c.workers[0].receive.per_message = us(4);
  c.servers[0].send.per_message = us(5);
  c.servers[0].receive.per_message = us(6);
  c.servers[0].update_rate = Bandwidth(4'000'000'000);  // 10 us
  const auto bound = step_lower_bound(g, c, in_turn(g, 1), true, true);
  // overhead, request, send, latency, wire, receive, forward, backward, send, latency, wire, receive, update
  EXPECT_EQ(bound.value, us(100 + 1000 + 5 + 1000 + 5 + 4 + 10 + 20 + 3 + 1000 + 5 + 6 + 10));
}

TEST(Step, ThreadsEfficiencyAndCapsAreResources) {
  const auto g = chain({{1, 1, 4}, {1, 1, 4}, {1, 1, 4}});
  auto c = ideal(1, 1);
  c.network.efficiency = 0.5;
  EXPECT_EQ(step_lower_bound(g, c, in_turn(g, 1), false, true).value, us(24 + 1));
  c.network.rate_cap = Bandwidth(2'000'000'000);
  EXPECT_EQ(step_lower_bound(g, c, in_turn(g, 1), false, true).value, us(48 + 1));
  c.network.streams = 4;  // each message has the cap, not the connection
  EXPECT_EQ(step_lower_bound(g, c, in_turn(g, 1), false, true).value, us(24 + 1));
  c.servers[0].threads = 2;
  c.servers[0].send.per_message = us(200);
  const auto bound = step_lower_bound(g, c, in_turn(g, 1), false, true);
  EXPECT_EQ(bound.name, "tail bound of server 0 threads");
  EXPECT_EQ(bound.value, us(300 + 16 + 1));
}

TEST(Step, SlowWorkersAndCores) {
  const auto g = chain({{4, 8, 1}, {4, 8, 1}});
  auto c = ideal(2, 1);
  c.workers[1].device.speed = 0.5;
  const auto bound = step_lower_bound(g, c, in_turn(g, 1), true, true);
  EXPECT_EQ(bound.value, us(1 + 48 + 1));  // first pull, all ops of the slow worker, last push
  c.workers[1].device.cores = 4;           // a chain cannot use them
  EXPECT_GE(*step_lower_bound(g, c, in_turn(g, 1), true, true).value, us(48));
}

TEST(Step, WithoutWorkersThereIsNone) {
  const auto g = chain({{1, 1, 1}});
  const auto bound = any_layout_lower_bound(g, cluster::Cluster(), true, true);
  EXPECT_FALSE(bound.value.has_value());
  EXPECT_FALSE(bound.reason.empty());
}

}  // namespace
}  // namespace stretto::bounds
