// SPDX-License-Identifier: Apache-2.0
// Gives a random cluster a random fabric, puts some workers on shared hosts and gives some a PCIe rate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "sim/base/random.hpp"

namespace stretto::test {

inline void random_topology(RandomStream& random, cluster::Cluster& c, const std::function<Bandwidth()>& rate) {
  for (std::uint32_t w = 0; w < c.workers.size(); ++w) {
    if (random.below(3) == 0) c.workers[w].pcie = rate();
    if (w == 0 || random.below(2) == 0) continue;
    c.workers[w].with_worker = c.workers[w - 1].with_worker.value_or(w - 1);
    c.workers[w].nic = c.workers[w - 1].nic;
  }
  const auto hop = Duration::ns(static_cast<std::int64_t>(random.below(2)) * 300);
  const auto ports = [&](std::uint64_t count) {
    for (auto& worker : c.workers) worker.port = static_cast<std::uint32_t>(random.below(count));
    for (auto& server : c.servers) server.port = static_cast<std::uint32_t>(random.below(count));
  };
  switch (random.below(4)) {
    case 0:
      break;
    case 1: {
      ports(2);
      const std::vector<Bandwidth> up{rate(), Bandwidth::unlimited()};
      c.network.fabric = cluster::make_racks(up, {rate(), rate()}, hop);
      break;
    }
    case 2:
      ports(16);
      c.network.fabric = cluster::make_fat_tree(4, rate(), hop);
      break;
    default: {
      // A ring of four nodes and some chords.
      ports(4);
      std::vector<cluster::GraphLink> links;
      for (std::uint32_t i = 0; i < 4; ++i) links.push_back({i, (i + 1) % 4, rate(), hop});
      for (std::uint64_t chords = random.below(6); chords > 0; --chords) {
        const auto from = static_cast<std::uint32_t>(random.below(4));
        links.push_back({from, (from + 1 + static_cast<std::uint32_t>(random.below(3))) % 4, rate(), Duration()});
      }
      c.network.fabric = cluster::make_graph({"a", "b", "c", "d"}, links);
      break;
    }
  }
}

}  // namespace stretto::test
