// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/stages.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/graph/order.hpp"

namespace stretto::bounds {

namespace {

// Of pulls and gradients around ops; beyond it gradients are bounded by work alone.
constexpr double kMostPairs = 5e8;

Duration divided(Duration work, std::uint32_t n) { return Duration::ps(work.ps() / static_cast<std::int64_t>(n)); }

bool same_cost(const cluster::ServiceCost& a, const cluster::ServiceCost& b) {
  return a.per_message == b.per_message && a.per_byte_ps == b.per_byte_ps;
}

bool same_kind(const cluster::Worker& a, const cluster::Worker& b) {
  return a.device.cores == b.device.cores && a.device.speed == b.device.speed && a.nic.up == b.nic.up &&
         a.nic.down == b.nic.down && a.pcie == b.pcie && a.threads == b.threads && same_cost(a.send, b.send) &&
         same_cost(a.receive, b.receive);
}

}  // namespace

Duration least_duration(Bytes bytes, Bandwidth rate) {
  if (rate.is_unlimited()) return Duration();
  __extension__ using Wide = unsigned __int128;
  const Wide ps = static_cast<Wide>(bytes.count()) * 8'000'000'000'000ULL / static_cast<Wide>(rate.bits_per_second());
  STRETTO_ASSERT(ps <= static_cast<Wide>(std::numeric_limits<std::int64_t>::max()),
                 "{} bytes at {} bit/s take more than 106 days", bytes.count(), rate.bits_per_second());
  return Duration::ps(static_cast<std::int64_t>(ps));
}

Stage::Stage(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout, bool training,
             bool sliced, const Split* split, Facts facts)
    : graph_(graph),
      cluster_(cluster),
      layout_(layout),
      training_(training),
      sliced_(sliced),
      facts_(std::move(facts)),
      needs_(graph::needs(graph)),
      feeds_(feeds(graph)),
      read_(graph.parameters.size(), false) {
  STRETTO_ASSERT(layout.first.size() == graph.parameters.size() + 1 && layout.servers == cluster.servers.size(),
                 "layout of {} parameters on {} servers", layout.first.size() - 1, layout.servers);
  if (split != nullptr)
    split_ = *split;
  else if (training)
    split_ = split_at_loss(graph, needs_, feeds_);
  split_.before.resize(graph.ops.size(), false);
  split_.after.resize(graph.ops.size(), false);
  split_.needed.resize(graph.parameters.size(), false);
  split_.pushed.resize(graph.parameters.size(), false);
  for (const graph::Op& op : graph.ops)
    for (const graph::ParameterId p : op.reads) read_[p.index()] = true;
  for (std::size_t w = 0; w < cluster.workers.size(); ++w) {
    std::size_t kind = 0;
    while (kind < kinds_.size() &&
           !(same_kind(cluster.workers[kinds_[kind]], cluster.workers[w]) && same_routes(kinds_[kind], w)))
      ++kind;
    if (kind == kinds_.size()) {
      kinds_.push_back(w);
      work_.push_back(make_work(w));
      for (std::size_t p = 0; p < facts_.gradients.size(); ++p)
        work_.back().head_from_loss[p] = std::max(work_.back().head_from_loss[p], facts_.gradients[p]);
      if (split == nullptr) work_.back().gradient = gradient_ends(w, work_.back());
    }
    kind_of_.push_back(kind);
  }
  find_shared();
  together_ = pulls_together();
}

bool Stage::same_routes(std::size_t a, std::size_t b) const {
  if (cluster_.network.fabric.kind == cluster::FabricKind::Star && cluster_.network.reserved.empty()) return true;
  for (std::size_t s = 0; s < cluster_.servers.size(); ++s)
    if (cluster::pull_rate(cluster_, a, s) != cluster::pull_rate(cluster_, b, s) ||
        cluster::push_rate(cluster_, a, s) != cluster::push_rate(cluster_, b, s))
      return false;
  return true;
}

Bandwidth Stage::down_rate(std::size_t worker) const {
  const cluster::Worker& w = cluster_.workers[worker];
  return std::min(w.nic.down.scaled(cluster_.network.efficiency), w.pcie);
}

Bandwidth Stage::up_rate(std::size_t worker) const {
  const cluster::Worker& w = cluster_.workers[worker];
  return std::min(w.nic.up.scaled(cluster_.network.efficiency), w.pcie);
}

std::string Stage::down_name(std::size_t kind) const {
  const std::size_t w = kinds_[kind];
  const bool pcie = cluster_.workers[w].nic.down.scaled(cluster_.network.efficiency) > cluster_.workers[w].pcie;
  return worker_name(kind) + (pcie ? " PCIe down" : " NIC down");
}

std::string Stage::up_name(std::size_t kind) const {
  const std::size_t w = kinds_[kind];
  const bool pcie = cluster_.workers[w].nic.up.scaled(cluster_.network.efficiency) > cluster_.workers[w].pcie;
  return worker_name(kind) + (pcie ? " PCIe up" : " NIC up");
}

Work Stage::make_work(std::size_t worker) const {
  const cluster::Device& device = cluster_.workers[worker].device;
  graph::Graph scaled = graph_;
  for (graph::Op& op : scaled.ops) op.time = op.time.scaled(1.0 / device.speed);
  const auto n = graph_.parameters.size();
  Work work;
  work.tail.resize(n);
  work.tail_to_loss.resize(n);
  work.head.resize(n);
  work.head_from_loss.resize(n);
  for (std::size_t o = 0; o < scaled.ops.size(); ++o) {
    const Duration time = scaled.ops[o].time;
    work.all += time;
    if (done_at_loss(o)) work.before += time;
    if (split_.after[o]) work.after += time;
    graph::for_each_bit(needs_.row(o), [&](std::size_t p) {
      work.tail[p] += time;
      if (done_at_loss(o)) work.tail_to_loss[p] += time;
    });
    graph::for_each_bit(feeds_.row(o), [&](std::size_t p) {
      work.head[p] += time;
      if (split_.after[o]) work.head_from_loss[p] += time;
    });
  }
  for (auto* list : {&work.tail, &work.tail_to_loss, &work.head, &work.head_from_loss})
    for (Duration& d : *list) d = divided(d, device.cores);
  work.all = std::max(divided(work.all, device.cores), graph::critical_path(scaled));
  work.before = divided(work.before, device.cores);
  work.after = divided(work.after, device.cores);
  return work;
}

// Overhead and work before it; where the step does not split at the loss, also the tail bound of the worker's incoming
// NIC over the pulls that the gradient op needs, in which only the ops that lead to it count. (Where the step splits,
// the sum of both parts is stronger.)
std::vector<Duration> Stage::gradient_ends(std::size_t worker, const Work& work) const {
  std::vector<Duration> ends;
  for (const Duration head : work.head) ends.push_back(cluster_.step_overhead + head);
  const auto n = graph_.parameters.size();
  double pairs = 0;
  for (std::size_t o = 0; o < graph_.ops.size(); ++o)
    pairs += static_cast<double>(needs_.count(o)) * static_cast<double>(feeds_.count(o));
  if (!training_ || split_.holds || pairs > kMostPairs) return ends;

  const cluster::Worker& self = cluster_.workers[worker];
  const Bandwidth nic = self.nic.down.scaled(cluster_.network.efficiency);
  graph::BitMatrix needed(n, n);  // row per gradient: the pulls that it needs
  std::vector<Duration> between(n *
                                n);  // per gradient and pull: work of the ops that need the one and lead to the other
  for (std::size_t o = 0; o < graph_.ops.size(); ++o) {
    const Duration time = graph_.ops[o].time.scaled(1.0 / self.device.speed);
    graph::for_each_bit(feeds_.row(o), [&](std::size_t g) {
      graph::for_each_bit(needs_.row(o), [&](std::size_t p) {
        between[g * n + p] += time;
        needed.set(g, p);
      });
    });
  }
  for (std::size_t g = 0; g < n; ++g) {
    std::vector<Job> pulls;
    graph::for_each_bit(needed.row(g), [&](std::size_t p) {
      for (std::size_t t = layout_.first[p]; t < layout_.first[p + 1]; ++t) {
        const Stages lags = pull_lags(worker, t);
        pulls.push_back({pull_start(lags), least_duration(layout_.transfers[t].bytes, nic),
                         lags.receive + divided(between[g * n + p], self.device.cores)});
      }
    });
    ends[g] = std::max(ends[g], one_machine_bound(std::move(pulls)));
  }
  return ends;
}

Stages Stage::pull_lags(std::size_t worker, std::size_t t) const {
  const auto server = layout_.transfers[t].server;
  const cluster::ServiceCost& send = cluster_.servers[server].send;
  const cluster::ServiceCost& receive = cluster_.workers[worker].receive;
  if (sliced_) return {send.per_message, {}, receive.per_message};
  const Bytes bytes = layout_.transfers[t].bytes;
  return {send.of(bytes), least_duration(bytes, cluster::pull_rate(cluster_, worker, server)), receive.of(bytes)};
}

Stages Stage::push_lags(std::size_t worker, std::size_t t) const {
  const auto server = layout_.transfers[t].server;
  const cluster::ServiceCost& send = cluster_.workers[worker].send;
  const cluster::ServiceCost& receive = cluster_.servers[server].receive;
  if (sliced_) return {send.per_message, {}, receive.per_message};
  const Bytes bytes = layout_.transfers[t].bytes;
  return {send.of(bytes), least_duration(bytes, cluster::push_rate(cluster_, worker, server)), receive.of(bytes)};
}

bool Stage::updates() const {
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t)
    if (pushed(t)) return true;
  return false;
}

