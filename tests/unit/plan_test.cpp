// SPDX-License-Identifier: Apache-2.0
// Partition of layouts, orders by names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/plan/named.hpp"
#include "models/plan/partition.hpp"
#include "sim/base/random.hpp"

namespace stretto::plan {
namespace {

using graph::ParameterId;
using Ranks = std::vector<std::uint32_t>;

// Parameters of the given transfers, "p0", "p1", ...: (bytes, server) each.
Layout layout_of(const std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>>& parameters) {
  Layout layout;
  layout.servers = 2;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    std::uint32_t slice = 0;
    for (const auto& [bytes, server] : parameters[p])
      layout.transfers.push_back({ParameterId(p), slice++, Bytes(bytes), server});
    layout.first.push_back(static_cast<std::uint32_t>(layout.transfers.size()));
  }
  return layout;
}

graph::Graph graph_of(const std::vector<std::string>& names) {
  graph::Graph g;
  for (const std::string& name : names) g.parameters.push_back({name, Bytes(8), true, {}, -1});
  return g;
}

std::string text(const Layout& layout) {
  std::string out;
  for (const Transfer& t : layout.transfers)
    out += fmt::format("p{}.{}={}@{} ", t.parameter.index(), t.slice, t.bytes.count(), t.server);
  return out;
}

TEST(Partition, CutsEvenlyInWholeElementsAndStaysOnTheServer) {
  const Layout cut = partition(layout_of({{{40, 1}}, {{12, 0}, {20, 1}}, {{7, 0}}}), Bytes(16));
  EXPECT_EQ(text(cut), "p0.0=16@1 p0.1=12@1 p0.2=12@1 p1.0=12@0 p1.1=12@1 p1.2=8@1 p2.0=7@0 ");
  EXPECT_EQ(cut.first, (Ranks{0, 3, 6, 7}));
  EXPECT_EQ(text(partition(layout_of({{{7, 0}}}), Bytes(3))), "p0.0=3@0 p0.1=2@0 p0.2=2@0 ");
  EXPECT_EQ(text(partition(layout_of({{{8, 0}}}), Bytes(3))), "p0.0=3@0 p0.1=3@0 p0.2=2@0 ");
}

TEST(Partition, KeepsBytesPerServerAndTheLimit) {
  RandomStream random(3, "partition");
  for (int i = 0; i < 300; ++i) {
    std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> parameters(1 + random.below(4));
    std::int64_t bytes[2] = {0, 0};
    for (auto& p : parameters)
      for (std::size_t k = 0; k < 1 + random.below(3); ++k) {
        p.emplace_back(1 + static_cast<std::int64_t>(random.below(100)), random.below(2));
        bytes[p.back().second] += p.back().first;
      }
    const Bytes limit(1 + static_cast<std::int64_t>(random.below(40)));
    const Layout cut = partition(layout_of(parameters), limit);
    ASSERT_EQ(cut.first.size(), parameters.size() + 1);
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::uint32_t t = cut.first[p]; t < cut.first[p + 1]; ++t) {
        ASSERT_EQ(cut.transfers[t].parameter, ParameterId(p));
        ASSERT_EQ(cut.transfers[t].slice, t - cut.first[p]);
        ASSERT_GT(cut.transfers[t].bytes, Bytes());
        ASSERT_LE(cut.transfers[t].bytes, limit);
        bytes[cut.transfers[t].server] -= cut.transfers[t].bytes.count();
      }
    ASSERT_EQ(bytes[0], 0);
    ASSERT_EQ(bytes[1], 0);
  }
}

TEST(Partition, RefusesWhatMakesNoPlan) {
  EXPECT_THROW(partition(layout_of({{{8, 0}}}), Bytes(0)), UserError);
  EXPECT_THROW(partition(layout_of({{{std::int64_t{1} << 40, 0}}}), Bytes(4)), UserError);
}

TEST(NamedOrder, RanksTransfersOfANamedOrder) {
  const graph::Graph g = graph_of({"a", "b", "c"});
  const Layout layout = layout_of({{{4, 0}, {4, 1}}, {{8, 0}}, {{4, 0}, {4, 1}}});
  const NamedOrder order{{"c", 7, {}}, {"a", 3, {}}};
  EXPECT_EQ(ranks_of(order, g, layout, Slices::Adjacent), (Ranks{0, 1, kUnranked, 2, 3}));
  EXPECT_EQ(ranks_of(order, g, layout, Slices::Equal), (Ranks{3, 3, kUnranked, 7, 7}));
  const NamedOrder ties{{"c", 1, {}}, {"b", 1, {}}, {"a", 1, {}}};
  EXPECT_EQ(ranks_of(ties, g, layout, Slices::Adjacent), (Ranks{0, 1, 2, 3, 4}));
}

TEST(NamedOrder, RefusesUnknownAndDoubledNamesWithPlaces) {
  const graph::Graph g = graph_of({"weights", "biases"});
  const Layout layout = layout_of({{{8, 0}}, {{8, 0}}});
  try {
    ranks_of({{"wieghts", 0, {"o.txt", 1, 1, 7, ""}}, {"biases", 1, {}}, {"biases", 2, {"o.txt", 3, 1, 6, ""}}}, g,
             layout, Slices::Adjacent);
    FAIL();
  } catch (const UserError& e) {
    ASSERT_EQ(e.diagnostics().size(), 2U);
    EXPECT_EQ(e.diagnostics()[0].hint, "did you mean 'weights'?");
    EXPECT_EQ(e.diagnostics()[0].span.line, 1);
    EXPECT_EQ(e.diagnostics()[1].span.line, 3);
  }
}

TEST(SlicesInTurn, ServersTakeTurns) {
  plan::Layout layout;
  layout.servers = 3;
  layout.first = {0, 1, 7};
  for (const std::uint32_t server : {2U, 0U, 0U, 0U, 1U, 1U, 2U})
    layout.transfers.push_back({graph::ParameterId(0), 0, Bytes(4), server});
  EXPECT_EQ(plan::slices_in_turn(layout, 0), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(plan::slices_in_turn(layout, 1), (std::vector<std::uint32_t>{1, 4, 6, 2, 5, 3}));
}

}  // namespace
}  // namespace stretto::plan
