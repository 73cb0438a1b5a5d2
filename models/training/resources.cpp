// SPDX-License-Identifier: Apache-2.0
// Pools, links and channels of a cluster.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>

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
  rank_ops();
  auto& wires = builder_.wires();
  const double efficiency = cluster_.network.efficiency;
  const auto add_nic = [&](const std::string& name, const cluster::Nic& nic) {
    HostLinks links;
    links.up = wires.add_link(name + " NIC up", nic.up.scaled(efficiency));
    links.down = wires.add_link(name + " NIC down", nic.down.scaled(efficiency));
    return links;
  };
  for (const auto& worker : cluster_.workers) {
    out_.device.push_back(
        builder_.add_pool({worker.name + " device", worker.device.cores, pool_rule(worker.device.order)}));
    out_.worker_threads.push_back(
        builder_.add_pool({worker.name + " threads", worker.threads, program::PoolRule::Fifo}));
    out_.worker_links.push_back(add_nic(worker.name, worker.nic));
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
      out_.server_links.push_back(add_nic(server.name, server.nic));
  }
}

void Compiler::add_channels() {
  add_copy_engines();
  auto& wires = builder_.wires();
  std::vector<std::optional<network::LinkId>> loopback(out_.workers);
  const auto route = [&](std::uint32_t w, std::uint32_t s, network::LinkId from, network::LinkId to) {
    const Bandwidth cap = cluster_.network.rate_cap;
    if (cluster_.servers[s].on_worker != w) return wires.add_route(std::array{from, to}, cap);
    if (!loopback[w]) loopback[w] = wires.add_link(cluster_.workers[w].name + " loopback", cluster_.network.loopback);
    return wires.add_route(std::array{*loopback[w]}, cap);
  };
  channel::Channel c;
  c.streams = cluster_.network.streams;
  for (std::uint32_t w = 0; w < out_.workers; ++w)
    for (std::uint32_t s = 0; s < out_.servers; ++s) {
      const auto& worker = cluster_.workers[w];
      const auto& server = cluster_.servers[s];
      c.latency = cluster::latency(cluster_, w, s);
      c.route = route(w, s, out_.server_links[s].up, out_.worker_links[w].down);
      c.send = service(server.send, out_.server_threads[s]);
      c.receive = service(worker.receive, out_.worker_threads[w]);
      pull_channel_.push_back(builder_.add_channel(c));
      if (!training_) continue;
      c.route = route(w, s, out_.worker_links[w].up, out_.server_links[s].down);
      c.send = service(worker.send, out_.worker_threads[w]);
      c.receive = service(server.receive, out_.server_threads[s]);
      push_channel_.push_back(builder_.add_channel(c));
    }
}

}  // namespace stretto::training
