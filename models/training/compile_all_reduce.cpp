// SPDX-License-Identifier: Apache-2.0
// Collectives in the step program. See all_reduce.hpp.
#include <algorithm>

#include "models/cluster/topology.hpp"
#include "models/training/compiler.hpp"
#include "sim/base/assert.hpp"

namespace stretto::training {

namespace {

channel::Service service(const cluster::ServiceCost& cost, program::PoolId pool) {
  if (cost.is_zero()) return {};
  return {pool.index(), cost.per_message, cost.per_byte_ps};
}

}  // namespace

// Devices, threads and NICs; one rank's threads and its host's NIC stand for all where only it is simulated.
void Compiler::add_ranks() {
  const AllReduce& o = options_.all_reduce;
  STRETTO_ASSERT(training_ && (options_.synchronization == Synchronization::Sync ||
                               options_.synchronization == Synchronization::Local),
                 "all-reduce in mode {}", static_cast<int>(options_.synchronization));
  STRETTO_ASSERT(layout_.bucket.size() == out_.transfers && o.streams >= 1, "{} buckets, {} streams",
                 layout_.bucket.size(), o.streams);
  STRETTO_ASSERT(o.algorithm != Algorithm::Hierarchical || cluster::workers_per_host(cluster_) > 0,
                 "{} workers on unequal hosts", out_.workers);
  STRETTO_ASSERT(!o.aggregate || why_no_aggregate(cluster_, o).empty(), "aggregate: {}", why_no_aggregate(cluster_, o));
  auto& wires = builder_.wires();
  out_.ranks_simulated = o.aggregate ? 1 : out_.workers;
  const network::RouteId nowhere = wires.add_route({});
  channel::Channel span;
  span.route = nowhere;
  span.spans = true;
  span.streams = 0;
  span.open_at_a_time = o.streams;
  turns_ = builder_.add_channel(span);
  if (layout_.split) gather_turns_ = builder_.add_channel(span);
  span.open_at_a_time = 0;
  span.streams = o.streams;
  for (std::uint32_t w = 0; w < out_.workers; ++w) {
    const cluster::Worker& worker = cluster_.workers[w];
    out_.device.push_back(builder_.add_pool({worker.name + " device", worker.device.cores, program::PoolRule::Fifo}));
    if (w >= out_.ranks_simulated) {
      out_.worker_threads.push_back(out_.worker_threads[0]);
      out_.worker_links.push_back(out_.worker_links[0]);
      continue;
    }
    const std::string name = one_for_all() ? "each worker" : worker.name;
    out_.worker_threads.push_back(builder_.add_pool({name + " threads", worker.threads, program::PoolRule::Fifo}));
    const std::uint32_t host = worker.with_worker.value_or(w);
    out_.worker_links.push_back(
        {link({cluster::LinkKind::WorkerNicUp, host}), link({cluster::LinkKind::WorkerNicDown, host})});
    rank_streams_.push_back(builder_.add_channel(span));
  }
}

program::ChannelId Compiler::receiving_channel(const channel::Channel& channel, std::uint32_t to) {
  const program::ChannelId id = builder_.add_channel(channel);
  out_.receiver.resize(id.index() + 1, 0);
  out_.receiver[id.index()] = to;
  return id;
}

bool Compiler::inside(std::uint32_t from, std::uint32_t to) const {
  return cluster::host_of(cluster_, {false, from}) == cluster::host_of(cluster_, {false, to});
}

program::ChannelId Compiler::rank_channel(std::uint32_t from, std::uint32_t to) {
  program::ChannelId& id = rank_channels_[{from, to}];
  if (id.valid()) return id;
  channel::Channel c;
  set_route(c, {false, from}, {false, to}, inside(from, to) ? Bandwidth::unlimited() : cluster_.network.rate_cap);
  c.streams = 0;
  c.latency += options_.all_reduce.per_round;
  c.send = service(cluster_.workers[from].send, out_.worker_threads[from]);
  c.receive = service(cluster_.workers[to].receive, out_.worker_threads[to]);
  return id = receiving_channel(c, to);
}

// Whose messages such links carry where one rank stands for all: those of all ranks of its host on links that belong to
// the host, or to all of its ranks together.
std::uint32_t Compiler::stands_for(cluster::LinkKind kind) const {
  const bool own = kind == cluster::LinkKind::NvlinkUp || kind == cluster::LinkKind::NvlinkDown;
  return own ? 1 : std::max(1U, cluster::workers_per_host(cluster_));
}

// From the rank that stands for all to itself: the route to a neighbour on its host, or to the next host.
Compiler::OfAll& Compiler::channel_of_all(bool inside) {
  OfAll& all = of_all_[inside ? 1 : 0];
  if (all.channel.valid()) return all;
  RankRoutes routes(cluster_);
  const RankRoutes::Route& route = routes.of_all(inside);
  std::vector<network::LinkId> links;
  if (!route.links.empty()) all.ranks = stands_for(routes.ref(route.links.front()).kind);
  for (const std::uint32_t l : route.links) links.push_back(link({routes.ref(l).kind, 0}));
  channel::Channel c;
  c.streams = 0;
  c.latency = options_.all_reduce.per_round + route.latency;
  c.send = service(cluster_.workers[0].send, out_.worker_threads[0]);
  c.receive = service(cluster_.workers[0].receive, out_.worker_threads[0]);
  c.route =
      builder_.wires().add_route(links, inside ? Bandwidth::unlimited() : cluster_.network.rate_cap.scaled(all.ranks));
  all.channel = receiving_channel(c, 0);
  return all;
}

void Compiler::add_collectives() {
  for (std::uint32_t t = 0; t < out_.transfers; ++t) {
    const std::uint32_t b = layout_.bucket[t];
    STRETTO_ASSERT((b != plan::kUnranked) == pushed(t), "bucket {} of transfer {}", b, t);
    if (b == plan::kUnranked) continue;
    if (buckets_.size() <= b) buckets_.resize(b + 1);
    if (buckets_[b].bytes == Bytes()) buckets_[b].leader = t;
    buckets_[b].bytes += layout_.transfers[t].bytes;
  }
  out_.push.resize(static_cast<std::size_t>(out_.workers) * out_.transfers);
  out_.pull.resize(out_.push.size());
  ActivityId reduced;
  if (layout_.split) reduced = add(Role::Reduced, 0, 0, builder_.add_join());
  for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    STRETTO_ASSERT(bucket.bytes > Bytes(), "bucket {} of {} is empty", b, buckets_.size());
    bucket.ready = add(Role::Negotiation, 0, bucket.leader, builder_.add_join());
    bucket.done = add_collective(b, layout_.split ? Part::Reduce : Part::Whole, bucket.ready);
    if (layout_.split) builder_.add_edge(bucket.finished, reduced);
  }
  for (std::uint32_t b = 0; b < buckets_.size() && layout_.split; ++b)
    buckets_[b].done = add_collective(b, Part::Gather, reduced);
}

