// SPDX-License-Identifier: Apache-2.0
// Checks, orders, needs and statistics of hand-made graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "models/graph/check.hpp"
#include "models/graph/order.hpp"
#include "models/graph/reduce.hpp"
#include "models/graph/statistics.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::graph {
namespace {

Op op(std::string name, std::vector<std::size_t> inputs = {}, std::vector<std::size_t> reads = {},
      Phase phase = Phase::Forward, std::int64_t time = 1) {
  Op result{std::move(name), phase, Duration::us(time), {}, {}};
  for (const auto i : inputs) result.inputs.emplace_back(i);
  for (const auto r : reads) result.reads.emplace_back(r);
  return result;
}

// Two layers, forward and backward.
Graph two_layers() {
  Graph g;
  g.name = "two";
  g.parameters = {{"w0", Bytes(100), true, OpId(3)}, {"w1", Bytes(300), true, OpId(2)}, {"step", Bytes(8), false, {}}};
  g.ops = {op("f0", {}, {0, 2}), op("f1", {0}, {1}), op("b1", {1}, {1}, Phase::Backward, 2),
           op("b0", {2}, {0}, Phase::Backward, 3)};
  return g;
}

std::string only_error(const Graph& g) {
  const auto found = check(g);
  EXPECT_EQ(found.size(), 1u) << render(found);
  return found.empty() ? "" : found.front().key + ": " + found.front().message;
}

TEST(Check, AcceptsASoundGraph) { EXPECT_TRUE(check(two_layers()).empty()) << render(check(two_layers())); }

TEST(Check, NamesACycleByItsOpsInOrder) {
  Graph g;
  g.ops = {op("start"), op("a", {0, 3}), op("b", {1}), op("c", {2}), op("after", {3})};
  EXPECT_EQ(only_error(g), "ops: ops wait for each other in a cycle: 'a' -> 'b' -> 'c' -> 'a'");
}

TEST(Check, NamesACycleReachedOnlyFromBehind) {
  Graph g;
  g.ops = {op("after", {1}), op("x", {2}), op("y", {1})};
  EXPECT_EQ(only_error(g), "ops: ops wait for each other in a cycle: 'x' -> 'y' -> 'x'");
}

TEST(Check, AnOpThatWaitsForItself) {
  Graph g;
  g.ops = {op("a", {0})};
  EXPECT_EQ(only_error(g), "ops: ops wait for each other in a cycle: 'a' -> 'a'");
}

TEST(Check, AbridgesALongCycle) {
  Graph g;
  for (std::size_t i = 0; i < 40; ++i) g.ops.push_back(op(fmt::format("o{}", i), {(i + 39) % 40}));
  const auto text = only_error(g);
  EXPECT_NE(text.find("... 27 more"), std::string::npos) << text;
}

TEST(Check, DanglingIdsAreFoundWithoutACrash) {
  Graph g = two_layers();
  g.ops[1].inputs.emplace_back(77u);
  EXPECT_EQ(only_error(g), "ops[1].inputs[1]: op 'f1' has an input that is not there");
  g = two_layers();
  g.ops[1].inputs.push_back(OpId::none());
  EXPECT_EQ(check(g).size(), 1u);
  g = two_layers();
  g.ops[0].reads.emplace_back(3u);
  EXPECT_EQ(only_error(g), "ops[0].reads[2]: op 'f0' reads a parameter that is not there");
  g = two_layers();
  g.parameters[1].gradient = OpId(9);
  EXPECT_EQ(only_error(g), "parameters[1].gradient: the gradient of 'w1' comes from an op that is not there");
}

TEST(Check, DuplicateAndEmptyNames) {
  Graph g = two_layers();
  g.ops[2].name = "f0";
  g.parameters[1].name = "w0";
  g.parameters[2].name = "";
  const auto found = check(g);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].key, "ops[2].name");
  EXPECT_EQ(found[1].key, "parameters[1].name");
  EXPECT_EQ(found[2].key, "parameters[2].name");
}

TEST(Check, NumbersOutOfRange) {
  Graph g = two_layers();
  g.batch = 0;
  g.ops[0].time = Duration::ps(-1);
  g.parameters[0].bytes = Bytes(0);
  EXPECT_EQ(check(g).size(), 3u);
  g = two_layers();
  g.ops[0].time = kMaxTotalTime;
  g.ops[1].time = kMaxTotalTime;
  g.parameters[0].bytes = kMaxTotalBytes;
  EXPECT_EQ(check(g).size(), 2u);
  g = two_layers();
  g.batch = kMaxBatch + 1;
  g.ops[0].flops = std::numeric_limits<double>::infinity();
  g.ops[1].memory_bytes = 2 * kMaxAmount;
  g.ops[2].fixed_bytes = -1;
  EXPECT_EQ(check(g).size(), 4u);
}

