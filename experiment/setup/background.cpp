// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup/background.hpp"

#include <algorithm>

#include "models/cluster/topology.hpp"
#include "sim/base/assert.hpp"

namespace stretto::experiment {

std::vector<training::Burst> make_bursts(const Spec& spec, const cluster::Cluster& cluster) {
  std::vector<training::Burst> bursts;
  const std::vector<BackgroundSpec>& list = spec.cluster.network.topology.background;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const BackgroundSpec& b = list[i];
    if (b.burst == Bytes()) continue;
    const auto from = find_process(cluster, b.from);
    const auto to = find_process(cluster, b.to);
    STRETTO_ASSERT(from && to, "background from '{}' to '{}'", b.from, b.to);
    if (auto finding = burst_finding(cluster, b, i)) throw UserError({std::move(*finding)});
    cluster::Path path = cluster::route(cluster, *from, *to);
    training::Burst& burst = bursts.emplace_back();
    for (const cluster::LinkRef link : path.links)
      burst.alone = std::min(burst.alone, cluster::link_rate(cluster, link));
    burst.links = std::move(path.links);
    burst.latency = path.latency;
    burst.bytes = b.burst;
    burst.pause = b.pause;
    burst.drawn = b.times == PauseTimes::Exponential && b.pause > Duration();
  }
  return bursts;
}

}  // namespace stretto::experiment
