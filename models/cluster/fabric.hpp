// SPDX-License-Identifier: Apache-2.0
// The fabric of a cluster as plain data: the links between switches, one direction each, and which of them a message
// crosses from one port to another. Hosts hang on ports through their NICs, which are no part of it. Routes are static:
// they depend on the two ports and on nothing else (no load balancing per packet or flow).
//
//   star     no ports and no links: one switch that never limits
//   racks    port = rack; a rack's switch is joined to a core that never limits by an uplink and a downlink, which all
//            traffic between hosts of different racks shares. Oversubscription = NIC rates of a rack's hosts / uplink
//   fat tree port = slot of a host; k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches, k^3/4 slots
//            (Al-Fares, Loukissas, Vahdat 2008). Slot d = pod * (k/2)^2 + edge * k/2 + i. Routing by destination
//            (D-mod-k, Zahavi 2010): up from the edge to aggregation switch d mod k/2, from there to core switch
//            (d / (k/2)) mod k/2 of that column; down there is one way
//   graph    port = node, switch or host; links as listed. Routes take the fewest links, among these the least latency,
//            among these the least numbers of links in the order of the list, compared from the first link on
// Cost: a path is O(links on it); a graph keeps a table of nodes^2 entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::cluster {

enum class FabricKind : std::uint8_t { Star, Racks, FatTree, Graph };

struct FabricLink {
  std::string name;  // "rack 0 uplink"
  Bandwidth rate;
  Duration latency;
};

struct Fabric {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  FabricKind kind = FabricKind::Star;
  std::vector<FabricLink> links = {};
  std::uint32_t ports = 0;
  std::uint32_t k = 0;                   // FatTree
  std::vector<std::uint32_t> from = {};  // Graph: nodes that each link joins
  std::vector<std::uint32_t> to = {};
  std::vector<std::uint32_t> next = {};  // Graph: [to * ports + at] = link that leads on, kNone where none does
};

// Rates of each rack's uplink and downlink, one per rack.
Fabric make_racks(const std::vector<Bandwidth>& up, const std::vector<Bandwidth>& down, Duration hop_latency);

inline constexpr std::uint32_t kMaxFatTree = 32;
// k even, 2 to kMaxFatTree; all links have one rate.
Fabric make_fat_tree(std::uint32_t k, Bandwidth rate, Duration hop_latency);
inline constexpr std::uint32_t fat_tree_slots(std::uint32_t k) { return k * k * k / 4; }

struct GraphLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Bandwidth rate = Bandwidth::unlimited();
  Duration latency;
};
inline constexpr std::size_t kMaxNodes = 1024;
// Link i of the fabric is the i-th of the list. At most kMaxNodes names.
Fabric make_graph(const std::vector<std::string>& nodes, const std::vector<GraphLink>& links);

// The link that leads back, kNone if none is listed.
std::uint32_t opposite(const Fabric& fabric, std::uint32_t link);

bool reachable(const Fabric& fabric, std::uint32_t from, std::uint32_t to);
// Appends the links from port to port; they must be reachable.
void add_path(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links);

}  // namespace stretto::cluster
