// SPDX-License-Identifier: Apache-2.0
#include "models/cluster/cluster.hpp"

#include <algorithm>

namespace stretto::cluster {

namespace {
Bandwidth route_rate(const Network& network, Bandwidth sender, Bandwidth receiver) {
  return std::min(network.rate_cap, std::min(sender, receiver).scaled(network.efficiency));
}
}  // namespace

Bandwidth pull_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return route_rate(cluster.network, cluster.servers.at(server).nic.up, cluster.workers.at(worker).nic.down);
}

Bandwidth push_rate(const Cluster& cluster, std::size_t worker, std::size_t server) {
  return route_rate(cluster.network, cluster.workers.at(worker).nic.up, cluster.servers.at(server).nic.down);
}

Duration pull_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return cluster.network.latency + transfer_duration(bytes, pull_rate(cluster, worker, server));
}

Duration push_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes) {
  return cluster.network.latency + transfer_duration(bytes, push_rate(cluster, worker, server));
}

}  // namespace stretto::cluster
