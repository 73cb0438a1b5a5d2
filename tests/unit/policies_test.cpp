// SPDX-License-Identifier: Apache-2.0
// Policies against their definitions: facts by hand, and a naive TAC.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "models/graph/order.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/registry.hpp"
#include "schedulers/policies/tac.hpp"
#include "schedulers/policies/tic.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::policies {
namespace {

using graph::Graph;
using graph::ParameterId;
using Ids = std::vector<std::uint32_t>;

struct TestOp {
  std::int64_t time;
  std::vector<std::size_t> reads;
  std::vector<std::size_t> after = {};
};

Graph make_graph(const std::vector<std::string>& parameters, const std::vector<TestOp>& ops) {
  Graph g;
  for (const auto& name : parameters) g.parameters.push_back({name, Bytes(4), true, {}});
  for (const TestOp& op : ops) {
    graph::Op made{fmt::format("op{}", g.ops.size()), graph::Phase::Forward, Duration::us(op.time), {}, {}};
    for (const auto p : op.reads) made.reads.emplace_back(p);
    for (const auto o : op.after) made.inputs.emplace_back(o);
    g.ops.push_back(std::move(made));
  }
  return g;
}

plan::Layout whole(const Graph& g) {
  plan::Layout layout;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < g.parameters.size(); ++p) {
    layout.transfers.push_back({ParameterId(p), 0, g.parameters[p].bytes, 0});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  return layout;
}

std::vector<Duration> times(const std::vector<std::int64_t>& us) {
  std::vector<Duration> result;
  for (const auto t : us) result.push_back(Duration::us(t));
  return result;
}

Ids indices(const std::vector<ParameterId>& order) {
  Ids result;
  for (const auto p : order) result.push_back(p.index());
  return result;
}

// Transfers in ascending rank.
Ids by_rank(const plan::Order& order) {
  Ids result(order.pull.rank.size());
  for (std::size_t t = 0; t < result.size(); ++t) result[order.pull.rank[t]] = static_cast<std::uint32_t>(t);
  return result;
}

// TAC word for word from its definition; quadratic and slower.
Ids naive_tac(const Graph& g, const std::vector<Duration>& m) {
  const auto needs = graph::needs(g);
  Ids left(g.parameters.size());
  for (std::size_t p = 0; p < left.size(); ++p) left[p] = static_cast<std::uint32_t>(p);
  std::sort(left.begin(), left.end(), [&](auto a, auto b) { return g.parameters[a].name < g.parameters[b].name; });
  Ids order;
  while (!left.empty()) {
    std::vector<Duration> p(m.size());
    std::vector<Duration> m_plus(m.size(), Duration::ps(std::numeric_limits<std::int64_t>::max()));
    for (std::size_t o = 0; o < g.ops.size(); ++o) {
      Ids open;
      Duration sum;
      for (const auto r : left)
        if (needs.test(o, r)) {
          open.push_back(r);
          sum += m[r];
        }
      if (open.size() == 1) p[open.front()] += g.ops[o].time;
      if (open.size() > 1)
        for (const auto r : open) m_plus[r] = std::min(m_plus[r], sum);
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const auto x = std::min(p[b], m[a]);
      const auto y = std::min(p[a], m[b]);
      return x < y || (x == y && m_plus[a] < m_plus[b]);
    };
    auto best = left.front();
    for (const auto r : left)
      if (before(r, best)) best = r;
    order.push_back(best);
    std::erase(left, best);
  }
  return order;
}

TEST(Fifo, FollowsFirstUseThenNames) {
  const auto g = make_graph({"z", "b", "a", "unread_b", "unread_a"}, {{1, {}}, {1, {1, 2}, {0}}, {1, {0}}});
  EXPECT_EQ(indices(fifo_order(g)), (Ids{2, 1, 0, 4, 3}));
  EXPECT_EQ(by_rank(make_order("reverse", {g, whole(g), {}})), (Ids{3, 4, 0, 1, 2}));
}

TEST(Tic, FirstTwoOfAChainShareARank) {
  const auto g = make_graph({"c", "b", "a"}, {{1, {0}}, {1, {1}, {0}}, {1, {2}, {1}}});
  EXPECT_EQ(tic_m_plus(g), (Ids{2, 2, 3}));
  EXPECT_EQ(by_rank(make_order("tic", {g, whole(g), {}})), (Ids{1, 0, 2}));  // b, c by name, then a
}

TEST(Tic, OpsThatNeedOneParameterEachLeaveAllEqual) {
  const auto g = make_graph({"c", "a", "b"}, {{9, {0}}, {1, {1}}, {5, {2}}});
  EXPECT_EQ(tic_m_plus(g), (Ids{kNoSharedOp, kNoSharedOp, kNoSharedOp}));
  EXPECT_EQ(by_rank(make_order("tic", {g, whole(g), {}})), (Ids{1, 2, 0}));
}

TEST(Tic, RandomTiesKeepThePriorities) {
  Graph g = make_graph({}, {});
  for (std::size_t p = 0; p < 12; ++p) g.parameters.push_back({fmt::format("p{}", p), Bytes(4), true, {}});
  for (std::size_t k = 0; k < 4; ++k) {  // op k needs 3 (k + 1) parameters
    graph::Op op{fmt::format("o{}", k), graph::Phase::Forward, Duration::us(1), {}, {}};
    for (std::size_t p = 3 * k; p < 3 * k + 3; ++p) op.reads.emplace_back(p);
    if (k > 0) op.inputs.emplace_back(k - 1);
    g.ops.push_back(op);
  }
  const auto layout = whole(g);
  const auto draw = [&](std::uint64_t seed) {
    return by_rank(make_order("tic", {g, layout, {}, seed}, {{"ties", "random"}}));
  };
  bool differs = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto order = draw(seed);
    for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(order[k] / 3, k / 3);
    EXPECT_EQ(order, draw(seed));
    differs = differs || order != draw(seed + 1);
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(by_rank(make_order("tic", {g, layout, {}}, {{"ties", "name"}})),
            by_rank(make_order("tic", {g, layout, {}})));
}

TEST(Tac, PicksTheWorstOrderOfThisOne) {
  const auto g = make_graph({"A", "B", "C"}, {{6, {1, 2}}, {1, {0}}});
  EXPECT_EQ(indices(tac_order(g, times({6, 1, 2}))), (Ids{0, 1, 2}));
  EXPECT_EQ(by_rank(make_order("tic", {g, whole(g), {}})), (Ids{1, 2, 0}));
}

TEST(Tac, SeesWhatTicCannot) {
  const auto g = make_graph({"a", "b"}, {{5, {1}}, {0, {0}}});
  EXPECT_EQ(indices(tac_order(g, times({5, 1}))), (Ids{1, 0}));
}

TEST(Tac, WithoutComputeAndSharedOpsNamesDecide) {
  const auto g = make_graph({"c", "a", "b"}, {{0, {0}}, {0, {1}}, {0, {2}}});
  EXPECT_EQ(indices(tac_order(g, times({1, 2, 3}))), (Ids{1, 2, 0}));
}

// x: P 5, M 1; y: P 1, M 5; z: P 1, M 1. x is before y by P and M. z ties with both there, and M+ (y 6, z 7, x
// infinite, by ops shared with h and k) puts y before z and z before x: a cycle. Who comes first depends on the names
// alone.
TEST(Tac, AnIntransitiveTripleFollowsTheScanRule) {
  auto g = make_graph({"x", "y", "z", "zh", "zk"}, {{5, {0}}, {1, {1}}, {1, {2}}, {0, {1, 3}}, {0, {2, 4}}});
  const auto m = times({1, 5, 1, 1, 6});
  const auto first_of = [&](const char* x, const char* y, const char* z) {
    g.parameters[0].name = x;
    g.parameters[1].name = y;
    g.parameters[2].name = z;
    EXPECT_EQ(indices(tac_order(g, m)), naive_tac(g, m));
    return tac_order(g, m).front().index();
  };
  EXPECT_EQ(first_of("a", "b", "c"), 2u);  // x holds against y, z replaces x
  EXPECT_EQ(first_of("c", "a", "b"), 0u);  // y holds against z, x replaces y
  EXPECT_EQ(first_of("b", "c", "a"), 1u);  // z holds against x, y replaces z
}

TEST(Tac, EqualsItsDefinitionOnRandomGraphs) {
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
      const auto g = test::random_graph({shape, 1 + seed % 17, 1 + seed % 11, seed % 3 == 0, 4, 3}, seed);
      std::vector<Duration> m;
      RandomStream random(seed, "times");
      for (std::size_t p = 0; p < g.parameters.size(); ++p)
        m.push_back(Duration::us(static_cast<std::int64_t>(random.below(5))));
      ASSERT_EQ(indices(tac_order(g, m)), naive_tac(g, m)) << "seed " << seed;
    }
}

