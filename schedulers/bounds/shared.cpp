// SPDX-License-Identifier: Apache-2.0
// Stage: bounds of links that several workers share. The arguments are those of a server's NIC, for the workers and
// servers whose messages cross the link: a pull of theirs comes after the update of all gradients, theirs included, and
// before a loss of theirs.
#include <algorithm>
#include <limits>
#include <map>

#include "models/cluster/topology.hpp"
#include "schedulers/bounds/stages.hpp"

namespace stretto::bounds {

namespace {

constexpr Duration kNever = Duration::ps(std::numeric_limits<std::int64_t>::max());

void use(std::vector<SharedLink::Users>& users, std::size_t server, std::size_t kind) {
  SharedLink::Users& u = users[server];
  ++u.count;
  if (std::find(u.kinds.begin(), u.kinds.end(), kind) == u.kinds.end()) u.kinds.push_back(kind);
}

}  // namespace

void Stage::find_shared() {
  const bool hosts_shared = std::any_of(cluster_.workers.begin(), cluster_.workers.end(),
                                        [](const cluster::Worker& w) { return w.with_worker.has_value(); });
  if (!hosts_shared && cluster_.network.fabric.kind == cluster::FabricKind::Star) return;
  const std::size_t servers = cluster_.servers.size();
  std::map<cluster::LinkRef, SharedLink> found;
  const auto add = [&](const cluster::Path& path, std::size_t worker, std::size_t server, bool pull) {
    for (const cluster::LinkRef ref : path.links) {
      if (ref.kind != cluster::LinkKind::Fabric && ref.kind != cluster::LinkKind::WorkerNicDown &&
          ref.kind != cluster::LinkKind::WorkerNicUp)
        continue;
      const Bandwidth rate = cluster::link_rate(cluster_, ref);
      if (rate.is_unlimited()) continue;
      SharedLink& link = found[ref];
      if (link.name.empty()) link = {cluster::link_name(cluster_, ref), rate, {}, {}};
      link.pulls.resize(servers);
      link.pushes.resize(servers);
      use(pull ? link.pulls : link.pushes, server, kind_of_[worker]);
    }
  };
  for (std::uint32_t w = 0; w < cluster_.workers.size(); ++w)
    for (std::uint32_t s = 0; s < servers; ++s) {
      add(cluster::route(cluster_, {true, s}, {false, w}), w, s, true);
      if (training_) add(cluster::route(cluster_, {false, w}, {true, s}), w, s, false);
    }
  for (auto& [ref, link] : found) {
    const auto most = [](const std::vector<SharedLink::Users>& users) {
      std::int64_t count = 0;
      for (const SharedLink::Users& u : users) count = std::max(count, u.count);
      return count;
    };
    const bool of_one_host = ref.kind != cluster::LinkKind::Fabric;
    if (!of_one_host || most(link.pulls) > 1 || most(link.pushes) > 1) shared_.push_back(std::move(link));
  }
}

Part Stage::pulls_of_link(const SharedLink& link, bool to_loss) const {
  std::vector<Job> wire;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    const SharedLink::Users& users = link.pulls[transfer.server];
    if (users.count == 0 || (to_loss && not_before_loss(t))) continue;
    Duration start = kNever;
    Duration after = kNever;
    for (const std::size_t kind : users.kinds) {
      const Stages lags = pull_lags(kinds_[kind], t);
      start = std::min(start, pull_start(lags));
      after = std::min(after, lags.receive + (to_loss ? work_[kind].tail_to_loss : work_[kind].tail)[parameter(t)]);
    }
    wire.push_back({start, least_duration(transfer.bytes * users.count, link.rate), after});
  }
  return {one_machine_bound(std::move(wire)), link.name};
}

Part Stage::pushes_of_link(const SharedLink& link, bool from_loss) const {
  std::vector<Job> wire;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    const SharedLink::Users& users = link.pushes[transfer.server];
    if (users.count == 0 || !pushed(t) || (from_loss && not_after_loss(t))) continue;
    Duration start = kNever;
    Duration after = kNever;
    for (const std::size_t kind : users.kinds) {
      const Stages lags = push_lags(kinds_[kind], t);
      const Duration head = (from_loss ? work_[kind].head_from_loss : work_[kind].gradient)[parameter(t)];
      start = std::min(start, head + lags.send + cluster_.network.latency);
      after = std::min(after, lags.receive + update_lag(t));
    }
    wire.push_back({start, least_duration(transfer.bytes * users.count, link.rate), after});
  }
  return {one_machine_bound(std::move(wire)), link.name};
}

Part Stage::period_of_link(const SharedLink& link) const {
  const Duration latency = cluster_.network.latency;
  std::vector<Job> pulls;
  std::vector<Job> pushes;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    if (!pushed(t) || !read_[parameter(t)]) continue;
    // From the earliest push of a user to the loss that follows its pull.
    const auto job = [&](const SharedLink::Users& users, bool pull) {
      Duration before = kNever;
      Duration after = kNever;
      for (const std::size_t kind : users.kinds) {
        const Stages up = push_lags(kinds_[kind], t);
        const Stages down = pull_lags(kinds_[kind], t);
        const Duration start = work_[kind].head_from_loss[parameter(t)] + up.send + latency;
        const Duration between = up.receive + update_lag(t) + down.send + latency;
        const Duration rest = down.receive + work_[kind].tail_to_loss[parameter(t)];
        before = std::min(before, pull ? start + up.wire + between : start);
        after = std::min(after, pull ? rest : between + down.wire + rest);
      }
      return Job{before, least_duration(transfer.bytes * users.count, link.rate), after};
    };
    if (link.pulls[transfer.server].count > 0) pulls.push_back(job(link.pulls[transfer.server], true));
    if (link.pushes[transfer.server].count > 0) pushes.push_back(job(link.pushes[transfer.server], false));
  }
  Part part;
  part.offer(one_machine_bound(std::move(pulls)), link.name);
  part.offer(one_machine_bound(std::move(pushes)), link.name);
  return part;
}

Part Stage::load_of_link(const SharedLink& link) const {
  Bytes bytes;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    bytes += transfer.bytes * link.pulls[transfer.server].count;
    if (pushed(t)) bytes += transfer.bytes * link.pushes[transfer.server].count;
  }
  return {least_duration(bytes, link.rate), link.name};
}

}  // namespace stretto::bounds
