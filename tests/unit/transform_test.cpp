// SPDX-License-Identifier: Apache-2.0
// Transforms of graphs against figures by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/graph/canonical.hpp"
#include "models/graph/check.hpp"
#include "models/graph/order.hpp"
#include "models/graph/transform.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::graph {
namespace {

// Layers 0, 1, 2: forward f0 -> f1 -> f2, backward b2 -> b1 -> b0 -> input gradient, weights w0, w1, w2.
Graph three_layers() {
  Graph g;
  g.name = "three";
  g.batch = 8;
  const auto op = [&](const char* name, Phase phase, std::int64_t us, std::vector<OpId> inputs) {
    g.ops.push_back({name, phase, Duration::us(us), std::move(inputs), {}, 80, 16});
  };
  op("f0", Phase::Forward, 10, {});
  op("f1", Phase::Forward, 20, {OpId(0)});
  op("f2", Phase::Forward, 30, {OpId(1)});
  op("b2", Phase::Backward, 40, {OpId(2)});
  op("b1", Phase::Backward, 50, {OpId(3), OpId(1)});
  op("b0", Phase::Backward, 60, {OpId(4), OpId(0)});
  op("input gradient", Phase::Backward, 5, {OpId(5)});
  op("summary", Phase::Backward, 1, {OpId(3)});
  for (std::size_t i = 0; i < 3; ++i) {
    g.parameters.push_back({fmt::format("w{}", i), Bytes(10 + static_cast<std::int64_t>(i)), true, OpId(5 - i), -1});
    g.ops[i].reads.emplace_back(i);
  }
  return g;
}

std::vector<std::string> names(const Graph& g) {
  std::vector<std::string> out;
  for (const Op& op : g.ops) out.push_back(op.name);
  return out;
}

using Names = std::vector<std::string>;

TEST(WithBatch, ScalesTheShareThatGrows) {
  const Graph g = with_batch(three_layers(), 32, 0.25);  // 0.25 + 0.75 * 4 = 3.25
  EXPECT_EQ(g.batch, 32);
  EXPECT_EQ(g.ops[0].time, Duration::ns(32'500));
  EXPECT_EQ(g.ops[5].time, Duration::us(195));
  EXPECT_EQ(g.ops[0].flops, 320);
  EXPECT_EQ(g.parameters[0].bytes, Bytes(10));
  EXPECT_EQ(with_batch(three_layers(), 4, 0).ops[1].time, Duration::us(10));
  EXPECT_EQ(with_batch(three_layers(), 4, 1).ops[1].time, Duration::us(20));
}

TEST(WithBatch, WeightsAreReadOnceWhateverTheBatch) {
  Graph g = three_layers();
  g.ops[0].memory_bytes = 100;
  g.ops[0].fixed_bytes = 40;
  g.ops[1].memory_bytes = g.ops[1].fixed_bytes = 50;  // works on weights alone
  const double flops = g.ops[1].flops;
  const Graph four = with_batch(g, 32, 0);
  EXPECT_EQ(four.ops[0].memory_bytes, 40 + 4 * 60);
  EXPECT_EQ(four.ops[0].flops, 320);
  EXPECT_EQ(four.ops[1].memory_bytes, 50);
  EXPECT_EQ(four.ops[1].flops, flops);
}

TEST(Paths, TheLongestOneBehindEachOp) {
  const Graph g = three_layers();
  const std::vector<Duration> path = paths_to_end(g);
  EXPECT_EQ(*std::max_element(path.begin(), path.end()), critical_path(g));
  EXPECT_EQ(path.back(), g.ops.back().time);
  for (std::size_t i = 0; i < g.ops.size(); ++i)
    for (const OpId input : g.ops[i].inputs) EXPECT_GE(path[input.index()], g.ops[input.index()].time + path[i]);
}

TEST(WithBytes, RoundsUpAndLeavesAtLeastOne) {
  const Graph g = with_bytes(three_layers(), 0.25);
  EXPECT_EQ(g.parameters[0].bytes, Bytes(3));
  EXPECT_EQ(g.parameters[2].bytes, Bytes(3));
  EXPECT_EQ(with_bytes(three_layers(), 1e-9).parameters[1].bytes, Bytes(1));
  EXPECT_EQ(with_bytes(three_layers(), 1).parameters[1].bytes, Bytes(11));
}

TEST(Freeze, DropsBackwardOpsThatServeOnlyFrozenLayers) {
  const Frozen f = freeze(three_layers(), {"w0", "w1"});
  EXPECT_EQ(names(f.graph), (Names{"f0", "f1", "f2", "b2", "summary"}));
  EXPECT_EQ(f.parameters, 2U);
  EXPECT_EQ(f.dropped_ops, 3U);
  EXPECT_FALSE(f.graph.parameters[0].gradient.valid());
  EXPECT_FALSE(f.graph.parameters[1].trainable);
  EXPECT_EQ(f.graph.parameters[2].gradient, OpId(3));
  EXPECT_EQ(f.graph.ops[1].reads, (std::vector<ParameterId>{ParameterId(1)}));
  EXPECT_TRUE(check(f.graph).empty());
}

TEST(Freeze, KeepsWhatARemainingGradientNeeds) {
  const Frozen f = freeze(three_layers(), {"w[12]", "w2", "nothing*"});
  EXPECT_EQ(f.dropped_ops, 0U);  // b2 leads to b1 and b0
  EXPECT_FALSE(f.graph.parameters[2].gradient.valid());
  EXPECT_TRUE(f.graph.parameters[1].gradient.valid());
  EXPECT_EQ(f.idle_patterns, (std::vector<std::size_t>{0, 2}));
}

TEST(LeaveOut, UsersWaitForAllThatTheOpWaitedFor) {
  const Graph g = three_layers();
  const LeftOut left = leave_out(g, {"f1", "inp*t", "nothing*"});
  EXPECT_EQ(names(left.graph), (Names{"f0", "f2", "b2", "b1", "b0", "summary"}));
  EXPECT_EQ(left.ops, 2U);
  EXPECT_EQ(left.idle_patterns, (std::vector<std::size_t>{2}));
  EXPECT_TRUE(left.gradients.empty());
  const Op& f2 = left.graph.ops[1];
  EXPECT_EQ(f2.inputs, (std::vector<OpId>{OpId(0)}));
  EXPECT_EQ(f2.reads, (std::vector<ParameterId>{ParameterId(2), ParameterId(1)}));
  const Op& b1 = left.graph.ops[3];  // of b2 and f1
  EXPECT_EQ(b1.inputs, (std::vector<OpId>{OpId(2), OpId(0)}));
  EXPECT_EQ(b1.reads, (std::vector<ParameterId>{ParameterId(1)}));
  EXPECT_EQ(left.graph.parameters[0].gradient, OpId(4));
  EXPECT_TRUE(check(left.graph).empty());
}

TEST(LeaveOut, OpsThatCompleteAGradientStay) {
  const LeftOut left = leave_out(three_layers(), {"b*"});
  EXPECT_EQ(left.gradients, (std::vector<OpId>{OpId(5), OpId(4), OpId(3)}));
  EXPECT_EQ(left.ops, 0U);
}

TEST(LeaveOut, RandomGraphsKeepTheirOrderOfOps) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph g = test::random_graph({test::kShapes[seed % 4], 9, 6, true}, seed);
    const std::string gone = g.ops[seed % g.ops.size()].name;
    const LeftOut left = leave_out(g, {gone});
    ASSERT_TRUE(check(left.graph).empty()) << seed;
    ASSERT_EQ(left.graph.ops.size() + left.ops, g.ops.size());
    // An op that had to come before another one still has to, if both are there.
    const auto before = [](const Graph& graph) {
      std::set<std::pair<std::string, std::string>> pairs;
      std::vector<std::set<std::size_t>> needs(graph.ops.size());
      for (const OpId id : topological_order(graph))
        for (const OpId input : graph.ops[id.index()].inputs) {
          needs[id.index()].insert(input.index());
          needs[id.index()].insert(needs[input.index()].begin(), needs[input.index()].end());
        }
      for (std::size_t o = 0; o < needs.size(); ++o)
        for (const std::size_t i : needs[o]) pairs.emplace(graph.ops[i].name, graph.ops[o].name);
      return pairs;
    };
    auto expected = before(g);
    if (left.ops == 1) std::erase_if(expected, [&](const auto& p) { return p.first == gone || p.second == gone; });
    ASSERT_EQ(before(left.graph), expected) << seed;
  }
}

TEST(Freeze, AllOfIt) {
  const Frozen f = freeze(three_layers(), {"*"});
  EXPECT_EQ(names(f.graph), (Names{"f0", "f1", "f2"}));
  EXPECT_EQ(f.parameters, 3U);
}

TEST(Freeze, RandomGraphsStayGraphs) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph g = test::random_graph({test::kShapes[seed % 4], 9, 6, true}, seed);
    const Frozen f = freeze(g, {g.parameters[seed % 6].name, g.parameters[(seed + 2) % 6].name});
    ASSERT_TRUE(check(f.graph).empty()) << seed;
    ASSERT_EQ(f.graph.ops.size() + f.dropped_ops, g.ops.size());
    for (std::size_t p = 0; p < 6; ++p)
      if (f.graph.parameters[p].gradient.valid()) {
        ASSERT_EQ(f.graph.ops[f.graph.parameters[p].gradient.index()].name,
                  g.ops[g.parameters[p].gradient.index()].name);
      }
  }
}

