// SPDX-License-Identifier: Apache-2.0
// Fabrics and routes: hand-made cases, and graphs against all their simple paths.
#include "models/cluster/topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/random.hpp"

namespace stretto::cluster {
namespace {

std::vector<std::uint32_t> path(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> links;
  add_path(fabric, from, to, links);
  return links;
}

std::vector<std::string> names(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> list;
  for (const std::uint32_t l : path(fabric, from, to)) list.push_back(fabric.links[l].name);
  return list;
}

TEST(Fabric, RacksAreLeftThroughTheirUplinks) {
  const Fabric racks = make_racks({Bandwidth(8), Bandwidth(16)}, {Bandwidth(24), Bandwidth(32)}, Duration::us(1));
  EXPECT_TRUE(path(racks, 1, 1).empty());
  EXPECT_EQ(names(racks, 0, 1), (std::vector<std::string>{"rack 0 uplink", "rack 1 downlink"}));
  EXPECT_EQ(racks.links[path(racks, 1, 0)[1]].rate, Bandwidth(24));
}

TEST(Fabric, FatTreeRoutesByDestination) {
  const Fabric tree = make_fat_tree(4, Bandwidth(8), Duration());
  EXPECT_EQ(tree.links.size(), 64U);
  EXPECT_TRUE(path(tree, 4, 5).empty());
  EXPECT_EQ(names(tree, 0, 3),
            (std::vector<std::string>{"pod 0 edge 0 to aggregation 1", "pod 0 aggregation 1 to edge 1"}));
  // Slot 6: pod 1, edge 1, 6 mod 2 = 0, 6 / 2 mod 2 = 1.
  EXPECT_EQ(names(tree, 0, 6),
            (std::vector<std::string>{"pod 0 edge 0 to aggregation 0", "pod 0 aggregation 0 to core 1",
                                      "core 1 to pod 1 aggregation 0", "pod 1 aggregation 0 to edge 1"}));
}

// Shift permutations have no conflicts under D-mod-k (Zahavi 2010): every link carries one flow at most.
TEST(Fabric, ShiftsOfAFatTreeShareNoLink) {
  for (const std::uint32_t k : {2U, 4U, 6U, 8U}) {
    const Fabric tree = make_fat_tree(k, Bandwidth(8), Duration());
    for (std::uint32_t shift = 0; shift < tree.ports; ++shift) {
      std::set<std::uint32_t> used;
      std::size_t crossed = 0;
      for (std::uint32_t from = 0; from < tree.ports; ++from)
        for (const std::uint32_t link : path(tree, from, (from + shift) % tree.ports)) {
          used.insert(link);
          ++crossed;
        }
      ASSERT_EQ(used.size(), crossed) << "k " << k << " shift " << shift;
    }
  }
}

TEST(Fabric, GraphTakesFewestLinksThenLeastLatencyThenTheFirstListed) {
  const std::vector<std::string> nodes{"a", "b", "c", "d"};
  const auto us = Duration::us(1);
  const std::vector<GraphLink> links{{0, 1, Bandwidth(8), us},     {1, 3, Bandwidth(8), us * 2},
                                     {0, 2, Bandwidth(8), us * 2}, {2, 3, Bandwidth(8), us},
                                     {0, 2, Bandwidth(8), us * 2}, {3, 0, Bandwidth(8), us}};
  const Fabric graph = make_graph(nodes, links);
  EXPECT_EQ(path(graph, 0, 3), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(path(graph, 0, 2), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(reachable(graph, 1, 0));
  EXPECT_FALSE(reachable(make_graph(nodes, {links[0]}), 1, 0));
}

using Cost = std::tuple<std::size_t, Duration, std::vector<std::uint32_t>>;

void walk(const std::vector<GraphLink>& links, std::uint32_t at, std::uint32_t to, std::set<std::uint32_t>& seen,
          Cost& cost, std::optional<Cost>& best) {
  if (at == to) {
    if (!best || cost < *best) best = cost;
    return;
  }
  for (std::uint32_t l = 0; l < links.size(); ++l) {
    if (links[l].from != at || !seen.insert(links[l].to).second) continue;
    Cost next = cost;
    std::get<0>(next) += 1;
    std::get<1>(next) += links[l].latency;
    std::get<2>(next).push_back(l);
    walk(links, links[l].to, to, seen, next, best);
    seen.erase(links[l].to);
  }
}

TEST(Fabric, GraphRoutesAreTheBestOfAllPaths) {
  RandomStream random(3, "tests/unit/topology");
  std::size_t reached = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t n = 2 + random.below(5);
    std::vector<std::string> nodes;
    for (std::uint64_t i = 0; i < n; ++i) nodes.push_back(fmt::format("n{}", i));
    std::vector<GraphLink> links;
    for (std::uint64_t l = random.below(3 * n); l > 0; --l) {
      const auto from = static_cast<std::uint32_t>(random.below(n));
      const auto to = static_cast<std::uint32_t>(random.below(n));
      if (from != to)
        links.push_back({from, to, Bandwidth(8), Duration::us(static_cast<std::int64_t>(random.below(3)))});
    }
    const Fabric graph = make_graph(nodes, links);
    for (std::uint32_t from = 0; from < n; ++from)
      for (std::uint32_t to = 0; to < n; ++to) {
        std::set<std::uint32_t> seen{from};
        std::optional<Cost> best;
        Cost none;
        walk(links, from, to, seen, none, best);
        ASSERT_EQ(reachable(graph, from, to), best.has_value());
        if (!best) continue;
        ++reached;
        ASSERT_EQ(path(graph, from, to), std::get<2>(*best)) << trial;
      }
  }
  EXPECT_GT(reached, 1000U);
}

Cluster small() {
  Cluster c;
  for (int w = 0; w < 4; ++w) {
    c.workers.push_back({fmt::format("worker {}", w), {}, {Bandwidth(80), Bandwidth(40)}, 0, {}, {}});
    c.workers.back().pcie = Bandwidth(160);
    if (w % 2 == 1) c.workers.back().with_worker = w - 1;
    c.workers.back().port = static_cast<std::uint32_t>(w / 2);
  }
  c.servers.push_back({"server 0", {Bandwidth(800), Bandwidth(800)}, 0, {}, {}});
  c.servers.push_back({"server 1", {}, 0, {}, {}, Bandwidth::unlimited(), Bandwidth::unlimited(), {}, 2});
  c.servers[1].port = 1;
  c.network.latency = Duration::us(10);
  c.network.efficiency = 0.5;
  c.network.fabric = make_racks({Bandwidth(100), Bandwidth(100)}, {Bandwidth(100), Bandwidth(100)}, Duration::us(2));
  return c;
}

std::vector<std::string> names(const Cluster& c, End from, End to) {
  std::vector<std::string> list;
  for (const LinkRef link : route(c, from, to).links) list.push_back(link_name(c, link));
  return list;
}

TEST(Topology, RoutesBetweenHosts) {
  const Cluster c = small();
  EXPECT_EQ(names(c, {true, 0}, {false, 3}),
            (std::vector<std::string>{"server 0 NIC up", "rack 0 uplink", "rack 1 downlink", "workers 2-3 NIC down",
                                      "worker 3 PCIe down"}));
  EXPECT_EQ(names(c, {false, 1}, {true, 0}),
            (std::vector<std::string>{"worker 1 PCIe up", "workers 0-1 NIC up", "server 0 NIC down"}));
  EXPECT_EQ(latency(c, 0, 0), Duration::us(10));
  EXPECT_EQ(latency(c, 3, 0), Duration::us(14));
  EXPECT_EQ(pull_rate(c, 3, 0), Bandwidth(20));
  EXPECT_EQ(push_rate(c, 3, 0), Bandwidth(40));
}

TEST(Topology, RoutesInsideAHostLeaveTheNicAlone) {
  Cluster c = small();
  EXPECT_EQ(names(c, {false, 3}, {true, 1}), (std::vector<std::string>{"worker 3 PCIe up", "workers 2-3 loopback"}));
  EXPECT_EQ(names(c, {false, 0}, {false, 1}), (std::vector<std::string>{"worker 0 PCIe up", "worker 1 PCIe down"}));
  EXPECT_EQ(latency(c, 3, 1), Duration());
  for (Worker& w : c.workers) {
    w.nvlink = Bandwidth(1000);
    w.nvlink_latency = Duration::us(w.name == "worker 1" ? 3 : 2);
  }
  EXPECT_EQ(names(c, {false, 0}, {false, 1}), (std::vector<std::string>{"worker 0 NVLink up", "worker 1 NVLink down"}));
  EXPECT_EQ(route(c, {false, 0}, {false, 1}).latency, Duration::us(3)) << "the longer one";
  EXPECT_EQ(names(c, {false, 0}, {false, 2}).size(), 6U);
  EXPECT_EQ(host_of(c, {true, 1}), (HostRef{false, 2}));
}

TEST(Topology, OneMoreServerNeedsAPlace) {
  Cluster c = small();
  c.servers.resize(1);
  EXPECT_EQ(with_servers(c, 2)->servers[1].port, 1U);
  c.workers.resize(2);
  EXPECT_EQ(with_servers(c, 3)->servers[2].port, 1U);
  c.network.fabric = make_fat_tree(2, Bandwidth(8), Duration());
  c.servers[0].port = 1;
  EXPECT_FALSE(with_servers(c, 2));
  c.servers_per_host = 2;
  ASSERT_TRUE(with_servers(c, 2));
  EXPECT_EQ(with_servers(c, 2)->servers[1].port, 1U);
  EXPECT_FALSE(with_servers(c, 3));
}

}  // namespace
}  // namespace stretto::cluster
