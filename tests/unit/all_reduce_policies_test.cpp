// SPDX-License-Identifier: Apache-2.0
// Policies for all-reduce against their published rules, on cases worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/plan/fusion.hpp"
#include "schedulers/policies/all_reduce.hpp"
#include "sim/base/random.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::policies {
namespace {

using Buckets = std::vector<std::uint32_t>;

plan::Layout whole(const graph::Graph& g) {
  plan::Layout layout;
  layout.first = {0};
  for (std::uint32_t p = 0; p < g.parameters.size(); ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, g.parameters[p].bytes, 0});
    layout.first.push_back(p + 1);
  }
  return layout;
}

// Backward ops b2, b1, b0 of 1 ms each after three forward ops; bytes by variable.
graph::Graph chain(const std::vector<std::int64_t>& bytes) {
  graph::Graph g;
  const std::uint32_t n = static_cast<std::uint32_t>(bytes.size());
  for (std::uint32_t i = 0; i < n; ++i)
    g.parameters.push_back({fmt::format("v{}", i), Bytes(bytes[i]), true, graph::OpId(2 * n - 1 - i)});
  for (std::uint32_t i = 0; i < 2 * n; ++i) {
    graph::Op op{
        fmt::format("op{}", i), i < n ? graph::Phase::Forward : graph::Phase::Backward, Duration::ms(1), {}, {}};
    if (i > 0) op.inputs = {graph::OpId(i - 1)};
    if (i < n) op.reads = {graph::ParameterId(i)};
    g.ops.push_back(op);
  }
  return g;
}

TEST(Fusion, IsGreedyInTheOrderOfReadiness) {
  const graph::Graph g = chain({30, 10, 50, 20, 20});
  plan::Layout layout = whole(g);
  plan::fuse(g, layout, Bytes());
  EXPECT_EQ(layout.bucket, (Buckets{4, 3, 2, 1, 0}));
  plan::fuse(g, layout, Bytes(40));
  EXPECT_EQ(layout.bucket, (Buckets{2, 2, 1, 0, 0})) << "20 + 20, 50 alone, 10 + 30";
  EXPECT_EQ(plan::bucket_bytes(layout), (std::vector<Bytes>{Bytes(40), Bytes(50), Bytes(40)}));
  plan::fuse(g, layout, Bytes(1000));
  EXPECT_EQ(layout.bucket, (Buckets{0, 0, 0, 0, 0}));
}

TEST(Fusion, LeavesOutWhatHasNoGradient) {
  graph::Graph g = chain({10, 10, 10});
  g.parameters[1].gradient = {};
  plan::Layout layout = whole(g);
  plan::fuse(g, layout, Bytes(20));
  EXPECT_EQ(layout.bucket, (Buckets{0, plan::kUnranked, 0}));
}

// a = 2 ms, b = 1 ns/B. Layers in the order of becoming ready:
//   4: at 1 ms, 1 MB: 1..4 ms. Layer 3 is ready at 2 ms, 1 ms after its start: less than a, merged (2 MB: 2..6 ms)
//   3: layer 2 is ready at 5 ms, before the end at 6 but 3 ms after the start at 2: not merged
//   2: at 5 ms, 1 MB, begins at 6 ms; layer 1 is ready at 5.5 ms, before it begins: merged (3 MB)
TEST(MgWfbp, HandMadeCase) {
  const CollectiveCost cost{Duration::ms(2), 1000.0};
  const std::vector<ReadyLayer> layers{{Duration::ms(1), Bytes(1'000'000)},
                                       {Duration::ms(2), Bytes(1'000'000)},
                                       {Duration::ms(5), Bytes(1'000'000)},
                                       {Duration::us(5500), Bytes(2'000'000)}};
  EXPECT_EQ(merge_gradients(layers, cost), (Buckets{0, 0, 1, 1}));
  EXPECT_EQ(merge_gradients(layers, {Duration(), 1000.0}), (Buckets{0, 1, 2, 3})) << "a start costs nothing";
  EXPECT_EQ(merge_gradients(layers, {Duration::ms(100), 1000.0}), (Buckets{0, 0, 0, 0}));
}