TEST(Matches, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches("conv1/*", "conv1/weights"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(matches("fc?/w", "fc6/w"));
  EXPECT_FALSE(matches("conv1/*", "conv10/weights"));
  EXPECT_FALSE(matches("a*b", "abc"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_FALSE(matches("a*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(CanonicalText, ChangesWithStructureAndNotWithTimes) {
  const Graph g = three_layers();
  Graph h = g;
  h.batch = 1;
  h.source = "elsewhere";
  h.ops[0].time = Duration::us(1);
  EXPECT_EQ(canonical_text(g), canonical_text(h));
  h = g;
  h.parameters[0].bytes = Bytes(9);
  EXPECT_NE(canonical_text(g), canonical_text(h));
  h = g;
  h.ops[4].inputs.pop_back();
  EXPECT_NE(canonical_text(g), canonical_text(h));
  EXPECT_NE(canonical_text(g), canonical_text(freeze(g, {"w0"}).graph));
  Graph a;
  a.parameters = {{"x 1 1\nparameter 1:y", Bytes(1), true, {}, -1}};
  Graph b;
  b.parameters = {{"x", Bytes(1), true, {}, -1}, {"y", Bytes(1), true, {}, -1}};
  EXPECT_NE(canonical_text(a), canonical_text(b));
}

}  // namespace
}  // namespace stretto::graph