Duration Stage::update_time(std::size_t t) const {
  return least_duration(layout_.transfers[t].bytes, cluster_.servers[layout_.transfers[t].server].update_rate);
}

Duration Stage::update_lag(std::size_t t) const { return sliced_ ? Duration() : update_time(t); }

Duration Stage::pull_start(const Stages& lags) const {
  return cluster_.step_overhead + cluster_.network.latency * 2 + lags.send;
}

std::string Stage::worker_name(std::size_t kind) const {
  const auto worker = kinds_[kind];
  const std::string& name = cluster_.workers[worker].name;
  return name.empty() ? fmt::format("worker {}", worker) : name;
}

std::string Stage::server_name(std::size_t server) const {
  if (sliced_) return "all servers";
  const std::string& name = cluster_.servers[server].name;
  return name.empty() ? fmt::format("server {}", server) : name;
}

Part Stage::pulls_of_worker(std::size_t kind, bool to_loss) const {
  const auto w = kinds_[kind];
  const cluster::Worker& worker = cluster_.workers[w];
  const Bandwidth nic = down_rate(w);
  const Work& work = work_[kind];
  std::vector<Job> wire;
  std::vector<Job> threads;
  std::vector<std::vector<Job>> connection(layout_.servers);
  Duration longest;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    if (to_loss && not_before_loss(t)) continue;
    const auto& transfer = layout_.transfers[t];
    const Stages lags = pull_lags(w, t);
    const Duration start = pull_start(lags);
    const Duration tail = (to_loss ? work.tail_to_loss : work.tail)[parameter(t)];
    wire.push_back({start, least_duration(transfer.bytes, nic), lags.receive + tail});
    connection[transfer.server].push_back(
        {start, least_duration(transfer.bytes, cluster::pull_rate(cluster_, w, transfer.server)), lags.receive + tail});
    if (worker.threads > 0)
      threads.push_back({start + lags.wire, divided(worker.receive.of(transfer.bytes), worker.threads), tail});
    longest = std::max(longest, start + lags.wire + lags.receive + tail);
  }

  std::vector<Job> ops;
  for (std::size_t o = 0; o < graph_.ops.size(); ++o) {
    if (to_loss && !done_at_loss(o)) continue;
    Bytes bytes;
    graph::for_each_bit(needs_.row(o), [&](std::size_t p) { bytes += graph_.parameters[p].bytes; });
    Duration head = cluster_.step_overhead;
    if (bytes > Bytes(0)) head += cluster_.network.latency * 2 + least_duration(bytes, nic);
    ops.push_back({head, divided(graph_.ops[o].time.scaled(1.0 / worker.device.speed), worker.device.cores), {}});
  }

  Part part;
  const auto name = worker_name(kind);
  part.offer(one_machine_bound(std::move(wire)), down_name(kind));
  part.offer(one_machine_bound(std::move(ops)), name + " device");
  if (!to_loss) part.offer(cluster_.step_overhead + work.all, name + " device");
  if (cluster_.network.streams == 1)
    for (std::size_t s = 0; s < connection.size(); ++s)
      part.offer(one_machine_bound(std::move(connection[s])), fmt::format("connection {} to {}", server_name(s), name));
  part.offer(one_machine_bound(std::move(threads)), name + " threads");
  part.offer(longest, "longest path of " + name);
  return part;
}

