// SPDX-License-Identifier: Apache-2.0
// Which links a message crosses between two processes of a cluster, and what these links can do.
//
// A host has one NIC. Its number is that of its first process: hosts of workers and hosts of servers alone are counted
// apart. Routes:
//   worker and server, two hosts   PCIe of the worker's device, NICs of both hosts, the fabric between their ports
//   worker and server, one host    PCIe of the device and the host's loopback, no latency
//   two workers, two hosts         as above with the PCIe of both devices
//   two workers, one host          NVLink of both if both have it, with the longer latency of the two; else the PCIe of
//                                  both, no latency
//   two servers, one host          nothing
// PCIe and NVLink are links of each device, one per direction; nothing else of the host's inside limits. Latency of a
// route between hosts: network.latency, and that of each link of the fabric that it crosses.
// `efficiency` takes its share of NICs and fabric, not of what lies inside a host.
// Cost: O(links of the route).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"

namespace stretto::cluster {

// A process as the end of a route.
struct End {
  bool server = false;
  std::uint32_t index = 0;
  bool operator==(const End&) const = default;
};

// The host of a process: that of a worker, or one of servers alone.
struct HostRef {
  bool of_servers = false;
  std::uint32_t first = 0;  // its first worker, or server
  bool operator==(const HostRef&) const = default;
};

struct Path {
  std::vector<LinkRef> links;
  Duration latency;
};

HostRef host_of(const Cluster& cluster, End end);
std::uint32_t port_of(const Cluster& cluster, HostRef host);
const Nic& nic_of(const Cluster& cluster, HostRef host);

bool reachable(const Cluster& cluster, End from, End to);

// The ends differ; their ports must be reachable.
Path route(const Cluster& cluster, End from, End to);

// Does it belong to a host as a whole? Else to one device, or to the fabric.
bool of_host(LinkKind kind);
// Its process, or link of the fabric, is part of the cluster.
bool exists(const Cluster& cluster, LinkRef link);

// Payload rate, without what constant background traffic takes. At least 1 bit/s.
Bandwidth link_rate(const Cluster& cluster, LinkRef link);
// "NIC up", "PCIe down"; "link" for one of the fabric, which has a name of its own.
std::string_view link_part(LinkKind kind);
// "worker 3 NIC up", "workers 4-7 NIC up", "rack 0 uplink", "worker 3 PCIe down"
std::string link_name(const Cluster& cluster, LinkRef link);

// Where one more host can be: the rack with the fewest hosts (the first of them), or the first free slot; none where
// there is no place, which a graph never has. 0 in a star.
std::optional<std::uint32_t> free_port(const Cluster& cluster);

}  // namespace stretto::cluster
