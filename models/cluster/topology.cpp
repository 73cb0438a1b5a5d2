// SPDX-License-Identifier: Apache-2.0
#include "models/cluster/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::cluster {

namespace {

void add_pcie(const Cluster& cluster, End end, LinkKind kind, Path& path) {
  if (!end.server && !cluster.workers.at(end.index).pcie.is_unlimited()) path.links.push_back({kind, end.index});
}

Path inside_host(const Cluster& cluster, End from, End to, HostRef host) {
  Path path;
  if (!from.server && !to.server && cluster.workers.at(from.index).nvlink && cluster.workers.at(to.index).nvlink) {
    path.links = {{LinkKind::NvlinkUp, from.index}, {LinkKind::NvlinkDown, to.index}};
    path.latency = std::max(cluster.workers[from.index].nvlink_latency, cluster.workers[to.index].nvlink_latency);
    return path;
  }
  add_pcie(cluster, from, LinkKind::PcieUp, path);
  if (from.server != to.server) path.links.push_back({LinkKind::Loopback, host.first});
  add_pcie(cluster, to, LinkKind::PcieDown, path);
  return path;
}

// Hosts of the cluster, each once.
std::vector<HostRef> hosts(const Cluster& cluster) {
  std::vector<HostRef> list;
  const auto add = [&](End end) {
    const HostRef host = host_of(cluster, end);
    if (host.first == end.index && host.of_servers == end.server) list.push_back(host);
  };
  for (std::uint32_t w = 0; w < cluster.workers.size(); ++w) add({false, w});
  for (std::uint32_t s = 0; s < cluster.servers.size(); ++s) add({true, s});
  return list;
}

Bandwidth whole_rate(const Cluster& cluster, LinkRef link) {
  const double efficiency = cluster.network.efficiency;
  switch (link.kind) {
    case LinkKind::WorkerNicUp:
      return cluster.workers.at(link.of).nic.up.scaled(efficiency);
    case LinkKind::WorkerNicDown:
      return cluster.workers.at(link.of).nic.down.scaled(efficiency);
    case LinkKind::ServerNicUp:
      return cluster.servers.at(link.of).nic.up.scaled(efficiency);
    case LinkKind::ServerNicDown:
      return cluster.servers.at(link.of).nic.down.scaled(efficiency);
    case LinkKind::Fabric:
      return cluster.network.fabric.links.at(link.of).rate.scaled(efficiency);
    case LinkKind::Loopback:
      return cluster.network.loopback;
    case LinkKind::PcieUp:
    case LinkKind::PcieDown:
      return cluster.workers.at(link.of).pcie;
    case LinkKind::NvlinkUp:
    case LinkKind::NvlinkDown:
      return cluster.workers.at(link.of).nvlink.value_or(Bandwidth::unlimited());
  }
  return Bandwidth::unlimited();
}

}  // namespace

HostRef host_of(const Cluster& cluster, End end) {
  if (!end.server) return {false, cluster.workers.at(end.index).with_worker.value_or(end.index)};
  const Server& server = cluster.servers.at(end.index);
  if (server.on_worker) return host_of(cluster, {false, *server.on_worker});
  return {true, server.with_server.value_or(end.index)};
}

std::uint32_t port_of(const Cluster& cluster, HostRef host) {
  return host.of_servers ? cluster.servers.at(host.first).port : cluster.workers.at(host.first).port;
}

const Nic& nic_of(const Cluster& cluster, HostRef host) {
  return host.of_servers ? cluster.servers.at(host.first).nic : cluster.workers.at(host.first).nic;
}

bool reachable(const Cluster& cluster, End from, End to) {
  const HostRef a = host_of(cluster, from);
  const HostRef b = host_of(cluster, to);
  return a == b || reachable(cluster.network.fabric, port_of(cluster, a), port_of(cluster, b));
}

Path route(const Cluster& cluster, End from, End to) {
  const HostRef from_host = host_of(cluster, from);
  const HostRef to_host = host_of(cluster, to);
  if (from_host == to_host) return inside_host(cluster, from, to, from_host);
  Path path;
  path.latency = cluster.network.latency;
  add_pcie(cluster, from, LinkKind::PcieUp, path);
  path.links.push_back({from_host.of_servers ? LinkKind::ServerNicUp : LinkKind::WorkerNicUp, from_host.first});
  const Fabric& fabric = cluster.network.fabric;
  if (fabric.kind != FabricKind::Star) {
    std::vector<std::uint32_t> links;
    add_path(fabric, port_of(cluster, from_host), port_of(cluster, to_host), links);
    for (const std::uint32_t l : links) {
      path.links.push_back({LinkKind::Fabric, l});
      path.latency += fabric.links[l].latency;
    }
  }
  path.links.push_back({to_host.of_servers ? LinkKind::ServerNicDown : LinkKind::WorkerNicDown, to_host.first});
  add_pcie(cluster, to, LinkKind::PcieDown, path);
  return path;
}