Part Stage::pulls_of_server(std::size_t server, bool to_loss) const {
  const cluster::Server& self = cluster_.servers[server];
  const auto count = static_cast<std::int64_t>(workers());
  const Bandwidth nic = self.nic.up.scaled(cluster_.network.efficiency);
  std::vector<Job> wire;
  std::vector<Job> threads;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    if (transfer.server != server || (to_loss && not_before_loss(t))) continue;
    Duration after_wire = Duration::ps(std::numeric_limits<std::int64_t>::max());
    Duration after_send = after_wire;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const Stages lags = pull_lags(kinds_[kind], t);
      const Duration tail = (to_loss ? work_[kind].tail_to_loss : work_[kind].tail)[parameter(t)];
      after_wire = std::min(after_wire, lags.receive + tail);
      after_send = std::min(after_send, cluster_.network.latency + lags.wire + lags.receive + tail);
    }
    const Stages lags = pull_lags(kinds_.front(), t);
    wire.push_back({pull_start(lags), least_duration(transfer.bytes * count, nic), after_wire});
    if (self.threads > 0)
      threads.push_back({cluster_.step_overhead + cluster_.network.latency,
                         divided(self.send.of(transfer.bytes) * count, self.threads), after_send});
  }
  Part part;
  part.offer(one_machine_bound(std::move(wire)), server_name(server) + " NIC up");
  part.offer(one_machine_bound(std::move(threads)), server_name(server) + " threads");
  return part;
}

