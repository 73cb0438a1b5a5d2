// SPDX-License-Identifier: Apache-2.0
// Pools, links and channels of a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/order.hpp"
#include "models/training/compiler.hpp"
#include "sim/base/assert.hpp"

namespace stretto::training {

namespace {

channel::Service service(const cluster::ServiceCost& cost, program::PoolId pool) {
  if (cost.is_zero()) return {};
  return {pool.index(), cost.per_message, cost.per_byte_ps};
}

program::PoolRule pool_rule(cluster::OpOrder order) {
  switch (order) {
    case cluster::OpOrder::Fifo:
      return program::PoolRule::Fifo;
    case cluster::OpOrder::Priority:
      return program::PoolRule::Priority;
    case cluster::OpOrder::Random:
      return program::PoolRule::Random;
  }
  return program::PoolRule::Fifo;
}

}  // namespace

network::LinkId Compiler::link(cluster::LinkRef ref) {
  std::vector<network::LinkId>& of_kind = links_.at(static_cast<std::size_t>(ref.kind));
  if (of_kind.size() <= ref.of) of_kind.resize(ref.of + 1);
  network::LinkId& id = of_kind[ref.of];
  if (id.valid()) return id;
  Bandwidth rate = cluster::link_rate(cluster_, ref);
  std::string name = cluster::link_name(cluster_, ref);
  if (one_for_all()) {
    const std::uint32_t ranks = stands_for(ref.kind);
    const bool pcie = ref.kind == cluster::LinkKind::PcieUp || ref.kind == cluster::LinkKind::PcieDown;
    if (pcie) rate = rate.scaled(ranks);  // that of all workers of the host together
    name = fmt::format("each {} {}", ranks > 1 ? "host" : "worker", cluster::link_part(ref.kind));
  }
  id = builder_.wires().add_link(std::move(name), rate);
  out_.link_refs.push_back(ref);
  if (ref.kind < cluster::LinkKind::Fabric) return id;
  const cluster::Fabric& fabric = cluster_.network.fabric;
  const std::uint32_t back =
      ref.kind == cluster::LinkKind::Fabric ? cluster::opposite(fabric, ref.of) : cluster::Fabric::kNone;
  out_.inner_links.push_back({ref, id, back == cluster::Fabric::kNone ? "" : fabric.links[back].name});
  return id;
}

void Compiler::set_route(channel::Channel& channel, cluster::End from, cluster::End to, Bandwidth cap) {
  const cluster::Path path = cluster::route(cluster_, from, to);
  std::vector<network::LinkId> links;
  for (const cluster::LinkRef ref : path.links) links.push_back(link(ref));
  channel.route = builder_.wires().add_route(links, cap);
  channel.latency = path.latency;
}

// Ops by the longest path from their start to the end of the step, longest first; ties by op.
void Compiler::rank_ops() {
  if (std::none_of(cluster_.workers.begin(), cluster_.workers.end(),
                   [](const cluster::Worker& w) { return w.device.order == cluster::OpOrder::Priority; }))
    return;
  const std::vector<Duration> path = graph::paths_to_end(graph_);
  std::vector<std::uint32_t> by_path(path.size());
  std::iota(by_path.begin(), by_path.end(), 0U);
  std::stable_sort(by_path.begin(), by_path.end(), [&](std::uint32_t a, std::uint32_t b) { return path[a] > path[b]; });
  out_.op_rank.resize(path.size());
  for (std::uint32_t place = 0; place < by_path.size(); ++place) out_.op_rank[by_path[place]] = place;
}

void Compiler::add_copy_engines() {
  const auto some = [&](auto has) { return std::any_of(cluster_.workers.begin(), cluster_.workers.end(), has); };
  if (some([](const cluster::Worker& w) { return w.device.copies_in(); }))
    for (const auto& worker : cluster_.workers)
      out_.copy_in.push_back(builder_.add_pool({worker.name + " copies in", 1, program::PoolRule::Fifo}));
  if (training_ && some([](const cluster::Worker& w) { return w.device.copies_out(); }))
    for (const auto& worker : cluster_.workers)
      out_.copy_out.push_back(builder_.add_pool({worker.name + " copies out", 1, program::PoolRule::Fifo}));
}

void Compiler::add_resources() {
  using cluster::LinkKind;
  rank_ops();
  for (std::uint32_t w = 0; w < out_.workers; ++w) {
    const cluster::Worker& worker = cluster_.workers[w];
    STRETTO_ASSERT(worker.with_worker.value_or(0) < std::max(w, 1U), "host of worker {}", w);
    out_.device.push_back(
        builder_.add_pool({worker.name + " device", worker.device.cores, pool_rule(worker.device.order)}));
    out_.worker_threads.push_back(
        builder_.add_pool({worker.name + " threads", worker.threads, program::PoolRule::Fifo}));
    const std::uint32_t host = worker.with_worker.value_or(w);
    out_.worker_links.push_back({link({LinkKind::WorkerNicUp, host}), link({LinkKind::WorkerNicDown, host})});
  }
  for (std::uint32_t s = 0; s < out_.servers; ++s) {
    const cluster::Server& server = cluster_.servers[s];
    STRETTO_ASSERT(server.with_server.value_or(0) < std::max(s, 1U) && server.on_worker.value_or(0) < out_.workers,
                   "host of server {}", s);
    if (server.with_server && server.cores > 0)
      out_.server_threads.push_back(out_.server_threads[*server.with_server]);
    else
      out_.server_threads.push_back(
          builder_.add_pool({server.name + " threads", cluster::service_units(server), program::PoolRule::Fifo}));
    if (server.on_worker)
      out_.server_links.push_back(out_.worker_links[*server.on_worker]);
    else if (server.with_server)
      out_.server_links.push_back(out_.server_links[*server.with_server]);
    else
      out_.server_links.push_back({link({LinkKind::ServerNicUp, s}), link({LinkKind::ServerNicDown, s})});
  }
}

void Compiler::add_channels() {
  add_copy_engines();
  channel::Channel c;
  c.streams = cluster_.network.streams;
  for (std::uint32_t w = 0; w < out_.workers; ++w)
    for (std::uint32_t s = 0; s < out_.servers; ++s) {
      const auto& worker = cluster_.workers[w];
      const auto& server = cluster_.servers[s];
      const cluster::End here{false, w};
      const cluster::End there{true, s};
      set_route(c, there, here, cluster_.network.rate_cap);
      c.send = service(server.send, out_.server_threads[s]);
      c.receive = service(worker.receive, out_.worker_threads[w]);
      pull_channel_.push_back(builder_.add_channel(c));
      if (!training_) continue;
      set_route(c, here, there, cluster_.network.rate_cap);
      c.send = service(worker.send, out_.worker_threads[w]);
      c.receive = service(server.receive, out_.server_threads[s]);
      push_channel_.push_back(builder_.add_channel(c));
    }
}

}  // namespace stretto::training
