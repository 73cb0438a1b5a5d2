// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "models/placement/placement.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"

namespace stretto::placement {
namespace {

graph::Graph with_bytes(const std::vector<std::int64_t>& bytes) {
  graph::Graph g;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    g.parameters.push_back({fmt::format("v{}", i), Bytes(bytes[i]), i % 2 == 0, {}});
  return g;
}

std::vector<std::uint32_t> servers_of(const plan::Layout& layout) {
  std::vector<std::uint32_t> result;
  for (const auto& t : layout.transfers) result.push_back(t.server);
  return result;
}

std::vector<std::int64_t> bytes_of(const plan::Layout& layout) {
  std::vector<std::int64_t> result;
  for (const auto& t : layout.transfers) result.push_back(t.bytes.count());
  return result;
}

using Servers = std::vector<std::uint32_t>;
using Sizes = std::vector<std::int64_t>;

TEST(Placement, RoundRobinCountsEveryVariable) {
  EXPECT_EQ(servers_of(place("round_robin", with_bytes({4, 4, 4, 4, 4}), 3)), (Servers{0, 1, 2, 0, 1}));
}

TEST(Placement, GreedyTakesTheLeastLoadedLowestIndex) {
  EXPECT_EQ(servers_of(place("greedy", with_bytes({8, 4, 4, 4, 12, 4}), 3)), (Servers{0, 1, 2, 1, 2, 0}));
}

TEST(Placement, PartitionedCutsInAsManyPartsAsServers) {
  const auto layout = place("partitioned", with_bytes({40, 8, 4}), 3);
  EXPECT_EQ(bytes_of(layout), (Sizes{16, 12, 12, 4, 4, 4}));
  EXPECT_EQ(servers_of(layout), (Servers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(layout.first, (Servers{0, 3, 5, 6}));
  EXPECT_EQ(layout.transfers[4].slice, 1u);
  EXPECT_EQ(layout.transfers[4].parameter, graph::ParameterId(1));
}

TEST(Placement, PartitionedByPartsGoesOnWhereTheLastVariableEnded) {
  Options options;
  options.parts = 2;
  EXPECT_EQ(servers_of(place("partitioned", with_bytes({8, 8, 8}), 3, options)), (Servers{0, 1, 2, 0, 1, 2}));
}

TEST(Placement, PartitionedBySizeNeverExceedsIt) {
  Options options;
  options.slice = Bytes(10);
  EXPECT_EQ(bytes_of(place("partitioned", with_bytes({20, 8, 25}), 2, options)), (Sizes{8, 8, 4, 8, 9, 8, 8}));
  options.slice = Bytes(3);
  EXPECT_EQ(bytes_of(place("partitioned", with_bytes({8}), 2, options)), (Sizes{3, 3, 2}));
}

TEST(Placement, ByNameFollowsTheList) {
  Options options;
  options.servers = {{"v1", 0}, {"v0", 1}};
  EXPECT_EQ(servers_of(place("by_name", with_bytes({4, 4}), 2, options)), (Servers{1, 0}));
}

std::string errors(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

TEST(Placement, ByNameReportsEveryMistake) {
  Options options;
  options.servers = {{"v0", 0}, {"v0", 1}, {"v9", 0}, {"v1", 2}};
  const auto text = errors([&] { place("by_name", with_bytes({4, 4}), 2, options); });
  EXPECT_NE(text.find("'v0' twice"), std::string::npos) << text;
  EXPECT_NE(text.find("no such variable"), std::string::npos) << text;
  EXPECT_NE(text.find("'v1' on server 2"), std::string::npos) << text;
  options.servers = {{"v0", 0}};
  EXPECT_NE(errors([&] {
              place("by_name", with_bytes({4, 4}), 2, options);
            }).find("does not place 'v1'"),
            std::string::npos);
}

TEST(Placement, WrongInputIsTheUsersFault) {
  const auto g = with_bytes({1 << 30});
  EXPECT_NE(errors([&] { place("gredy", g, 2); }).find("did you mean 'greedy'?"), std::string::npos);
  EXPECT_NE(errors([&] { place("greedy", g, 0); }).find("no servers"), std::string::npos);
  Options options;
  options.parts = 2;
  EXPECT_NE(errors([&] { place("greedy", g, 2, options); }).find("takes no option parts"), std::string::npos);
  options.slice = Bytes(4);
  EXPECT_NE(errors([&] { place("partitioned", g, 2, options); }).find("not both"), std::string::npos);
  options.parts.reset();
  EXPECT_NE(errors([&] { place("partitioned", g, 2, options); }).find("larger slices"), std::string::npos);
  options.slice = Bytes(0);
  EXPECT_NE(errors([&] { place("partitioned", g, 2, options); }).find("slice is 0"), std::string::npos);
  options.slice.reset();
  options.parts = 0;
  EXPECT_NE(errors([&] { place("partitioned", g, 2, options); }).find("parts is 0"), std::string::npos);
}

TEST(Placement, EveryPlacementLaysOutEveryByteOnce) {
  RandomStream random(7, "placement");
  for (const Placement& placement : placements())
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<std::int64_t> bytes;
      for (std::uint64_t n = random.below(12); n-- > 0;)
        bytes.push_back(1 + static_cast<std::int64_t>(random.below(90)));
      const auto g = with_bytes(bytes);
      const auto servers = static_cast<std::uint32_t>(1 + random.below(5));
      Options options;
      if (placement.name == "by_name")
        for (const auto& p : g.parameters)
          options.servers.emplace_back(p.name, static_cast<std::uint32_t>(random.below(servers)));
      if (placement.name == "partitioned" && trial % 3 == 1) options.parts = 1 + static_cast<std::uint32_t>(trial % 7);
      if (placement.name == "partitioned" && trial % 3 == 2) options.slice = Bytes(1 + trial % 17);
      const auto layout = place(placement.name, g, servers, options);
      ASSERT_EQ(layout.first.size(), bytes.size() + 1);
      ASSERT_EQ(layout.first.back(), layout.transfers.size());
      EXPECT_EQ(layout.servers, servers);
      for (std::size_t p = 0; p < bytes.size(); ++p) {
        std::int64_t sum = 0;
        Sizes sizes;
        ASSERT_LT(layout.first[p], layout.first[p + 1]);
        for (auto t = layout.first[p]; t < layout.first[p + 1]; ++t) {
          const auto& transfer = layout.transfers[t];
          EXPECT_EQ(transfer.parameter.index(), p);
          EXPECT_EQ(transfer.slice, t - layout.first[p]);
          EXPECT_LT(transfer.server, servers);
          EXPECT_GT(transfer.bytes, Bytes(0));
          sum += transfer.bytes.count();
          sizes.push_back(transfer.bytes.count());
        }
        EXPECT_EQ(sum, bytes[p]);
        const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
        EXPECT_LE(*most - *least, bytes[p] % 4 == 0 ? 4 : 1);
        if (options.slice) {
          EXPECT_LE(*most, options.slice->count());
        }
      }
    }
}

}  // namespace
}  // namespace stretto::placement
