// SPDX-License-Identifier: Apache-2.0
// A closed loop of flows on a k-ary fat-tree (Al-Fares et al. 2008), as plain data for any simulator.
//
// k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k/2 hosts per edge switch; all links 10 Gbit/s, one
// direction each, no latency. Routes are static: aggregation switch and core are picked by the destination. Each of the
// slots sends one flow after another; source, destination and size of slot s's n-th flow come from a hash of (s, n).
#pragma once

#include <cstdint>
#include <vector>

namespace peers {

constexpr double kBytesPerSecond = 1.25e9;

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
  std::uint64_t bytes;
};

struct FatTree {
  std::uint32_t k = 8;
  std::uint32_t half() const { return k / 2; }
  std::uint32_t hosts() const { return k * half() * half(); }
  // Three layers (host - edge, edge - aggregation, aggregation - core), each as large as the hosts, up and down.
  std::uint32_t links() const { return 6 * hosts(); }

  // Links in the order in which a flow crosses them.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t h = half(), edge_from = from / h, edge_to = to / h;
    const std::uint32_t pod_from = edge_from / h, pod_to = edge_to / h;
    const std::uint32_t aggregation = to % h, core = to / h % h;
    const auto link = [&](std::uint32_t layer, bool down, std::uint32_t at) {
      return (2 * layer + (down ? 1 : 0)) * hosts() + at;
    };
    std::vector<std::uint32_t> path{link(0, false, from)};
    if (edge_from != edge_to) {
      path.push_back(link(1, false, edge_from * h + aggregation));
      if (pod_from != pod_to) {
        path.push_back(link(2, false, (pod_from * h + aggregation) * h + core));
        path.push_back(link(2, true, (pod_to * h + aggregation) * h + core));
      }
      path.push_back(link(1, true, edge_to * h + aggregation));
    }
    path.push_back(link(0, true, to));
    return path;
  }

  Flow flow(std::uint32_t slot, std::uint32_t n) const {
    std::uint64_t x = (std::uint64_t{slot} << 32 | n) + 0x9E3779B97F4A7C15ULL;  // splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
    const auto from = static_cast<std::uint32_t>(x % hosts());
    const auto to = static_cast<std::uint32_t>((from + 1 + (x >> 8) % (hosts() - 1)) % hosts());
    return {from, to, 100'000 + (x >> 20) % 9'900'001};
  }
};

}  // namespace peers