TEST(Tac, MoreThan64Parameters) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto g = test::random_graph({test::kShapes[seed % 4], 150, 140, false, 9, 9}, seed);
    std::vector<Duration> m;
    for (const auto& p : g.parameters) m.push_back(Duration::us(p.bytes.count()));
    ASSERT_EQ(indices(tac_order(g, m)), naive_tac(g, m)) << "seed " << seed;
  }
}

TEST(Registry, EveryPolicyRanksEverySliceOnceAndSlicesAdjacent) {
  for (const Policy& policy : policies()) {
    if (policy.file != FileKind::None || policy.exchange == For::AllReduce) continue;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const bool barrier : {true, false}) {
        const auto g = test::random_graph({test::kShapes[seed % 4], 8, 7, seed % 2 == 0}, seed);
        plan::Layout layout;
        layout.servers = 2;
        layout.first.push_back(0);
        for (std::size_t p = 0; p < g.parameters.size(); ++p) {
          for (std::uint32_t s = 0; s <= p % 3; ++s) layout.transfers.push_back({ParameterId(p), s, Bytes(4), s % 2});
          layout.first.push_back(static_cast<std::uint32_t>(layout.transfers.size()));
        }
        const PolicyInput input{g, layout, std::vector<Duration>(7, Duration::us(1)), seed, barrier};
        const auto order = make_order(policy.name, input);
        EXPECT_EQ(order.push.discipline, plan::Discipline::Free);
        EXPECT_TRUE(order.push.rank.empty());
        EXPECT_EQ(order.pull.rank, make_order(policy.name, input).pull.rank);
        if (policy.name == "random") {
          EXPECT_EQ(order.pull.discipline, plan::Discipline::Unordered);
          EXPECT_TRUE(order.pull.rank.empty());
          continue;
        }
        if (policy.name == "wfbp") {
          EXPECT_EQ(order.pull.discipline, plan::Discipline::Free);
          EXPECT_TRUE(order.pull.rank.empty());
          continue;
        }
        EXPECT_EQ(order.pull.discipline, barrier ? plan::Discipline::Strict : plan::Discipline::Priority);
        ASSERT_EQ(order.pull.rank.size(), layout.transfers.size());
        Ids sorted = order.pull.rank;
        std::sort(sorted.begin(), sorted.end());
        for (std::uint32_t k = 0; k < sorted.size(); ++k) EXPECT_EQ(sorted[k], k);
        for (std::size_t t = 1; t < layout.transfers.size(); ++t)
          if (layout.transfers[t].slice > 0 && policy.placement.empty()) {
            EXPECT_EQ(order.pull.rank[t], order.pull.rank[t - 1] + 1);
          }
      }
  }
}

