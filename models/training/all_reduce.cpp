// SPDX-License-Identifier: Apache-2.0
#include "models/training/all_reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stretto::training {

namespace {

bool free_services(const cluster::Worker& w) { return w.send.is_zero() && w.receive.is_zero(); }

bool equal(const cluster::ServiceCost& a, const cluster::ServiceCost& b) {
  return a.per_message == b.per_message && a.per_byte_ps == b.per_byte_ps;
}

bool equal(const cluster::Worker& a, const cluster::Worker& b) {
  return a.nic.up == b.nic.up && a.nic.down == b.nic.down && a.threads == b.threads && equal(a.send, b.send) &&
         equal(a.receive, b.receive) && a.pcie == b.pcie && a.nvlink == b.nvlink &&
         a.nvlink_latency == b.nvlink_latency;
}

bool all_equal(const cluster::Cluster& cluster) {
  return std::all_of(cluster.workers.begin(), cluster.workers.end(),
                     [&](const auto& w) { return equal(w, cluster.workers[0]); });
}

// One message whose links each carry `uses(link)` messages like it.
template <class Uses>
Duration message_time(const cluster::Cluster& cluster, const AllReduce& options, const Send& send,
                      const RankRoutes& routes, const RankRoutes::Route& route, Uses&& uses) {
  Duration longest;
  if (!route.inside) longest = transfer_duration(send.bytes, cluster.network.rate_cap);
  for (const std::uint32_t link : route.links)
    longest = std::max(longest, transfer_duration(send.bytes * uses(link), routes.rate(link)));
  return cluster.workers[send.from].send.of(send.bytes) + cluster.workers[send.to].receive.of(send.bytes) +
         options.per_round + route.latency + longest;
}

}  // namespace

const RankRoutes::Route& RankRoutes::of(std::uint32_t from, std::uint32_t to) {
  std::vector<Route>& known = of_[from];
  for (const Route& route : known)
    if (route.to == to) return route;
  const cluster::End a{false, from};
  const cluster::End b{false, to};
  const cluster::Path path = cluster::route(cluster_, a, b);
  Route route{to, cluster::host_of(cluster_, a) == cluster::host_of(cluster_, b), path.latency, {}};
  for (const cluster::LinkRef ref : path.links) {
    const auto [it, fresh] = number_.try_emplace(ref, static_cast<std::uint32_t>(refs_.size()));
    if (fresh) {
      refs_.push_back(ref);
      rates_.push_back(cluster::link_rate(cluster_, ref));
    }
    route.links.push_back(it->second);
  }
  return known.emplace_back(std::move(route));
}

Collective collective(const cluster::Cluster& cluster, const AllReduce& options, Part part) {
  return {options.algorithm, part, static_cast<std::uint32_t>(cluster.workers.size()),
          std::max(1U, cluster::workers_per_host(cluster))};
}

std::string why_no_aggregate(const cluster::Cluster& cluster, const AllReduce& options) {
  const auto& workers = cluster.workers;
  const std::uint32_t per_host = cluster::workers_per_host(cluster);
  const bool shared = per_host > 1 && workers.size() > 1;
  if (cluster.network.fabric.kind != cluster::FabricKind::Star) return "messages cross links between switches";
  if (per_host == 0) return "hosts have different numbers of workers";
  if (!symmetric(collective(cluster, options, Part::Whole))) return "the workers' parts in the collective differ";
  if (!all_equal(cluster)) return "the workers' NICs, links or service costs differ";
  if (!cluster.network.reserved.empty()) return "background traffic takes its rate from single links";
  if (!free_services(workers[0]) && (shared || (options.streams > 1 && workers[0].threads > 0)))
    return "services of several messages share a worker's threads or a host";
  if (cluster.network.model == cluster::LinkModel::Fifo && (shared || options.streams > 1))
    return "messages of several ranks or collectives share a FIFO link";
  return "";
}

Duration collective_time(const cluster::Cluster& cluster, const AllReduce& options, Part part, Bytes bytes) {
  const Collective c = collective(cluster, options, part);
  Duration sum;
  RankRoutes routes(cluster);
  if (why_no_aggregate(cluster, options).empty()) {
    for (const EqualRound& r : equal_rounds(c, bytes)) {
      const RankRoutes::Route& route = routes.of_all(r.inside);
      sum += message_time(cluster, options, {0, route.to, r.bytes}, routes, route,
                          [&](std::uint32_t link) { return std::int64_t{routes.ranks_on(routes.ref(link).kind)}; });
    }
    return sum;
  }
  std::vector<std::int64_t> uses;
  for (const Round& round : rounds(c, bytes)) {
    std::fill(uses.begin(), uses.end(), 0);
    for (const Send& s : round)
      for (const std::uint32_t link : routes.of(s.from, s.to).links) {
        uses.resize(std::max(uses.size(), routes.links()), 0);
        ++uses[link];
      }
    Duration longest;
    for (const Send& s : round)
      longest = std::max(longest, message_time(cluster, options, s, routes, routes.of(s.from, s.to),
                                               [&](std::uint32_t link) { return uses[link]; }));
    sum += longest;
  }
  return sum;
}

}  // namespace stretto::training