// The rule as it is written down, with all starts computed anew after each merge.
Buckets merge_as_written(const std::vector<ReadyLayer>& layers, const CollectiveCost& cost) {
  const std::size_t n = layers.size();
  std::vector<Duration> e, tc, start(n);
  std::vector<std::int64_t> p;
  const auto cost_of = [&](std::int64_t bytes) {
    return cost.start + Duration::seconds(cost.per_byte_ps * static_cast<double>(bytes) * 1e-12);
  };
  for (const ReadyLayer& l : layers) {
    e.push_back(l.at);
    p.push_back(l.bytes.count());
    tc.push_back(cost_of(p.back()));
  }
  const auto starts = [&] {
    for (std::size_t l = 0; l < n; ++l) start[l] = l == 0 ? e[0] : std::max(start[l - 1] + tc[l - 1], e[l]);
  };
  starts();
  Buckets bucket(n, 0);
  for (std::size_t l = 0; l + 1 < n; ++l) {
    const bool merge = e[l + 1] < start[l] + tc[l] && (start[l] > e[l + 1] || e[l + 1] - start[l] < cost.start);
    bucket[l + 1] = bucket[l] + (merge ? 0 : 1);
    if (!merge) continue;
    p[l + 1] += p[l];
    tc[l] = Duration();
    tc[l + 1] = cost_of(p[l + 1]);
    starts();
  }
  return bucket;
}

TEST(MgWfbp, IsTheRuleAsWritten) {
  RandomStream random(1, "tests/mg_wfbp");
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<ReadyLayer> layers;
    Duration now;
    for (std::uint64_t l = 0, n = 1 + random.below(9); l < n; ++l) {
      now += Duration::us(static_cast<std::int64_t>(random.below(6)));
      layers.push_back({now, Bytes(static_cast<std::int64_t>(1 + random.below(6)))});
    }
    const CollectiveCost cost{Duration::us(static_cast<std::int64_t>(random.below(8))),
                              1e6 * static_cast<double>(random.below(3))};
    ASSERT_EQ(merge_gradients(layers, cost), merge_as_written(layers, cost)) << "trial " << trial;
  }
}

TEST(AllReducePolicies, LayoutsAreThoseOfTheRule) {
  const graph::Graph g = chain({9'000'000, 20'000'000, 4'000'000, 12'000'000});
  const auto layout_of = [&](const char* policy, CollectiveCost cost = {}) {
    plan::Layout layout = whole(g);
    PolicyInput input{g, layout, {}, 1, true};
    input.collective = cost;
    find_policy(policy).fuse(input, {}, layout);
    return layout;
  };
  EXPECT_EQ(layout_of("wfbp").bucket, (Buckets{3, 2, 1, 0}));
  EXPECT_FALSE(layout_of("wfbp").split);
  EXPECT_EQ(layout_of("dear").bucket, (Buckets{2, 1, 0, 0})) << "25 MB: 12 + 4, 20, 9";
  EXPECT_TRUE(layout_of("dear").split);
  EXPECT_EQ(layout_of("mg_wfbp", {Duration::ms(5), 0.1}).bucket, (Buckets{0, 0, 0, 0}));
}

TEST(AllReducePolicies, EveryGradientIsInOneBucketAndNumbersAreDense) {
  for (const Policy& policy : policies()) {
    if (policy.fuse == nullptr) continue;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const graph::Graph g = test::random_graph({test::kShapes[seed % 4], 6, 5, true}, seed);
      plan::Layout layout = whole(g);
      PolicyInput input{g, layout, {}, seed, true};
      input.collective = {Duration::us(3), 1e5};
      plan::Layout made = layout;
      policy.fuse(input, {}, made);
      ASSERT_EQ(made.bucket.size(), layout.transfers.size());
      Buckets seen;
      for (const std::uint32_t b : made.bucket)
        if (b != plan::kUnranked) seen.push_back(b);
      std::sort(seen.begin(), seen.end());
      ASSERT_FALSE(seen.empty());
      EXPECT_EQ(seen.front(), 0U);
      for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LE(seen[i] - seen[i - 1], 1U);
      const plan::Order order = make_order(policy.name, input);
      EXPECT_EQ(order.push.discipline, plan::Discipline::Free);
    }
  }
}

}  // namespace
}  // namespace stretto::policies
