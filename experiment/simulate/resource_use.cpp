// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/resource_use.hpp"

#include <set>

#include "sim/base/assert.hpp"

namespace stretto::experiment {

using analysis::ResourceKind;
using analysis::ResourceUse;

Counters read_counters(const training::Compiled& c, const program::View& sim) {
  Counters k;
  k.now = sim.now();
  const auto bytes = [&](network::LinkId link) { return static_cast<double>(sim.bytes_carried(link)); };
  for (std::uint32_t w = 0; w < c.workers; ++w) {
    k.device.push_back(sim.busy_time(c.device[w]).seconds());
    k.worker_threads.push_back(sim.busy_time(c.worker_threads[w]).seconds());
    k.worker_up.push_back(bytes(c.worker_links[w].up));
    k.worker_down.push_back(bytes(c.worker_links[w].down));
  }
  for (const program::PoolId pool : c.copy_in) k.copy_in.push_back(sim.busy_time(pool).seconds());
  for (const program::PoolId pool : c.copy_out) k.copy_out.push_back(sim.busy_time(pool).seconds());
  for (std::uint32_t s = 0; s < c.servers; ++s) {
    k.server_threads.push_back(sim.busy_time(c.server_threads[s]).seconds());
    k.server_up.push_back(bytes(c.server_links[s].up));
    k.server_down.push_back(bytes(c.server_links[s].down));
  }
  for (const training::InnerLink& l : c.inner_links) k.inner.push_back(bytes(l.link));
  return k;
}

std::vector<ResourceUse> resource_use(const training::Compiled& compiled, const Counters& begin, const Counters& end,
                                      std::uint32_t steps) {
  std::vector<ResourceUse> uses;
  // Processes on one host share links and pools: each is listed once.
  std::set<std::uint32_t> listed_pools;
  std::set<std::uint32_t> listed_links;
  const double time = (end.now - begin.now).seconds();
  const auto pools = [&](const std::vector<double>& from, const std::vector<double>& to,
                         const std::vector<program::PoolId>& ids, ResourceKind kind) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!listed_pools.insert(ids[i].index()).second) continue;
      const program::PoolSpec& pool = compiled.program.pools[ids[i].index()];
      if (pool.units > 0) uses.push_back({pool.name, kind, (to[i] - from[i]) / (time * pool.units), 0, {}});
    }
  };
  const auto add_link = [&](std::uint32_t index, double bytes, ResourceKind kind) {
    const network::Link& link = compiled.program.wires.links[index];
    const double most = link.capacity.bytes_per_ps() * 1e12 * time;
    uses.push_back({link.name, kind, link.capacity.is_unlimited() ? 0 : bytes / most, bytes / steps, {}});
  };
  const auto links = [&](const std::vector<double>& from, const std::vector<double>& to,
                         const std::vector<training::HostLinks>& hosts, bool up, ResourceKind kind) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint32_t index = (up ? hosts[i].up : hosts[i].down).index();
      if (!listed_links.insert(index).second) continue;
      add_link(index, to[i] - from[i], kind);
    }
  };
  pools(begin.device, end.device, compiled.device, ResourceKind::Device);
  links(begin.worker_down, end.worker_down, compiled.worker_links, false, ResourceKind::WorkerNicDown);
  links(begin.worker_up, end.worker_up, compiled.worker_links, true, ResourceKind::WorkerNicUp);
  links(begin.server_up, end.server_up, compiled.server_links, true, ResourceKind::ServerNicUp);
  links(begin.server_down, end.server_down, compiled.server_links, false, ResourceKind::ServerNicDown);
  pools(begin.server_threads, end.server_threads, compiled.server_threads, ResourceKind::ServerThreads);
  pools(begin.worker_threads, end.worker_threads, compiled.worker_threads, ResourceKind::WorkerThreads);
  pools(begin.copy_in, end.copy_in, compiled.copy_in, ResourceKind::CopyEngine);
  pools(begin.copy_out, end.copy_out, compiled.copy_out, ResourceKind::CopyEngine);
  for (std::size_t i = 0; i < begin.inner.size(); ++i) {
    const training::InnerLink& inner = compiled.inner_links[i];
    if (compiled.program.wires.links[inner.link.index()].capacity.is_unlimited()) continue;
    add_link(inner.link.index(), end.inner[i] - begin.inner[i],
             inner.ref.kind == cluster::LinkKind::Fabric ? ResourceKind::Fabric : ResourceKind::Inside);
    uses.back().opposite = inner.opposite;
  }
  return uses;
}

void add_use(std::vector<ResourceUse>& sum, const std::vector<ResourceUse>& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  STRETTO_ASSERT(sum.size() == more.size(), "{} resources and {}", sum.size(), more.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i].utilisation += more[i].utilisation;
    sum[i].bytes_per_step += more[i].bytes_per_step;
  }
}

}  // namespace stretto::experiment
