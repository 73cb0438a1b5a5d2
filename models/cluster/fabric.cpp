// SPDX-License-Identifier: Apache-2.0
#include "models/cluster/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/assert.hpp"

namespace stretto::cluster {

namespace {

// Links of a fat tree in four equal blocks: edge to aggregation, back, aggregation to core, back. In each, by pod, then
// by (edge, aggregation) or (aggregation, core of its column).
class FatTreeLinks {
 public:
  explicit FatTreeLinks(std::uint32_t k) : half_(k / 2), block_(k * half_ * half_) {}
  std::uint32_t edge_up(std::uint32_t pod, std::uint32_t edge, std::uint32_t aggregation) const {
    return at(pod, edge, aggregation);
  }
  std::uint32_t edge_down(std::uint32_t pod, std::uint32_t edge, std::uint32_t aggregation) const {
    return block_ + at(pod, edge, aggregation);
  }
  std::uint32_t core_up(std::uint32_t pod, std::uint32_t aggregation, std::uint32_t core) const {
    return 2 * block_ + at(pod, aggregation, core);
  }
  std::uint32_t core_down(std::uint32_t pod, std::uint32_t aggregation, std::uint32_t core) const {
    return 3 * block_ + at(pod, aggregation, core);
  }

 private:
  std::uint32_t at(std::uint32_t pod, std::uint32_t a, std::uint32_t b) const { return (pod * half_ + a) * half_ + b; }
  std::uint32_t half_;
  std::uint32_t block_;
};

void add_fat_tree_path(std::uint32_t k, std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) {
  const std::uint32_t half = k / 2;
  const FatTreeLinks link(k);
  const std::uint32_t from_edge = from / half;
  const std::uint32_t to_edge = to / half;
  if (from_edge == to_edge) return;
  const std::uint32_t from_pod = from_edge / half;
  const std::uint32_t to_pod = to_edge / half;
  const std::uint32_t aggregation = to % half;
  links.push_back(link.edge_up(from_pod, from_edge % half, aggregation));
  if (from_pod != to_pod) {
    const std::uint32_t core = to / half % half;
    links.push_back(link.core_up(from_pod, aggregation, core));
    links.push_back(link.core_down(to_pod, aggregation, core));
  }
  links.push_back(link.edge_down(to_pod, to_edge % half, aggregation));
}

// Fewest links, then least latency.
using Distance = std::pair<std::uint32_t, Duration>;
constexpr std::uint32_t kFar = 0xFFFFFFFFU;

// Distances of all nodes to one: layer after layer against the links.
std::vector<Distance> distances(std::size_t nodes, const std::vector<GraphLink>& links,
                                const std::vector<std::vector<std::uint32_t>>& into, std::uint32_t target) {
  std::vector<Distance> distance(nodes, {kFar, Duration()});
  distance[target] = {0, Duration()};
  std::vector<std::uint32_t> layer{target};
  while (!layer.empty()) {
    std::vector<std::uint32_t> further;
    for (const std::uint32_t node : layer)
      for (const std::uint32_t l : into[node]) {
        const std::uint32_t from = links[l].from;
        const Distance through{distance[node].first + 1, distance[node].second + links[l].latency};
        if (distance[from].first == kFar) further.push_back(from);
        distance[from] = std::min(distance[from], through);
      }
    layer = std::move(further);
  }
  return distance;
}

}  // namespace

Fabric make_racks(const std::vector<Bandwidth>& up, const std::vector<Bandwidth>& down, Duration hop_latency) {
  STRETTO_ASSERT(up.size() == down.size(), "{} uplinks and {} downlinks", up.size(), down.size());
  Fabric fabric{FabricKind::Racks};
  fabric.ports = static_cast<std::uint32_t>(up.size());
  for (std::size_t r = 0; r < up.size(); ++r) {
    fabric.links.push_back({fmt::format("rack {} uplink", r), up[r], hop_latency});
    fabric.links.push_back({fmt::format("rack {} downlink", r), down[r], hop_latency});
  }
  return fabric;
}

Fabric make_fat_tree(std::uint32_t k, Bandwidth rate, Duration hop_latency) {
  STRETTO_ASSERT(k >= 2 && k % 2 == 0 && k <= kMaxFatTree, "fat tree of k = {}", k);
  Fabric fabric{FabricKind::FatTree};
  fabric.ports = fat_tree_slots(k);
  fabric.k = k;
  const auto block = [&](const char* format) {
    for (std::uint32_t pod = 0; pod < k; ++pod)
      for (std::uint32_t a = 0; a < k / 2; ++a)
        for (std::uint32_t b = 0; b < k / 2; ++b)
          fabric.links.push_back({fmt::format(fmt::runtime(format), pod, a, b, a * (k / 2) + b), rate, hop_latency});
  };
  block("pod {0} edge {1} to aggregation {2}");
  block("pod {0} aggregation {2} to edge {1}");
  block("pod {0} aggregation {1} to core {3}");
  block("core {3} to pod {0} aggregation {1}");
  return fabric;
}

Fabric make_graph(const std::vector<std::string>& nodes, const std::vector<GraphLink>& links) {
  STRETTO_ASSERT(nodes.size() <= kMaxNodes, "{} nodes", nodes.size());
  Fabric fabric{FabricKind::Graph};
  fabric.ports = static_cast<std::uint32_t>(nodes.size());
  std::vector<std::vector<std::uint32_t>> into(nodes.size());
  for (std::uint32_t l = 0; l < links.size(); ++l) {
    const GraphLink& link = links[l];
    fabric.links.push_back({nodes.at(link.from) + " to " + nodes.at(link.to), link.rate, link.latency});
    fabric.from.push_back(link.from);
    fabric.to.push_back(link.to);
    into[link.to].push_back(l);
  }
  fabric.next.assign(nodes.size() * nodes.size(), Fabric::kNone);
  for (std::uint32_t target = 0; target < nodes.size(); ++target) {
    const std::vector<Distance> distance = distances(nodes.size(), links, into, target);
    for (std::uint32_t l = 0; l < links.size(); ++l) {
      const GraphLink& link = links[l];
      const Distance& rest = distance[link.to];
      std::uint32_t& next = fabric.next[std::size_t{target} * nodes.size() + link.from];
      if (rest.first != kFar && link.from != target && next == Fabric::kNone &&
          distance[link.from] == Distance{rest.first + 1, rest.second + link.latency})
        next = l;
    }
  }
  return fabric;
}

std::uint32_t opposite(const Fabric& fabric, std::uint32_t link) {
  switch (fabric.kind) {
    case FabricKind::Star:
      return Fabric::kNone;
    case FabricKind::Racks:
      return link ^ 1U;
    case FabricKind::FatTree: {
      const auto block = static_cast<std::uint32_t>(fabric.links.size()) / 4;
      return link / block % 2 == 0 ? link + block : link - block;
    }
    case FabricKind::Graph:
      for (std::uint32_t l = 0; l < fabric.links.size(); ++l)
        if (fabric.from[l] == fabric.to[link] && fabric.to[l] == fabric.from[link]) return l;
      return Fabric::kNone;
  }
  return Fabric::kNone;
}

bool reachable(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  return fabric.kind != FabricKind::Graph || from == to ||
         fabric.next[std::size_t{to} * fabric.ports + from] != Fabric::kNone;
}

void add_path(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) {
  if (fabric.kind == FabricKind::Star || from == to) return;
  STRETTO_ASSERT(from < fabric.ports && to < fabric.ports, "ports {} and {} of {}", from, to, fabric.ports);
  switch (fabric.kind) {
    case FabricKind::Star:
      return;
    case FabricKind::Racks:
      links.push_back(2 * from);
      links.push_back(2 * to + 1);
      return;
    case FabricKind::FatTree:
      return add_fat_tree_path(fabric.k, from, to, links);
    case FabricKind::Graph:
      while (from != to) {
        const std::uint32_t link = fabric.next[std::size_t{to} * fabric.ports + from];
        STRETTO_ASSERT(link != Fabric::kNone, "no route from node {} to {}", from, to);
        links.push_back(link);
        from = fabric.to[link];
      }
      return;
  }
}

}  // namespace stretto::cluster