TEST(ByLayer, SlicesGoByLayerThenNumberWhateverTheServer) {
  const auto g = make_graph({"b", "a"}, {{1, {1}}, {1, {0}, {0}}});
  plan::Layout layout;
  layout.servers = 2;
  layout.first = {0, 3, 5};
  for (std::uint32_t s = 0; s < 3; ++s) layout.transfers.push_back({ParameterId(0), s, Bytes(4), s == 0 ? 1U : 0U});
  for (std::uint32_t s = 0; s < 2; ++s) layout.transfers.push_back({ParameterId(1), s, Bytes(4), 0});
  for (const auto* policy : {"p3", "byteps"})
    EXPECT_EQ(by_rank(make_order(policy, {g, layout, {}})), (Ids{3, 4, 0, 1, 2}));
}

// x starts the long path (5 + 2), though y is read first and z feeds the longest single op.
TEST(CriticalPath, TheLongestPathBehindATransferGoesFirst) {
  auto g = make_graph({"y", "z", "x", "unread"}, {{1, {0}}, {6, {1}}, {5, {2}}, {2, {}, {0, 2}}});
  EXPECT_EQ(by_rank(make_order("critical_path", {g, whole(g), {}})), (Ids{2, 1, 0, 3}));
  g.ops[3].time = Duration::us(1);  // x and z tie: by name
  EXPECT_EQ(by_rank(make_order("critical_path", {g, whole(g), {}})), (Ids{2, 1, 0, 3}));
  g.parameters[2].name = "zz";
  EXPECT_EQ(by_rank(make_order("critical_path", {g, whole(g), {}})), (Ids{1, 2, 0, 3}));
}