bool of_host(LinkKind kind) {
  switch (kind) {
    case LinkKind::WorkerNicUp:
    case LinkKind::WorkerNicDown:
    case LinkKind::ServerNicUp:
    case LinkKind::ServerNicDown:
    case LinkKind::Loopback:
      return true;
    case LinkKind::Fabric:
    case LinkKind::PcieUp:
    case LinkKind::PcieDown:
    case LinkKind::NvlinkUp:
    case LinkKind::NvlinkDown:
      return false;
  }
  return false;
}

bool exists(const Cluster& cluster, LinkRef link) {
  switch (link.kind) {
    case LinkKind::WorkerNicUp:
    case LinkKind::WorkerNicDown:
    case LinkKind::Loopback:
    case LinkKind::PcieUp:
    case LinkKind::PcieDown:
    case LinkKind::NvlinkUp:
    case LinkKind::NvlinkDown:
      return link.of < cluster.workers.size();
    case LinkKind::ServerNicUp:
    case LinkKind::ServerNicDown:
      return link.of < cluster.servers.size();
    case LinkKind::Fabric:
      return link.of < cluster.network.fabric.links.size();
  }
  return false;
}

Bandwidth link_rate(const Cluster& cluster, LinkRef link) {
  const Bandwidth whole = whole_rate(cluster, link);
  if (whole.is_unlimited()) return whole;
  for (const Reservation& r : cluster.network.reserved)
    if (r.link == link) return Bandwidth(std::max<std::int64_t>(1, whole.bits_per_second() - r.rate.bits_per_second()));
  return whole;
}

std::string_view link_part(LinkKind kind) {
  switch (kind) {
    case LinkKind::WorkerNicUp:
    case LinkKind::ServerNicUp:
      return "NIC up";
    case LinkKind::WorkerNicDown:
    case LinkKind::ServerNicDown:
      return "NIC down";
    case LinkKind::Fabric:
      return "link";
    case LinkKind::Loopback:
      return "loopback";
    case LinkKind::PcieUp:
      return "PCIe up";
    case LinkKind::PcieDown:
      return "PCIe down";
    case LinkKind::NvlinkUp:
      return "NVLink up";
    case LinkKind::NvlinkDown:
      return "NVLink down";
  }
  return "link";
}

std::string link_name(const Cluster& cluster, LinkRef link) {
  const auto owner = [&]() -> std::string {
    switch (link.kind) {
      case LinkKind::WorkerNicUp:
      case LinkKind::WorkerNicDown:
      case LinkKind::Loopback: {
        std::size_t last = link.of;
        while (last + 1 < cluster.workers.size() && cluster.workers[last + 1].with_worker == link.of) ++last;
        return last == link.of ? cluster.workers[link.of].name : fmt::format("workers {}-{}", link.of, last);
      }
      case LinkKind::ServerNicUp:
      case LinkKind::ServerNicDown:
        return cluster.servers.at(link.of).name;
      case LinkKind::PcieUp:
      case LinkKind::PcieDown:
      case LinkKind::NvlinkUp:
      case LinkKind::NvlinkDown:
        return cluster.workers.at(link.of).name;
      case LinkKind::Fabric:
        break;
    }
    return "";
  };
  if (link.kind == LinkKind::Fabric) return cluster.network.fabric.links.at(link.of).name;
  return fmt::format("{} {}", owner(), link_part(link.kind));
}

std::optional<std::uint32_t> free_port(const Cluster& cluster) {
  const Fabric& fabric = cluster.network.fabric;
  if (fabric.kind == FabricKind::Star) return 0;
  if (fabric.kind == FabricKind::Graph) return std::nullopt;
  std::vector<std::uint32_t> taken(fabric.ports, 0);
  for (const HostRef host : hosts(cluster)) ++taken.at(port_of(cluster, host));
  const auto least = std::min_element(taken.begin(), taken.end());
  if (fabric.kind == FabricKind::FatTree && *least > 0) return std::nullopt;
  return static_cast<std::uint32_t>(least - taken.begin());
}

}  // namespace stretto::cluster
