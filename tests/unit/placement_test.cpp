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

// djb2 of "0": 33 x 5381 + 48 = 177621.
TEST(Placement, HashIsDjb2OfTheKey) {
  const auto djb2 = [](const std::string& text) {
    std::uint64_t h = 5381;
    for (const char c : text) h = h * 33 + static_cast<std::uint64_t>(c);
    return h;
  };
  EXPECT_EQ(djb2("0"), 177621U);
  const auto layout = place("hash", with_bytes({4, 12}), 7);
  EXPECT_EQ(servers_of(layout), (Servers{177621 % 7, static_cast<std::uint32_t>(djb2("65536") % 7)}));
  Options options;
  options.slice = Bytes(5);
  const auto cut = place("hash", with_bytes({4, 12}), 7, options);
  EXPECT_EQ(bytes_of(cut), (Sizes{4, 5, 5, 2}));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(cut.transfers[1 + i].server, djb2(std::to_string(65536 + i)) % 7);
}

TEST(Placement, P3DealsLargeVariablesFromServerZeroAndHashesSmallOnes) {
  Options options;
  options.slice = Bytes(8);
  const auto layout = place("p3", with_bytes({8, 20, 9, 4}), 3, options);
  EXPECT_EQ(bytes_of(layout), (Sizes{8, 8, 8, 4, 8, 1, 4}));
  EXPECT_EQ(servers_of(layout), (Servers{0, 0, 1, 2, 0, 1, 9973 * 3 % 3}));
  EXPECT_EQ(bytes_of(place("p3", with_bytes({200'001}), 2)), (Sizes{200'000, 1}));
}

// Load of the NICs from the layout, against the closed form: a worker's host sends what does not lie on it and what its
// server serves to the others; a host of servers alone serves all workers.
TEST(Placement, BytepsMeetsTheClosedForm) {
  Options options;
  options.slice = Bytes(1'000);
  const std::int64_t all = 100'000'000;
  const auto g = with_bytes({all});
  for (std::uint32_t n = 1; n <= 8; ++n)
    for (std::uint32_t k = 0; k <= n; ++k) {
      SCOPED_TRACE(fmt::format("n {} k {}", n, k));
      const auto layout = place("byteps", g, Hosts{n + k, n, n, false}, options);
      std::vector<std::int64_t> load(n + k, 0);
      for (const auto& t : layout.transfers) load[t.server] += t.bytes.count();
      const BestSplit split = best_split(n, k);
      EXPECT_NEAR(n * split.per_worker_host + k * split.per_server_host, 1, 1e-12);
      double nic = 0;
      for (std::uint32_t s = 0; s < n + k; ++s) {
        const double part = static_cast<double>(load[s]) / static_cast<double>(all);
        EXPECT_NEAR(part, s < n ? split.per_worker_host : split.per_server_host, 2e-5);
        nic = std::max(nic, s < n ? 1 - part + (n - 1) * part : n * part);
      }
      EXPECT_NEAR(nic, split.nic_load, 1e-3);
      const double d = static_cast<double>(n) * n + k * n - 2.0 * k;
      if (n > 1) {
        EXPECT_NEAR(split.nic_load, 2.0 * n * (n - 1) / d, 1e-12);
      }
    }
  EXPECT_NEAR(best_split(5, 0).nic_load, 2.0 * 4 / 5, 1e-12);  // that of all-reduce
  EXPECT_EQ(best_split(5, 5).nic_load, 1);
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
  EXPECT_NE(errors([&] { place("byteps", g, 2); }).find("a server on the host of each"), std::string::npos);
  EXPECT_NE(errors([&] { place("byteps", g, Hosts{5, 2, 2, false}); }).find("at most as many"), std::string::npos);
  EXPECT_NE(errors([&] { place("byteps", g, Hosts{2, 2, 2, true}); }).find("a server on the host"), std::string::npos);
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
      const bool slices = std::string(placement.options).find("size") != std::string::npos;
      if (slices && trial % 3 == 2) options.slice = Bytes(1 + trial % 17);
      // byteps: at least as many hosts with a worker as without one.
      const std::uint32_t workers = placement.name == "byteps" ? (servers + 1) / 2 : 1;
      const auto layout =
          place(placement.name, g, Hosts{servers, workers, placement.name == "byteps" ? workers : 0, false}, options);
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
        if (placement.name == "partitioned") {
          EXPECT_LE(*most - *least, bytes[p] % 4 == 0 ? 4 : 1);
        }
        if (options.slice) {
          EXPECT_LE(*most, options.slice->count());
        }
      }
    }
}

}  // namespace
}  // namespace stretto::placement
