// SPDX-License-Identifier: Apache-2.0
#include "models/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::cluster {

namespace {
Bandwidth route_rate(const Network& network, Bandwidth sender, Bandwidth receiver) {
  return std::min(network.rate_cap, std::min(sender, receiver).scaled(network.efficiency));
}

bool local(const Cluster& cluster, std::size_t worker, std::size_t server) {
  const auto& on = cluster.servers.at(server).on_worker;
  return on && *on == worker;
}

const Nic& nic_of(const Cluster& cluster, std::size_t server) {
  const Server& s = cluster.servers.at(server);
  return s.on_worker ? cluster.workers.at(*s.on_worker).nic : s.nic;
}
}  // namespace

std::optional<Cluster> with_servers(Cluster cluster, std::uint32_t count) {
  const std::uint32_t together = cluster.servers_per_host;
  const std::uint32_t on_workers = cluster.servers.front().on_worker ? std::min(cluster.servers_on_workers, count) : 0;
  if ((on_workers + together - 1) / together > cluster.workers.size()) return std::nullopt;
  cluster.servers.resize(count, cluster.servers.front());
  for (std::uint32_t s = 0; s < count; ++s) {
    const std::uint32_t host = s / together;
    cluster.servers[s].name = fmt::format("server {}", s);
    cluster.servers[s].with_server.reset();
    if (s % together != 0) cluster.servers[s].with_server = host * together;
    if (s < on_workers) {
      cluster.servers[s].on_worker = host;
    } else if (on_workers > 0) {
      cluster.servers[s].on_worker.reset();
      cluster.servers[s].nic = cluster.server_nic;
    }
  }
  return cluster;
}

Duration latency(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return local(cluster, worker, server) ? Duration() : cluster.network.latency;
}

std::uint32_t service_units(const Server& server) { return server.cores > 0 ? server.cores : server.threads; }

Bandwidth pull_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  const Network& network = cluster.network;
  if (local(cluster, worker, server)) return std::min(network.rate_cap, network.loopback);
  return route_rate(network, nic_of(cluster, server).up, cluster.workers.at(worker).nic.down);
}

Bandwidth push_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  const Network& network = cluster.network;
  if (local(cluster, worker, server)) return std::min(network.rate_cap, network.loopback);
  return route_rate(network, cluster.workers.at(worker).nic.up, nic_of(cluster, server).down);
}

Duration pull_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return latency(cluster, worker, server) + transfer_duration(bytes, pull_rate(cluster, worker, server));
}

Duration push_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return latency(cluster, worker, server) + transfer_duration(bytes, push_rate(cluster, worker, server));
}

}  // namespace stretto::cluster