TEST(CriticalPath, CountsTheBackwardPassAndIsFifoOnAChain) {
  auto g = make_graph({"c", "b", "a"}, {{1, {0}}, {1, {1}, {0}}, {1, {2}, {1}}, {9, {2}, {2}}});
  g.ops[3].phase = graph::Phase::Backward;
  EXPECT_EQ(by_rank(make_order("critical_path", {g, whole(g), {}})), by_rank(make_order("fifo", {g, whole(g), {}})));
}

// An op that reads a variable, and one that makes its gradient.
Graph one_layer(std::int64_t us) {
  Graph g = make_graph({"a"}, {{us, {0}}, {us, {0}, {0}}});
  g.ops[1].phase = graph::Phase::Backward;
  g.parameters[0].gradient = graph::OpId(1);
  return g;
}

TEST(Staggered, GroupsStartOneAfterTheOther) {
  const auto g = one_layer(1);
  const auto layout = whole(g);
  PolicyInput input{g, layout, {}};
  input.workers = 5;
  input.pulls_at_worker = Duration::us(10);
  input.pulls_at_server = Duration::us(4);
  const auto offsets = [&](const PolicyOptions& options) {
    return make_order("staggered", input, options).start_offsets;
  };
  // Pulls and pushes of all take 34 us in groups of three and two (2 x 12 + 10), in pairs and together 40.
  EXPECT_EQ(offsets({}), times({0, 0, 0, 12, 12}));
  EXPECT_EQ(offsets({{"group", "2"}}), times({0, 0, 10, 10, 20}));
  EXPECT_EQ(offsets({{"group", "1"}, {"offset", "3000000"}}), times({0, 3, 6, 9, 12}));
  EXPECT_EQ(offsets({{"group", "99"}}), times({0, 0, 0, 0, 0}));
  EXPECT_EQ(make_order("staggered", input).pull.rank, make_order("fifo", input).pull.rank);
  input.pulls_at_server = Duration();
  EXPECT_EQ(offsets({}), times({0, 0, 0, 0, 0}));
  input.pulls_at_worker = Duration();
  EXPECT_EQ(offsets({}), times({0, 0, 0, 0, 0}));
  EXPECT_THROW(offsets({{"group", "0"}}), UserError);
  EXPECT_THROW(offsets({{"group", "two"}}), UserError);
  EXPECT_THROW(offsets({{"offset", "-1"}}), UserError);
}

