// SPDX-License-Identifier: Apache-2.0
#include "models/training/all_reduce.hpp"

#include <algorithm>
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

// One message that shares its host's NIC with `sharing` like it.
Duration message_time(const cluster::Cluster& cluster, const AllReduce& options, const Send& send, bool inside,
                      std::int64_t sharing) {
  const std::uint32_t g = options.per_host;
  const cluster::Worker& from = cluster.workers[send.from];
  const cluster::Worker& to = cluster.workers[send.to];
  const Duration services = from.send.of(send.bytes) + to.receive.of(send.bytes) + options.per_round;
  if (inside) return services + transfer_duration(send.bytes, options.inside_rate);
  const cluster::Network& network = cluster.network;
  const Bandwidth nic = std::min(cluster.workers[send.from / g * g].nic.up.scaled(network.efficiency),
                                 cluster.workers[send.to / g * g].nic.down.scaled(network.efficiency));
  Bandwidth own = network.rate_cap;
  Duration latency = network.latency;
  if (network.fabric.kind != cluster::FabricKind::Star) {
    const cluster::Path path = cluster::route(cluster, {false, send.from}, {false, send.to});
    for (const cluster::LinkRef link : path.links)
      if (link.kind == cluster::LinkKind::Fabric) own = std::min(own, cluster::link_rate(cluster, link));
    latency = path.latency;
  }
  return services + latency +
         std::max(transfer_duration(Bytes(send.bytes.count() * sharing), nic), transfer_duration(send.bytes, own));
}

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
    EqualRound before;
    Duration last;
    for (const EqualRound& r : equal_rounds(c, bytes)) {
      if (r.bytes != before.bytes || r.inside != before.inside)
        last = message_time(cluster, options, {0, 0, r.bytes}, r.inside, sharing);
      before = r;
      sum += last;
    }
    return sum;
  }
  std::vector<std::int64_t> up(c.ranks);
  std::vector<std::int64_t> down(c.ranks);
  const auto longest = [&](const Round& round) {
    const auto inside = [&](const Send& s) { return s.from / c.host == s.to / c.host; };
    std::fill(up.begin(), up.end(), 0);
    std::fill(down.begin(), down.end(), 0);
    for (const Send& s : round)
      if (!inside(s)) {
        ++up[s.from / c.host];
        ++down[s.to / c.host];
      }
    Duration time;
    for (const Send& s : round)
      time = std::max(time,
                      message_time(cluster, options, s, inside(s), std::max(up[s.from / c.host], down[s.to / c.host])));
    return time;
  };
  const std::vector<Round> all = rounds(c, bytes);
  const auto same = [](const Send& x, const Send& y) { return x.from == y.from && x.to == y.to && x.bytes == y.bytes; };
  Duration last;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k == 0 || !std::equal(all[k].begin(), all[k].end(), all[k - 1].begin(), all[k - 1].end(), same))
      last = longest(all[k]);
    sum += last;
  }
  return sum;
}

}  // namespace stretto::training
