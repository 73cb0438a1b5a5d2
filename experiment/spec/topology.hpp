// SPDX-License-Identifier: Apache-2.0
// Topologies beyond the star: racks, fat tree, explicit links, several workers on one host, groups of unequal workers.
// See models/cluster/fabric.hpp and topology.hpp for what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/node.hpp"
#include "sim/base/units.hpp"

namespace stretto::experiment {

enum class Topology : std::uint8_t { Star, Racks, FatTree, Links };

// How hosts are dealt over the places of the fabric. Racks: Blocks gives host i of n the rack i * racks / n, Spread the
// rack i mod racks. Fat tree, workers first: the next free slot; Blocks takes slots in order, Spread takes one of each
// edge switch in turn. Listed: the place of each host, a number or the name of a node. Links: Blocks and Spread both
// mean the node of the name of the host's first process ("worker 0").
enum class Deal : std::uint8_t { Blocks, Spread, Listed };

struct DealSpec {
  Deal deal = Deal::Blocks;
  std::vector<std::string> places = {};  // Listed
  config::Place place = {};
  bool operator==(const DealSpec&) const = default;
};

// `both`: two links, one each way, of which the second is numbered after the first.
struct LinkSpec {
  std::string from;
  std::string to;
  bool both = false;
  Bandwidth rate = Bandwidth::unlimited();
  std::optional<Duration> latency;  // none: hop_latency
  config::Place place;
  bool operator==(const LinkSpec&) const = default;
};

enum class PauseTimes : std::uint8_t { Fixed, Exponential };

// Traffic of others between two hosts, named after a process on each: constant, or bursts that share their links.
struct BackgroundSpec {
  std::string from;               // "worker 0"
  std::string to;                 // "server 1"
  Bandwidth rate = Bandwidth(1);  // constant
  Bytes burst;                    // > 0: in bursts of so many bytes, and the rate means nothing
  Duration pause;                 // before each burst, from the end of the one before
  PauseTimes times = PauseTimes::Fixed;
  config::Place place;
  bool operator==(const BackgroundSpec&) const = default;
};

struct TopologySpec {
  Topology kind = Topology::Star;
  std::uint32_t racks = 2;
  Bandwidth uplink = Bandwidth::unlimited();
  std::optional<double> oversubscription;  // > 0, in place of uplink
  std::uint32_t k = 4;                     // even
  std::optional<Bandwidth> rate;           // of the fat tree's links; none: that of the fastest NIC
  std::vector<LinkSpec> links;
  Duration hop_latency;
  DealSpec workers{Deal::Blocks};
  DealSpec servers{Deal::Spread};
  std::vector<BackgroundSpec> background;
  bool operator==(const TopologySpec&) const = default;
};

}  // namespace stretto::experiment
