// SPDX-License-Identifier: Apache-2.0
// Stage: bounds on the period from loss to loss without a barrier, and loads.
#include <algorithm>
#include <limits>

#include "schedulers/bounds/stages.hpp"

namespace stretto::bounds {

namespace {

Duration divided(Duration work, std::uint32_t n) { return Duration::ps(work.ps() / static_cast<std::int64_t>(n)); }

// Jobs x nodes of a branch and bound over whole messages.
constexpr std::size_t kSequenceEffort = 100'000;
// More messages are small beside a period, and breaks would change little.
constexpr std::size_t kMostInSequence = 2'000;

// A connection moves one message at a time, each without a break.
Duration connection_bound(std::vector<Job> jobs) {
  if (jobs.empty() || jobs.size() > kMostInSequence) return one_machine_bound(std::move(jobs));
  return one_machine_sequence(jobs, kSequenceEffort / jobs.size()).bound;
}

}  // namespace

// Whatever the pushes did, pulls that all workers have in one order move at equal rates, since the server's links are
// shared fairly, nothing else uses them in this direction, and a slice is ready for all at its update. What all workers
// have of a step at the first loss, all bytes of it have moved.
bool Stage::pulls_together() const {
  const cluster::Network& network = cluster_.network;
  if (!facts_.one_order || !training_ || sliced_ || workers() < 2 || kinds_.size() > 1 ||
      network.model != cluster::LinkModel::Fluid || network.fabric.kind != cluster::FabricKind::Star ||
      !network.reserved.empty())
    return false;
  for (const cluster::Worker& w : cluster_.workers)
    if (w.with_worker || (!w.receive.is_zero() && w.threads > 0)) return false;
  for (const cluster::Server& s : cluster_.servers)
    if (s.on_worker || (!s.send.is_zero() && cluster::service_units(s) > 0)) return false;
  // A variable that is never pushed is asked for when a worker's own step begins.
  for (std::size_t t = 0; t < layout_.transfers.size() && !facts_.alike; ++t)
    if (!pushed(t)) return false;
  return true;
}

Duration Stage::gathered(std::size_t t) const {
  if (!together_) return {};
  const plan::Transfer& transfer = layout_.transfers[t];
  return least_duration(transfer.bytes * static_cast<std::int64_t>(workers()),
                        cluster_.servers[transfer.server].nic.down.scaled(cluster_.network.efficiency));
}

Duration Stage::handed_out(std::size_t t) const {
  if (!together_) return {};
  const plan::Transfer& transfer = layout_.transfers[t];
  return least_duration(transfer.bytes * static_cast<std::int64_t>(workers()),
                        cluster_.servers[transfer.server].nic.up.scaled(cluster_.network.efficiency));
}

TwoStageJob Stage::round_trip(std::size_t kind, std::size_t t) const {
  const auto w = kinds_[kind];
  const Stages pull = pull_lags(w, t);
  const Duration latency = cluster_.network.latency;
  const Duration tail = pull.receive + work_[kind].tail_to_loss[parameter(t)];
  if (!pushed(t)) return {work_[kind].after + pull_start(pull), {}, {}, pull.wire, tail};
  const Stages push = push_lags(w, t);
  return {work_[kind].head_from_loss[parameter(t)] + push.send + latency, push.wire,
          push.receive + update_lag(t) + pull.send + latency, pull.wire, tail};
}

std::vector<RoundTrip> Stage::round_trips() const {
  std::vector<RoundTrip> trips;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t)
    if (read_[parameter(t)]) trips.push_back({static_cast<std::uint32_t>(t), round_trip(0, t)});
  return trips;
}

Part Stage::period_of_worker(std::size_t kind) const {
  const auto w = kinds_[kind];
  const cluster::Worker& worker = cluster_.workers[w];
  const Bandwidth nic_up = up_rate(w);
  const Bandwidth nic_down = down_rate(w);
  const Duration latency = cluster_.network.latency;
  const Work& work = work_[kind];
  std::vector<Job> up;
  std::vector<Job> down;
  std::vector<Job> send;
  std::vector<Job> receive;
  std::vector<std::vector<Job>> up_connection(layout_.servers);
  std::vector<std::vector<Job>> down_connection(layout_.servers);
  std::vector<TwoStageJob> both;
  Duration longest;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    if (!read_[parameter(t)]) continue;
    const auto& transfer = layout_.transfers[t];
    const Stages pull = pull_lags(w, t);
    const Duration need = work.tail_to_loss[parameter(t)];
    const Duration pulled = std::max(pull.wire, handed_out(t));
    const Duration down_time = least_duration(transfer.bytes, nic_down);
    Duration down_start;
    if (pushed(t)) {
      const Stages push = push_lags(w, t);
      const Duration ready = work.head_from_loss[parameter(t)];
      const TwoStageJob trip = round_trip(kind, t);
      const Duration after_up = trip.lag + pulled + trip.tail;
      const Duration up_time = least_duration(transfer.bytes, nic_up);
      down_start = trip.head + std::max(trip.first, gathered(t)) + trip.lag;
      up.push_back({trip.head, up_time, after_up});
      up_connection[transfer.server].push_back(
          {trip.head, least_duration(transfer.bytes, cluster::push_rate(cluster_, w, transfer.server)), after_up});
      both.push_back({trip.head, up_time, trip.lag, down_time, trip.tail});
      if (worker.threads > 0)
        send.push_back(
            {ready, divided(worker.send.of(transfer.bytes), worker.threads), latency + push.wire + after_up});
    } else {
      down_start = work.after + pull_start(pull);
    }
    down.push_back({down_start, down_time, pull.receive + need});
    down_connection[transfer.server].push_back(
        {down_start, least_duration(transfer.bytes, cluster::pull_rate(cluster_, w, transfer.server)),
         pull.receive + need});
    if (worker.threads > 0)
      receive.push_back({down_start + pulled, divided(worker.receive.of(transfer.bytes), worker.threads), need});
    longest = std::max(longest, down_start + pulled + pull.receive + need);
  }
  Part part;
  const auto name = worker_name(kind);
  part.offer(one_machine_bound(std::move(up)), up_name(kind));
  part.offer(one_machine_bound(std::move(down)), down_name(kind));
  if (!sliced_) part.offer(two_machine_bound(std::move(both)), up_name(kind) + " and down");
  if (cluster_.network.streams == 1)
    for (std::size_t s = 0; s < layout_.servers; ++s) {
      // Where transfers may be cut at will, only the work of a connection counts.
      const auto bound = sliced_ ? one_machine_bound : connection_bound;
      part.offer(bound(std::move(up_connection[s])), fmt::format("connection {} to {}", name, server_name(s)));
      part.offer(bound(std::move(down_connection[s])), fmt::format("connection {} to {}", server_name(s), name));
    }
  part.offer(one_machine_bound(std::move(send)), name + " threads");
  part.offer(one_machine_bound(std::move(receive)), name + " threads");
  part.offer(longest, "longest path of " + name);
  return part;
}

