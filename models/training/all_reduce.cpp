// SPDX-License-Identifier: Apache-2.0
#include "models/training/all_reduce.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "models/cluster/topology.hpp"

namespace stretto::training {

namespace {

bool free_services(const cluster::Worker& w) { return w.send.is_zero() && w.receive.is_zero(); }

bool equal(const cluster::ServiceCost& a, const cluster::ServiceCost& b) {
  return a.per_message == b.per_message && a.per_byte_ps == b.per_byte_ps;
}

bool equal(const cluster::Worker& a, const cluster::Worker& b) {
  return a.nic.up == b.nic.up && a.nic.down == b.nic.down && a.threads == b.threads && equal(a.send, b.send) &&
         equal(a.receive, b.receive);
}

// One message that shares its host's NIC with `sharing` like it; `between`: its latency and time between switches.
Duration message_time(const cluster::Cluster& cluster, const AllReduce& options, const Send& send, bool inside,
                      std::int64_t sharing, std::pair<Duration, Duration> between = {}) {
  const std::uint32_t g = options.per_host;
  const cluster::Worker& from = cluster.workers[send.from];
  const cluster::Worker& to = cluster.workers[send.to];
  const Duration services = from.send.of(send.bytes) + to.receive.of(send.bytes) + options.per_round;
  if (inside) return services + transfer_duration(send.bytes, options.inside_rate);
  const cluster::Network& network = cluster.network;
  const Bandwidth nic = std::min(cluster.workers[send.from / g * g].nic.up.scaled(network.efficiency),
                                 cluster.workers[send.to / g * g].nic.down.scaled(network.efficiency));
  return services + network.latency + between.first +
         std::max({transfer_duration(Bytes(send.bytes.count() * sharing), nic),
                   transfer_duration(send.bytes, network.rate_cap), between.second});
}

// What the messages of one round meet between switches.
class Crossings {
 public:
  explicit Crossings(const cluster::Cluster& cluster)
      : cluster_(cluster), uses_(cluster.network.fabric.links.size(), 0) {}
  void begin() { std::fill(uses_.begin(), uses_.end(), 0); }
  void add(const Send& send) {
    for (const std::uint32_t link : links(send)) ++uses_[link];
  }
  // Latency of the links, and what the transfer takes at its share of the link that gives it least.
  Duration latency(const Send& send) {
    Duration sum;
    for (const std::uint32_t link : links(send)) sum += cluster_.network.fabric.links[link].latency;
    return sum;
  }
  Duration transfer(const Send& send) {
    Duration longest;
    for (const std::uint32_t link : links(send))
      longest = std::max(longest, transfer_duration(Bytes(send.bytes.count() * uses_[link]),
                                                    cluster::link_rate(cluster_, {cluster::LinkKind::Fabric, link})));
    return longest;
  }

 private:
  const std::vector<std::uint32_t>& links(const Send& send) {
    const auto [it, fresh] = links_.try_emplace({send.from, send.to});
    if (fresh)
      for (const cluster::LinkRef ref : cluster::route(cluster_, {false, send.from}, {false, send.to}).links)
        if (ref.kind == cluster::LinkKind::Fabric) it->second.push_back(ref.of);
    return it->second;
  }
  const cluster::Cluster& cluster_;
  std::vector<std::int64_t> uses_;  // messages of the round, per link
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> links_;
};

}  // namespace

Collective collective(const cluster::Cluster& cluster, const AllReduce& options, Part part) {
  return {options.algorithm, part, static_cast<std::uint32_t>(cluster.workers.size()), options.per_host};
}

std::string why_no_aggregate(const cluster::Cluster& cluster, const AllReduce& options) {
  const auto& workers = cluster.workers;
  const bool shared = options.per_host > 1 && workers.size() > 1;
  if (cluster.network.fabric.kind != cluster::FabricKind::Star) return "messages cross links between switches";
  if (!symmetric(collective(cluster, options, Part::Whole))) return "the workers' parts in the collective differ";
  if (!std::all_of(workers.begin(), workers.end(), [&](const auto& w) { return equal(w, workers[0]); }))
    return "the workers' NICs or service costs differ";
  if (!free_services(workers[0]) && (shared || (options.streams > 1 && workers[0].threads > 0)))
    return "services of several messages share a worker's threads or a host";
  if (cluster.network.model == cluster::LinkModel::Fifo && (shared || options.streams > 1))
    return "messages of several ranks or collectives share a FIFO link";
  return "";
}

Duration collective_time(const cluster::Cluster& cluster, const AllReduce& options, Part part, Bytes bytes) {
  const Collective c = collective(cluster, options, part);
  Duration sum;
  const bool equal_nics = std::all_of(cluster.workers.begin(), cluster.workers.end(),
                                      [&](const auto& w) { return equal(w, cluster.workers[0]); });
  if (symmetric(c) && equal_nics && cluster.network.fabric.kind == cluster::FabricKind::Star) {
    const std::int64_t sharing = std::min(c.host, c.ranks);
    for (const EqualRound& r : equal_rounds(c, bytes))
      sum += message_time(cluster, options, {0, 0, r.bytes}, r.inside, sharing);
    return sum;
  }
  std::vector<std::int64_t> up(c.ranks);
  std::vector<std::int64_t> down(c.ranks);
  Crossings crossings(cluster);
  for (const Round& round : rounds(c, bytes)) {
    const auto inside = [&](const Send& s) { return s.from / c.host == s.to / c.host; };
    std::fill(up.begin(), up.end(), 0);
    std::fill(down.begin(), down.end(), 0);
    crossings.begin();
    for (const Send& s : round)
      if (!inside(s)) {
        crossings.add(s);
        ++up[s.from / c.host];
        ++down[s.to / c.host];
      }
    Duration longest;
    for (const Send& s : round)
      longest = std::max(
          longest, message_time(cluster, options, s, inside(s), std::max(up[s.from / c.host], down[s.to / c.host]),
                                inside(s) ? std::pair<Duration, Duration>()
                                          : std::pair(crossings.latency(s), crossings.transfer(s))));
    sum += longest;
  }
  return sum;
}

}  // namespace stretto::training