Part Stage::pushes_of_worker(std::size_t kind, bool from_loss) const {
  const auto w = kinds_[kind];
  const cluster::Worker& worker = cluster_.workers[w];
  const Bandwidth nic = up_rate(w);
  const Duration latency = cluster_.network.latency;
  const Work& work = work_[kind];
  std::vector<Job> wire;
  std::vector<Job> threads;
  std::vector<std::vector<Job>> connection(layout_.servers);
  Duration longest;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    if (!pushed(t) || (from_loss && not_after_loss(t))) continue;
    const auto& transfer = layout_.transfers[t];
    const Stages lags = push_lags(w, t);
    const Duration ready = from_loss ? work.head_from_loss[parameter(t)] : work.gradient[parameter(t)];
    const Duration start = ready + lags.send + latency;
    const Duration tail = lags.receive + update_lag(t);
    wire.push_back({start, least_duration(transfer.bytes, nic), tail});
    connection[transfer.server].push_back(
        {start, least_duration(transfer.bytes, cluster::push_rate(cluster_, w, transfer.server)), tail});
    if (worker.threads > 0)
      threads.push_back({ready, divided(worker.send.of(transfer.bytes), worker.threads), latency + lags.wire + tail});
    longest = std::max(longest, start + lags.wire + tail);
  }
  Part part;
  const auto name = worker_name(kind);
  part.offer(one_machine_bound(std::move(wire)), up_name(kind));
  if (from_loss) part.offer(work.after, name + " device");
  if (cluster_.network.streams == 1)
    for (std::size_t s = 0; s < connection.size(); ++s)
      part.offer(one_machine_bound(std::move(connection[s])), fmt::format("connection {} to {}", name, server_name(s)));
  part.offer(one_machine_bound(std::move(threads)), name + " threads");
  part.offer(longest, "longest path of " + name);
  return part;
}

Part Stage::pushes_of_server(std::size_t server, bool from_loss) const {
  const cluster::Server& self = cluster_.servers[server];
  const auto count = static_cast<std::int64_t>(workers());
  const Bandwidth nic = self.nic.down.scaled(cluster_.network.efficiency);
  std::vector<Job> wire;
  std::vector<Job> threads;
  for (std::size_t t = 0; t < layout_.transfers.size(); ++t) {
    const auto& transfer = layout_.transfers[t];
    if (transfer.server != server || !pushed(t) || (from_loss && not_after_loss(t))) continue;
    Duration start = Duration::ps(std::numeric_limits<std::int64_t>::max());
    Duration arrived = start;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const Stages lags = push_lags(kinds_[kind], t);
      const Duration head = (from_loss ? work_[kind].head_from_loss : work_[kind].gradient)[parameter(t)];
      start = std::min(start, head + lags.send + cluster_.network.latency);
      arrived = std::min(arrived, head + lags.send + cluster_.network.latency + lags.wire);
    }
    const Duration receive = push_lags(kinds_.front(), t).receive;
    wire.push_back({start, least_duration(transfer.bytes * count, nic), receive + update_lag(t)});
    if (self.threads > 0)
      threads.push_back({arrived, divided(self.receive.of(transfer.bytes) * count + update_time(t), self.threads), {}});
  }
  Part part;
  part.offer(one_machine_bound(std::move(wire)), server_name(server) + " NIC down");
  part.offer(one_machine_bound(std::move(threads)), server_name(server) + " threads");
  return part;
}

}  // namespace stretto::bounds