Part Stage::period_of_server(std::size_t server) const {
  const cluster::Server& self = cluster_.servers[server];
  const auto count = static_cast<std::int64_t>(workers());
  const Duration latency = cluster_.network.latency;
  const Bandwidth nic_up = self.nic.up.scaled(cluster_.network.efficiency);
  const Bandwidth nic_down = self.nic.down.scaled(cluster_.network.efficiency);
  std::vector<Job> up;
  std::vector<Job> down;
  std::vector<Job> send;
  std::vector<Job> receive;
  constexpr Duration kNever = Duration::ps(std::numeric_limits<std::int64_t>::max());
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    if (transfer.server != server || !pushed(t) || !read_[parameter(t)]) continue;
    Duration push_start = kNever;   // a push may move on the wire
    Duration arrived = kNever;      // a push has moved
    Duration all_arrived = kNever;  // all of them have
    Duration after_wire = kNever;   // of a pull, to the loss
    Duration after_send = kNever;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const Stages push = push_lags(kinds_[kind], t);
      const Stages pull = pull_lags(kinds_[kind], t);
      const Duration start = work_[kind].head_from_loss[parameter(t)] + push.send + latency;
      const Duration rest = pull.receive + work_[kind].tail_to_loss[parameter(t)];
      push_start = std::min(push_start, start);
      arrived = std::min(arrived, start + push.wire);
      all_arrived = std::min(all_arrived, start + std::max(push.wire, gathered(t)));
      after_wire = std::min(after_wire, rest);
      after_send = std::min(after_send, latency + std::max(pull.wire, handed_out(t)) + rest);
    }
    const Duration received = push_lags(kinds_.front(), t).receive;
    const Duration sent = pull_lags(kinds_.front(), t).send;
    const Duration updated = all_arrived + received + update_lag(t);
    up.push_back({updated + sent + latency, least_duration(transfer.bytes * count, nic_up), after_wire});
    down.push_back(
        {push_start, least_duration(transfer.bytes * count, nic_down), received + update_lag(t) + sent + after_send});
    if (self.threads == 0) continue;
    send.push_back({updated, divided(self.send.of(transfer.bytes) * count, self.threads), after_send});
    receive.push_back(
        {arrived, divided(self.receive.of(transfer.bytes) * count + update_time(t), self.threads), sent + after_send});
  }
  Part part;
  const auto name = server_name(server);
  part.offer(one_machine_bound(std::move(up)), name + " NIC up");
  part.offer(one_machine_bound(std::move(down)), name + " NIC down");
  part.offer(one_machine_bound(std::move(send)), name + " threads");
  part.offer(one_machine_bound(std::move(receive)), name + " threads");
  return part;
}

Part Stage::load_of_worker(std::size_t kind) const {
  const auto w = kinds_[kind];
  const cluster::Worker& worker = cluster_.workers[w];
  Bytes up;
  Bytes down;
  Duration service;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const Bytes bytes = layout_.transfers[t].bytes;
    down += bytes;
    service += worker.receive.of(bytes);
    if (!pushed(t)) continue;
    up += bytes;
    service += worker.send.of(bytes);
  }
  Part part;
  const auto name = worker_name(kind);
  part.offer(cluster_.step_overhead + work_[kind].all, name + " device");
  part.offer(least_duration(up, up_rate(w)), up_name(kind));
  part.offer(least_duration(down, down_rate(w)), down_name(kind));
  if (worker.threads > 0) part.offer(divided(service, worker.threads), name + " threads");
  return part;
}

Part Stage::load_of_server(std::size_t server) const {
  const cluster::Server& self = cluster_.servers[server];
  const auto count = static_cast<std::int64_t>(workers());
  Bytes up;
  Bytes down;
  Duration service;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    if (layout_.transfers[t].server != server) continue;
    const Bytes bytes = layout_.transfers[t].bytes;
    up += bytes * count;
    service += self.send.of(bytes) * count;
    if (!pushed(t)) continue;
    down += bytes * count;
    service += self.receive.of(bytes) * count + update_time(t);
  }
  Part part;
  const auto name = server_name(server);
  part.offer(least_duration(up, self.nic.up.scaled(cluster_.network.efficiency)), name + " NIC up");
  part.offer(least_duration(down, self.nic.down.scaled(cluster_.network.efficiency)), name + " NIC down");
  if (self.threads > 0) part.offer(divided(service, self.threads), name + " threads");
  return part;
}

}  // namespace stretto::bounds