TEST(Check, GradientsComeAfterTheForwardPass) {
  Graph g = two_layers();
  g.parameters[0].gradient = OpId(1);
  EXPECT_EQ(only_error(g), "parameters[0].gradient: the gradient of 'w0' comes from forward op 'f1'");
  g = two_layers();
  g.ops.push_back(op("late", {3}, {0}));
  EXPECT_EQ(only_error(g), "ops[4].inputs[0]: forward op 'late' comes after backward op 'b0'");
  g = two_layers();
  g.parameters[2].gradient = OpId(3);
  EXPECT_EQ(only_error(g), "parameters[2].gradient: 'step' has a gradient but is not trainable");
}

TEST(Check, AnEmptyGraphHasNothingToRun) { EXPECT_EQ(only_error(Graph()), "ops: the graph has no ops"); }

TEST(Order, TakesTheSmallestReadyId) {
  Graph g;
  g.ops = {op("0", {3}), op("1"), op("2", {1}), op("3"), op("4")};
  std::vector<std::uint32_t> ids;
  for (const OpId id : topological_order(g)) ids.push_back(id.index());
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{1, 2, 3, 0, 4}));
}

TEST(Order, ACycleIsOurFault) {
  Graph g;
  g.ops = {op("a", {1}), op("b", {0})};
  EXPECT_THROW(topological_order(g), InternalError);
}

TEST(Order, NeedsGoThroughOtherOps) {
  const auto rows = needs(two_layers());
  EXPECT_TRUE(rows.test(0, 0) && !rows.test(0, 1) && rows.test(0, 2));
  EXPECT_EQ(rows.count(0), 2u);
  for (std::size_t o = 1; o < 4; ++o) EXPECT_EQ(rows.count(o), 3u) << o;
}

TEST(Order, NeedsOfMoreThanOneWord) {
  Graph g;
  for (std::size_t p = 0; p < 130; ++p) {
    g.parameters.push_back({fmt::format("p{}", p), Bytes(4), true, {}});
    g.ops.push_back(p == 0 ? op("o0", {}, {0}) : op(fmt::format("o{}", p), {p - 1}, {p}));
  }
  const auto rows = needs(g);
  for (std::size_t p = 0; p < 130; ++p) {
    EXPECT_EQ(rows.count(p), p + 1);
    std::size_t next = 0;
    for_each_bit(rows.row(p), [&](std::size_t bit) { EXPECT_EQ(bit, next++); });
  }
}

TEST(Statistics, OfTwoLayers) {
  const auto s = statistics(two_layers());
  EXPECT_EQ(s.forward_ops, 2u);
  EXPECT_EQ(s.backward_ops, 2u);
  EXPECT_EQ(s.edges, 3u);
  EXPECT_EQ(s.bytes, Bytes(408));
  EXPECT_EQ(s.gradient_bytes, Bytes(400));
  EXPECT_EQ(s.gradients, 2u);
  EXPECT_EQ(s.unread_parameters, 0u);
  EXPECT_EQ(s.forward_time, Duration::us(2));
  EXPECT_EQ(s.backward_time, Duration::us(5));
  EXPECT_EQ(s.critical_path, Duration::us(7));
  EXPECT_EQ(s.widest, ParameterId(1));
}

TEST(Reduce, MergesUpToTransfersAndGradients) {
  Graph g;
  g.parameters = {{"w0", Bytes(4), true, OpId(6)}, {"w1", Bytes(4), true, OpId(5)}};
  g.ops = {op("conv", {}, {0}),
           op("bias", {0}),
           op("relu", {1}),
           op("fc", {2}, {1}),
           op("loss", {3}),
           op("fc_grad", {4}, {1}, Phase::Backward),
           op("conv_grad", {5}, {}, Phase::Backward)};
  const auto r = reduce(g);
  ASSERT_EQ(r.graph.ops.size(), 4u);
  EXPECT_EQ(r.graph.ops[0].name, "conv");
  EXPECT_EQ(r.graph.ops[0].time, Duration::us(3));
  EXPECT_EQ(r.graph.ops[1].name, "fc");
  EXPECT_EQ(r.graph.ops[1].time, Duration::us(2));
  EXPECT_EQ(r.graph.ops[1].inputs, std::vector<OpId>{OpId(0)});
  EXPECT_EQ(r.graph.parameters[1].gradient, OpId(2));  // fc_grad ends when its gradient is complete
  EXPECT_EQ(r.graph.parameters[0].gradient, OpId(3));
  EXPECT_EQ(r.new_op[2], OpId(0));
  EXPECT_EQ(r.new_op[6], OpId(3));
}

