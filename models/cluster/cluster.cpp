// SPDX-License-Identifier: Apache-2.0
#include "models/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/cluster/topology.hpp"

namespace stretto::cluster {

namespace {

End worker_end(std::size_t worker) { return {false, static_cast<std::uint32_t>(worker)}; }
End server_end(std::size_t server) { return {true, static_cast<std::uint32_t>(server)}; }

Bandwidth rate_alone(const Cluster& cluster, const Path& path) {
  Bandwidth rate = cluster.network.rate_cap;
  for (const LinkRef link : path.links) rate = std::min(rate, link_rate(cluster, link));
  return rate;
}

Duration time_alone(const Cluster& cluster, const Path& path, Bytes bytes) {
  return path.latency + transfer_duration(bytes, rate_alone(cluster, path));
}

}  // namespace

std::optional<Cluster> with_servers(Cluster cluster, std::uint32_t count) {
  const std::uint32_t together = cluster.servers_per_host;
  const std::uint32_t on_workers = cluster.servers.front().on_worker ? std::min(cluster.servers_on_workers, count) : 0;
  std::vector<std::uint32_t> worker_hosts;  // first workers
  for (std::uint32_t w = 0; w < cluster.workers.size(); ++w)
    if (!cluster.workers[w].with_worker) worker_hosts.push_back(w);
  if ((on_workers + together - 1) / together > worker_hosts.size()) return std::nullopt;
  const std::vector<Server> before = cluster.servers;
  cluster.servers.clear();
  for (std::uint32_t s = 0; s < count; ++s) {
    Server server = s < before.size() ? before[s] : before.front();
    const std::uint32_t host = s / together;
    server.name = fmt::format("server {}", s);
    server.with_server.reset();
    if (s < on_workers) {
      server.on_worker = worker_hosts[host];
    } else if (on_workers > 0) {
      server.on_worker.reset();
      server.nic = cluster.server_nic;
    }
    if (s % together != 0) {
      server.with_server = host * together;
      server.port = cluster.servers[host * together].port;
    } else if (s < on_workers) {
      server.port = cluster.workers[worker_hosts[host]].port;
    } else if (s >= before.size()) {
      const auto port = free_port(cluster);
      if (!port) return std::nullopt;
      server.port = *port;
    }
    cluster.servers.push_back(std::move(server));
  }
  return cluster;
}

Duration latency(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return route(cluster, server_end(server), worker_end(worker)).latency;
}

Duration push_latency(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return route(cluster, worker_end(worker), server_end(server)).latency;
}

std::uint32_t service_units(const Server& server) { return server.cores > 0 ? server.cores : server.threads; }

std::uint32_t workers_per_host(const Cluster& cluster) {
  const auto count = static_cast<std::uint32_t>(cluster.workers.size());
  std::uint32_t each = 1;
  while (each < count && cluster.workers[each].with_worker) ++each;
  if (count == 0 || count % each != 0) return 0;
  for (std::uint32_t w = 0; w < count; ++w) {
    const std::uint32_t first = w - w % each;
    if (cluster.workers[w].with_worker.value_or(w) != first) return 0;
  }
  return each;
}

Bandwidth pull_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return rate_alone(cluster, route(cluster, server_end(server), worker_end(worker)));
}

Bandwidth push_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return rate_alone(cluster, route(cluster, worker_end(worker), server_end(server)));
}

Duration pull_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return time_alone(cluster, route(cluster, server_end(server), worker_end(worker)), bytes);
}

Duration push_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return time_alone(cluster, route(cluster, worker_end(worker), server_end(server)), bytes);
}

}  // namespace stretto::cluster
