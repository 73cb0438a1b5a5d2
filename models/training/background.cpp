// SPDX-License-Identifier: Apache-2.0
// Traffic of others that comes and goes.
#include <vector>

#include "models/cluster/topology.hpp"
#include "models/training/compiler.hpp"

namespace stretto::training {

namespace {

// `link_of(ref)`: the link of the program.
template <class LinkOf>
void add_bursts(const cluster::Cluster& cluster, const std::vector<Burst>& bursts, LinkOf&& link_of,
                program::ProgramBuilder& builder, Compiled& out) {
  if (bursts.empty()) return;
  const program::PoolId pauses = builder.add_pool({"background", 0, program::PoolRule::Fifo});
  for (std::uint32_t i = 0; i < bursts.size(); ++i) {
    const Burst& burst = bursts[i];
    std::vector<network::LinkId> links;
    for (const cluster::LinkRef ref : burst.links)
      if (cluster::exists(cluster, ref)) links.push_back(link_of(ref));
    if (links.empty()) continue;
    channel::Channel channel;
    channel.streams = 0;
    channel.latency = burst.latency;
    channel.route =
        builder.wires().add_route(links, links.size() < burst.links.size() ? burst.alone : Bandwidth::unlimited());
    builder.add_background(pauses, burst.pause, builder.add_channel(channel), burst.bytes);
    out.labels.push_back({Role::Pause, Part::Whole, 0, 0, i});
    out.labels.push_back({Role::Burst, Part::Whole, 0, 0, i});
  }
}

}  // namespace

void Compiler::add_background() {
  add_bursts(
      cluster_, options_.bursts, [&](cluster::LinkRef ref) { return link(ref); }, builder_, out_);
}

Compiled compile_background(const cluster::Cluster& cluster, const std::vector<Burst>& bursts) {
  Compiled out;
  program::ProgramBuilder builder;
  if (cluster.network.model == cluster::LinkModel::Fifo)
    builder.set_network_model(program::NetworkModel::Fifo, cluster.network.chunk);
  std::map<cluster::LinkRef, network::LinkId> links;
  const auto link_of = [&](cluster::LinkRef ref) {
    network::LinkId& id = links[ref];
    if (id.valid()) return id;
    id = builder.wires().add_link(cluster::link_name(cluster, ref), cluster::link_rate(cluster, ref));
    out.link_refs.push_back(ref);
    return id;
  };
  add_bursts(cluster, bursts, link_of, builder, out);
  out.program = builder.finish();
  return out;
}

}  // namespace stretto::training