std::vector<program::ActivityId> Compiler::add_collective(std::uint32_t b, Part part, ActivityId begins) {
  Bucket& bucket = buckets_[b];
  const bool gather = part == Part::Gather;
  const ActivityId turn = add(Role::Collective, 0, bucket.leader,
                              builder_.add_message(gather ? gather_turns_ : turns_, bucket.bytes), 0, part);
  builder_.add_edge(begins, turn);
  (gather ? out_.pull : out_.push)[bucket.leader] = turn;
  std::vector<ActivityId> enter;
  std::vector<std::vector<ActivityId>> last(out_.ranks_simulated);
  for (std::uint32_t r = 0; r < out_.ranks_simulated; ++r) {
    enter.push_back(add(Role::Enter, r, bucket.leader, builder_.add_message(rank_streams_[r], bucket.bytes), 0, part));
    builder_.add_edge(turn, enter[r]);
    last[r] = {enter[r]};
  }
  add_messages(b, part, last);
  bucket.finished = add(Role::CollectiveDone, 0, bucket.leader, builder_.add_span_end(turn), 0, part);
  std::vector<ActivityId> exits;
  for (std::uint32_t r = 0; r < out_.ranks_simulated; ++r) {
    exits.push_back(add(Role::Exit, r, bucket.leader, builder_.add_span_end(enter[r]), 0, part));
    for (const ActivityId a : last[r]) builder_.add_edge(a, exits[r]);
    builder_.add_edge(exits[r], bucket.finished);
  }
  return exits;
}

// `last`: what each rank has done last, which its next message waits for.
void Compiler::add_messages(std::uint32_t b, Part part, std::vector<std::vector<ActivityId>>& last) {
  const Bucket& bucket = buckets_[b];
  const Collective c = collective(cluster_, options_.all_reduce, part);
  std::uint32_t number = 0;
  if (options_.all_reduce.aggregate) {
    for (const EqualRound& round : equal_rounds(c, bucket.bytes)) {
      const OfAll& all = channel_of_all(round.inside);
      const ActivityId message = add(Role::Message, 0, bucket.leader,
                                     builder_.add_message(all.channel, round.bytes * all.ranks), number++, part);
      builder_.add_edge(last[0].front(), message);
      last[0] = {message};
    }
    return;
  }
  std::vector<std::vector<ActivityId>> now(c.ranks);
  for (const Round& round : rounds(c, bucket.bytes)) {
    for (const Send& s : round) {
      const ActivityId message = add(Role::Message, s.from, bucket.leader,
                                     builder_.add_message(rank_channel(s.from, s.to), s.bytes), number, part);
      for (const ActivityId a : last[s.from]) builder_.add_edge(a, message);
      for (const ActivityId a : last[s.to])
        if (std::find(last[s.from].begin(), last[s.from].end(), a) == last[s.from].end()) builder_.add_edge(a, message);
      now[s.from].push_back(message);
      now[s.to].push_back(message);
    }
    for (std::uint32_t r = 0; r < c.ranks; ++r)
      if (!now[r].empty()) {
        last[r].swap(now[r]);
        now[r].clear();
      }
    ++number;
  }
}

void Compiler::add_reads(std::uint32_t w, graph::ParameterId p, ActivityId op) {
  if (out_.barrier) return;
  std::uint32_t before = plan::kUnranked;
  for (std::uint32_t t = layout_.first[p.index()]; t < layout_.first[p.index() + 1]; ++t) {
    const std::uint32_t b = layout_.bucket[t];
    if (b == plan::kUnranked || b == before) continue;
    builder_.add_edge(buckets_[b].done[std::min(w, out_.ranks_simulated - 1)], op, 1);
    before = b;
  }
}

void Compiler::add_gradients(const Step& step) {
  const std::uint32_t rank = std::min(step.worker, out_.ranks_simulated - 1);
  for (std::uint32_t t = 0; t < out_.transfers; ++t) {
    if (!pushed(t)) continue;
    const graph::OpId gradient = graph_.parameters[layout_.transfers[t].parameter.index()].gradient;
    builder_.add_edge(step.gradients[gradient.index()], buckets_[layout_.bucket[t]].ready);
  }
  if (!out_.barrier) return;
  for (const Bucket& bucket : buckets_) builder_.add_edge(bucket.done[rank], step.done);
}

}  // namespace stretto::training