// A server that holds a little more than half leaves less than a second worker's share free: pairs take 9 x 101 us, one
// after the other 17 x 97.5, together 2 x 808. One server alone has room for one worker.
TEST(Staggered, AGroupMayNeedTheServerLongerThanAWorkerPulls) {
  const auto g = one_layer(1);
  const auto layout = whole(g);
  PolicyInput input{g, layout, {}};
  input.workers = 16;
  input.pulls_at_worker = Duration::ns(97'500);
  input.pulls_at_server = Duration::ns(50'500);
  const auto offsets = [&] { return make_order("staggered", input).start_offsets; };
  for (std::int64_t w = 0; w < 16; ++w)
    EXPECT_EQ(offsets()[static_cast<std::size_t>(w)], Duration::us(101) * (w / 2)) << w;
  input.pulls_at_server = input.pulls_at_worker;
  for (std::int64_t w = 0; w < 16; ++w)
    EXPECT_EQ(offsets()[static_cast<std::size_t>(w)], Duration::ns(97'500) * w) << w;
}

// Two layers; pulls of one worker take 2 us. The second layer has 9 of 10 bytes; ops of 10 us hide its pull and push,
// and the step takes 46.4 us by ones, 44.8 in pairs and 41.6 together. With ops of 4 us 22.4, 20.8 and 24; of 1 us 12,
// 14 and 18.
TEST(Staggered, ComputeHidesTransfersOfLargerGroups) {
  const auto offsets = [](std::int64_t us) {
    auto g = make_graph({"a", "b"}, {{us, {0}}, {us, {1}, {0}}, {us, {1}, {1}}, {us, {0}, {2}}});
    for (const std::size_t o : {2U, 3U}) g.ops[o].phase = graph::Phase::Backward;
    g.parameters[0].gradient = graph::OpId(3);
    g.parameters[1].gradient = graph::OpId(2);
    g.parameters[1].bytes = Bytes(36);
    const auto layout = whole(g);
    PolicyInput input{g, layout, {}};
    input.workers = 4;
    input.pulls_at_worker = input.pulls_at_server = Duration::us(2);
    return make_order("staggered", input).start_offsets;
  };
  EXPECT_EQ(offsets(1), times({0, 2, 4, 6}));
  EXPECT_EQ(offsets(4), times({0, 0, 4, 4}));
  EXPECT_EQ(offsets(10), times({0, 0, 0, 0}));
}

TEST(Wfbp, OrdersNothing) {
  const auto g = make_graph({"a"}, {{1, {0}}});
  const auto order = make_order("wfbp", {g, whole(g), {}});
  EXPECT_EQ(order.pull.discipline, plan::Discipline::Free);
  EXPECT_EQ(order.push.discipline, plan::Discipline::Free);
}

// Ids of ops and parameters carry no meaning for tic and tac once names decide the ties.
TEST(Registry, TicAndTacDoNotDependOnTheOrderOfParameters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto g = test::random_graph({test::kShapes[seed % 4], 9, 6, false, 3, 3}, seed);
    RandomStream random(seed, "shuffle");
    const auto to = random_permutation(6, random);
    Graph shuffled = g;
    for (std::size_t p = 0; p < 6; ++p) shuffled.parameters[to[p]] = g.parameters[p];
    for (auto& op : shuffled.ops)
      for (auto& p : op.reads) p = ParameterId(to[p.index()]);
    const auto names = [](const Graph& of, const plan::Order& order) {
      std::vector<std::string> result;
      for (const auto t : by_rank(order)) result.push_back(of.parameters[t].name);
      return result;
    };
    const auto m = [](const Graph& of) {
      std::vector<Duration> result;
      for (const auto& p : of.parameters) result.push_back(Duration::us(p.bytes.count()));
      return result;
    };
    for (const auto* policy : {"tic", "tac", "fifo", "reverse"})
      EXPECT_EQ(names(g, make_order(policy, {g, whole(g), m(g)})),
                names(shuffled, make_order(policy, {shuffled, whole(shuffled), m(shuffled)})));
  }
}

TEST(Registry, FixedRandomDependsOnTheSeed) {
  const auto g = test::random_graph({test::Shape::Chain, 9, 9}, 1);
  const auto layout = whole(g);
  EXPECT_NE(make_order("fixed_random", {g, layout, {}, 1}).pull.rank,
            make_order("fixed_random", {g, layout, {}, 2}).pull.rank);
}

std::string errors(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

TEST(Registry, WrongNamesAndOptionsAreTheUsersFault) {
  const auto g = test::random_graph({}, 1);
  const auto layout = whole(g);
  const PolicyInput input{g, layout, {}};
  EXPECT_NE(errors([&] { make_order("ffio", input); }).find("did you mean 'fifo'?"), std::string::npos);
  EXPECT_NE(errors([&] { make_order("zzzzzzzz", input); }).find("one of random, fixed_random"), std::string::npos);
  EXPECT_NE(errors([&] {
              make_order("fifo", input, {{"ties", "name"}});
            }).find("it takes no options"),
            std::string::npos);
  EXPECT_NE(errors([&] { make_order("tic", input, {{"zzzzzzzzz", "1"}}); }).find("one of ties"), std::string::npos);
  const auto two = errors([&] { make_order("tic", input, {{"ties", "rand"}, {"tie", "x"}}); });
  EXPECT_NE(two.find("did you mean 'random'?"), std::string::npos) << two;
  EXPECT_NE(two.find("has no option 'tie'"), std::string::npos) << two;
}

}  // namespace
}  // namespace stretto::policies