TEST(Reduce, TimingKeepsPairsThatAnotherOpMayComeBetween) {
  Graph g;
  g.parameters = {{"w", Bytes(4), true, {}}};
  g.ops = {op("in"), op("left", {0}), op("left2", {1}), op("right", {0}, {0}), op("join", {2, 3}), op("out", {4})};
  EXPECT_EQ(reduce(g, Keep::Structure).graph.ops.size(), 4u);
  const auto exact = reduce(g);
  ASSERT_EQ(exact.graph.ops.size(), 5u);  // join + out only
  EXPECT_EQ(exact.new_op[5], exact.new_op[4]);
  EXPECT_NE(exact.new_op[1], exact.new_op[2]);
}

TEST(Reduce, ForwardOnlyDropsTheBackwardPass) {
  const auto g = forward_only(two_layers());
  EXPECT_TRUE(check(g).empty());
  ASSERT_EQ(g.ops.size(), 2u);
  EXPECT_EQ(g.parameters.size(), 3u);
  for (const Parameter& p : g.parameters) EXPECT_FALSE(p.gradient.valid());
}

// Time of ops by set of needs: what policies and bounds are made of.
std::map<std::vector<std::uint64_t>, Duration> time_by_needs(const Graph& g) {
  std::map<std::vector<std::uint64_t>, Duration> result;
  const auto rows = needs(g);
  for (std::size_t o = 0; o < g.ops.size(); ++o) {
    const auto row = rows.row(o);
    result[{row.begin(), row.end()}] += g.ops[o].time;
  }
  return result;
}

TEST(RandomGraphs, AreSoundAndSeeded) {
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 60; ++seed)
      for (const bool training : {false, true}) {
        const test::RandomGraphSpec spec{shape, 1 + seed % 9, 1 + seed % 5, training};
        const auto g = test::random_graph(spec, seed);
        ASSERT_TRUE(check(g).empty()) << render(check(g));
        EXPECT_EQ(statistics(g).unread_parameters, 0u);
        EXPECT_EQ(statistics(g).gradients, training ? g.parameters.size() : 0u);
        EXPECT_EQ(g.ops.front().time, test::random_graph(spec, seed).ops.front().time);
      }
}

TEST(RandomGraphs, ReductionKeepsWhatItPromises) {
  std::size_t merged = 0;
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 100; ++seed)
      for (const auto keep : {Keep::Timing, Keep::Structure}) {
        const auto g = test::random_graph({shape, 2 + seed % 12, 1 + seed % 3, seed % 2 == 1}, seed);
        const auto r = reduce(g, keep);
        ASSERT_TRUE(check(r.graph).empty()) << render(check(r.graph));
        merged += g.ops.size() - r.graph.ops.size();
        EXPECT_EQ(critical_path(r.graph), critical_path(g));
        EXPECT_EQ(time_by_needs(r.graph), time_by_needs(g));
        const auto again = reduce(r.graph, keep);
        EXPECT_EQ(again.graph.ops.size(), r.graph.ops.size());
        EXPECT_LE(reduce(g, Keep::Structure).graph.ops.size(), r.graph.ops.size());
        for (std::size_t p = 0; p < g.parameters.size(); ++p)
          if (g.parameters[p].gradient.valid()) {
            EXPECT_EQ(r.graph.parameters[p].gradient, r.new_op[g.parameters[p].gradient.index()]);
          }
      }
  EXPECT_GT(merged, 200u);
}

// Ops of each pair that Keep::Timing merged are ordered against every other op.
TEST(RandomGraphs, TimingMergesNothingThatAnotherOpMayComeBetween) {
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto g = test::random_graph({shape, 2 + seed % 9, 2, false}, seed);
      const auto n = g.ops.size();
      BitMatrix before(n, n);
      for (const OpId o : topological_order(g))
        for (const OpId input : g.ops[o.index()].inputs) {
          before.set(o.index(), input.index());
          before.merge(o.index(), input.index());
        }
      const auto r = reduce(g);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b) {
          if (r.new_op[a] != r.new_op[b]) continue;
          for (std::size_t o = 0; o < n; ++o)
            EXPECT_TRUE(o == a || o == b || before.test(a, o) || before.test(o, a)) << seed;
        }
    }
}

TEST(RandomGraphs, TopologicalOrderIsTheLeastOne) {
  for (const auto shape : test::kShapes)
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto g = test::random_graph({shape, 1 + seed % 10, 1, true}, seed);
      std::vector<bool> done(g.ops.size(), false);
      for (const OpId taken : topological_order(g)) {
        for (std::size_t o = 0; o < g.ops.size(); ++o) {
          const auto& inputs = g.ops[o].inputs;
          const bool ready = !done[o] && std::all_of(inputs.begin(), inputs.end(), [&](OpId input) {
            return static_cast<bool>(done[input.index()]);
          });
          if (o <= taken.index()) {
            EXPECT_EQ(ready, o == taken.index());
          }
        }
        done[taken.index()] = true;
      }
    }
}

}  // namespace
}  // namespace stretto::graph
