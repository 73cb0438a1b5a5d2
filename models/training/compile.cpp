// SPDX-License-Identifier: Apache-2.0
#include "models/training/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/assert.hpp"

namespace stretto::training {

using program::ActivityId;
using program::ChannelId;
using program::PoolId;

namespace {

class Compiler {
 public:
  Compiler(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
           const Options& options)
      : graph_(graph), cluster_(cluster), layout_(layout), options_(options) {}

  Compiled run() {
    STRETTO_ASSERT(layout_.first.size() == graph_.parameters.size() + 1 && layout_.servers == cluster_.servers.size(),
                   "layout of {} parameters on {} servers for {} on {}", layout_.first.size(), layout_.servers,
                   graph_.parameters.size(), cluster_.servers.size());
    out_.workers = static_cast<std::uint32_t>(cluster_.workers.size());
    out_.servers = static_cast<std::uint32_t>(cluster_.servers.size());
    out_.transfers = static_cast<std::uint32_t>(layout_.transfers.size());
    out_.barrier = options_.barrier;
    training_ = options_.mode == Mode::Training;
    const std::size_t per_worker = graph_.ops.size() + 2 * layout_.transfers.size() + out_.servers + 5;
    builder_.reserve(out_.workers * per_worker + 2 * layout_.transfers.size() + 1,
                     out_.workers * (3 * per_worker) + 4 * layout_.transfers.size());
    out_.labels.reserve(out_.workers * per_worker);
    if (cluster_.network.model == cluster::LinkModel::Fifo)
      builder_.set_network_model(program::NetworkModel::Fifo, cluster_.network.chunk);
    add_resources();
    add_channels();
    if (training_) add_updates();
    if (options_.barrier) step_end_ = add(Role::StepEnd, 0, 0, builder_.add_join());
    for (std::uint32_t w = 0; w < out_.workers; ++w) add_worker(w);
    add_markers();
    out_.program = builder_.finish();
    return std::move(out_);
  }

 private:
  ActivityId add(Role role, std::uint32_t worker, std::uint32_t item, ActivityId activity) {
    out_.labels.push_back({role, worker, item});
    return activity;
  }

  void add_resources() {
    auto& wires = builder_.wires();
    const double efficiency = cluster_.network.efficiency;
    for (const auto& worker : cluster_.workers) {
      out_.device.push_back(builder_.add_pool({worker.name + " device", worker.device.cores, program::PoolRule::Fifo}));
      out_.worker_threads.push_back(
          builder_.add_pool({worker.name + " threads", worker.threads, program::PoolRule::Fifo}));
      HostLinks links;
      links.up = wires.add_link(worker.name + " NIC up", worker.nic.up.scaled(efficiency));
      links.down = wires.add_link(worker.name + " NIC down", worker.nic.down.scaled(efficiency));
      out_.worker_links.push_back(links);
    }
    for (const auto& server : cluster_.servers) {
      out_.server_threads.push_back(
          builder_.add_pool({server.name + " threads", server.threads, program::PoolRule::Fifo}));
      HostLinks links;
      links.up = wires.add_link(server.name + " NIC up", server.nic.up.scaled(efficiency));
      links.down = wires.add_link(server.name + " NIC down", server.nic.down.scaled(efficiency));
      out_.server_links.push_back(links);
    }
  }

  static channel::Service service(const cluster::ServiceCost& cost, PoolId pool) {
    if (cost.is_zero()) return {};
    return {pool.index(), cost.per_message, cost.per_byte_ps};
  }

  void add_channels() {
    channel::Channel c;
    c.latency = cluster_.network.latency;
    c.streams = cluster_.network.streams;
    for (std::uint32_t w = 0; w < out_.workers; ++w)
      for (std::uint32_t s = 0; s < out_.servers; ++s) {
        const auto& worker = cluster_.workers[w];
        const auto& server = cluster_.servers[s];
        c.route = builder_.wires().add_route(std::array{out_.server_links[s].up, out_.worker_links[w].down},
                                             cluster_.network.rate_cap);
        c.send = service(server.send, out_.server_threads[s]);
        c.receive = service(worker.receive, out_.worker_threads[w]);
        pull_channel_.push_back(builder_.add_channel(c));
        if (!training_) continue;
        c.route = builder_.wires().add_route(std::array{out_.worker_links[w].up, out_.server_links[s].down},
                                             cluster_.network.rate_cap);
        c.send = service(worker.send, out_.worker_threads[w]);
        c.receive = service(server.receive, out_.server_threads[s]);
        push_channel_.push_back(builder_.add_channel(c));
      }
  }

  bool pushed(std::uint32_t t) const {
    return training_ && graph_.parameters[layout_.transfers[t].parameter.index()].gradient.valid();
  }

  // Aggregation of the W gradients of each transfer and its update.
  void add_updates() {
    aggregate_.resize(out_.transfers);
    update_.resize(out_.transfers);
    for (std::uint32_t t = 0; t < out_.transfers; ++t) {
      if (!pushed(t)) continue;
      const plan::Transfer& transfer = layout_.transfers[t];
      aggregate_[t] = update_[t] = add(Role::Aggregate, 0, t, builder_.add_join());
      const Duration time = transfer_duration(transfer.bytes, cluster_.servers[transfer.server].update_rate);
      if (time == Duration()) continue;
      update_[t] = add(Role::Update, 0, t, builder_.add_compute(out_.server_threads[transfer.server], time));
      builder_.add_edge(aggregate_[t], update_[t]);
    }
  }

  void add_worker(std::uint32_t w) {
    const ActivityId start = add(Role::Start, w, 0, builder_.add_join());
    ActivityId begun = start;
    if (cluster_.step_overhead > Duration()) {
      begun = add(Role::Overhead, w, 0, builder_.add_delay(cluster_.step_overhead));
      builder_.add_edge(start, begun);
    }
    ActivityId input;
    if (options_.input_time > Duration()) {
      input = add(Role::Input, w, 0, builder_.add_delay(options_.input_time));
      builder_.add_edge(start, input, 1);
    }
    const std::size_t first_pull = out_.pull.size();
    add_pulls(w, begun);
    std::vector<bool> unread(out_.transfers, true);
    const double speed = cluster_.workers[w].device.speed;
    std::vector<ActivityId> op(graph_.ops.size());
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o)
      op[o] = add(Role::Op, w, o, builder_.add_compute(out_.device[w], graph_.ops[o].time.scaled(1.0 / speed)));
    std::vector<bool> is_sink(graph_.ops.size(), true);
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const graph::Op& source = graph_.ops[o];
      for (const graph::OpId input : source.inputs) {
        builder_.add_edge(op[input.index()], op[o]);
        is_sink[input.index()] = false;
      }
      for (const graph::ParameterId p : source.reads)
        for (std::uint32_t t = layout_.first[p.index()]; t < layout_.first[p.index() + 1]; ++t) {
          builder_.add_edge(out_.pull[first_pull + t], op[o]);
          unread[t] = false;
        }
      if (!source.inputs.empty()) continue;
      builder_.add_edge(begun, op[o]);
      if (input.valid()) builder_.add_edge(input, op[o]);
    }
    const ActivityId ops_done = add(Role::OpsDone, w, 0, builder_.add_join());
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o)
      if (is_sink[o]) builder_.add_edge(op[o], ops_done);
    builder_.add_edge(begun, ops_done);
    for (std::uint32_t t = 0; t < out_.transfers; ++t)
      if (unread[t]) builder_.add_edge(out_.pull[first_pull + t], ops_done);
    ActivityId done = ops_done;
    if (options_.barrier) {
      done = add(Role::Arrived, w, 0, builder_.add_join());
      builder_.add_edge(ops_done, done);
      builder_.add_edge(done, step_end_);
      builder_.add_edge(step_end_, start, 1);
    } else {
      builder_.add_edge(ops_done, start, 1);
    }
    worker_done_.push_back(done);
    out_.push.resize(out_.pull.size());
    for (std::uint32_t t = 0; t < out_.transfers; ++t) {
      if (!pushed(t)) continue;
      const plan::Transfer& transfer = layout_.transfers[t];
      const ActivityId send = add(
          Role::Push, w, t, builder_.add_message(push_channel_[w * out_.servers + transfer.server], transfer.bytes));
      out_.push[first_pull + t] = send;
      builder_.add_edge(op[graph_.parameters[transfer.parameter.index()].gradient.index()], send);
      builder_.add_edge(send, aggregate_[t]);
      if (options_.barrier) {
        builder_.add_edge(send, done);
        if (w == 0) builder_.add_edge(update_[t], step_end_);
      }
    }
  }

  void add_pulls(std::uint32_t w, ActivityId begun) {
    std::vector<ActivityId> request(out_.servers);
    const auto requested = [&](std::uint32_t server) {
      if (cluster_.network.latency == Duration()) return begun;
      if (!request[server].valid()) {
        request[server] = add(Role::Request, w, server, builder_.add_delay(cluster_.network.latency));
        builder_.add_edge(begun, request[server]);
      }
      return request[server];
    };
    for (std::uint32_t t = 0; t < out_.transfers; ++t) {
      const plan::Transfer& transfer = layout_.transfers[t];
      const bool own_update = pushed(t) && !options_.barrier;
      const ActivityId asked = own_update ? ActivityId() : requested(transfer.server);
      const ActivityId pull = add(
          Role::Pull, w, t, builder_.add_message(pull_channel_[w * out_.servers + transfer.server], transfer.bytes));
      if (own_update)
        builder_.add_edge(update_[t], pull, 1);
      else
        builder_.add_edge(asked, pull);
      out_.pull.push_back(pull);
    }
  }

  void add_markers() {
    if (options_.barrier) builder_.add_marker(step_end_);
    for (const ActivityId done : worker_done_) builder_.add_marker(done);
  }

  const graph::Graph& graph_;
  const cluster::Cluster& cluster_;
  const plan::Layout& layout_;
  const Options options_;
  bool training_ = true;
  program::ProgramBuilder builder_;
  Compiled out_;
  std::vector<ChannelId> pull_channel_;
  std::vector<ChannelId> push_channel_;
  std::vector<ActivityId> aggregate_;
  std::vector<ActivityId> update_;
  std::vector<ActivityId> worker_done_;
  ActivityId step_end_;
};

channel::HandOver hand_over(plan::Discipline discipline) {
  switch (discipline) {
    case plan::Discipline::Free:
      return channel::HandOver::Free;
    case plan::Discipline::Unordered:
      return channel::HandOver::Unordered;
    case plan::Discipline::Strict:
      return channel::HandOver::Strict;
    case plan::Discipline::Priority:
      return channel::HandOver::Priority;
    case plan::Discipline::Credit:
      return channel::HandOver::Credit;
    case plan::Discipline::Window:
      return channel::HandOver::Window;
    case plan::Discipline::ChainWindow:
      return channel::HandOver::ChainWindow;
  }
  STRETTO_ASSERT(false, "discipline {}", static_cast<int>(discipline));
  return channel::HandOver::Free;
}

// Places of an alternative, spread evenly over 32 bits; equal ranks go by transfer.
std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& rank) {
  std::vector<std::uint32_t> named;
  for (std::uint32_t t = 0; t < rank.size(); ++t)
    if (rank[t] != plan::kUnranked) named.push_back(t);
  std::stable_sort(named.begin(), named.end(), [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  std::vector<std::uint32_t> place(rank.size(), program::kPassFreely);
  for (std::uint64_t i = 0; i < named.size(); ++i)
    place[named[i]] = static_cast<std::uint32_t>((2 * i + 1) * (std::uint64_t{1} << 31) / named.size());
  return place;
}

// Orders that are drawn whole from given ones, one per worker and iteration.
void compile_alternatives(const Compiled& compiled, const std::vector<ActivityId>& messages,
                          const plan::DirectionOrder& order, program::OrderTable& table) {
  STRETTO_ASSERT(table.alternatives.empty(), "{} alternatives of the other direction", table.alternatives.size());
  table.item.assign(compiled.program.size(), program::kPassFreely);
  table.draw.assign(compiled.program.channels.size(), 0);
  for (const auto& rank : order.alternatives) {
    STRETTO_ASSERT(rank.size() == compiled.transfers, "{} ranks for {} transfers", rank.size(), compiled.transfers);
    table.alternatives.push_back(spread(rank));
  }
  for (std::uint32_t w = 0; w < compiled.workers; ++w)
    for (std::uint32_t t = 0; t < compiled.transfers; ++t)
      if (const ActivityId m = messages[w * compiled.transfers + t]; m.valid()) {
        table.item[m.index()] = t;
        table.draw[compiled.program.activities[m.index()].where] = w;
      }
}

void compile_direction(const Compiled& compiled, const std::vector<ActivityId>& messages,
                       const plan::DirectionOrder& order, program::OrderTable& table) {
  const auto& activities = compiled.program.activities;
  const channel::HandOver rule = hand_over(order.discipline);
  if (rule == channel::HandOver::Free) return;
  const bool windowed = rule == channel::HandOver::Window || rule == channel::HandOver::ChainWindow;
  STRETTO_ASSERT(!windowed || order.window > 0, "window {}", order.window);
  STRETTO_ASSERT(rule != channel::HandOver::Credit || order.credit > Bytes(), "credit {}", order.credit.count());
  for (std::uint32_t w = 0; w < compiled.workers; ++w) {
    std::uint32_t leader = program::kPassFreely;
    for (std::uint32_t t = 0; t < compiled.transfers; ++t) {
      const ActivityId m = messages[w * compiled.transfers + t];
      if (!m.valid()) continue;
      const std::uint32_t c = activities[m.index()].where;
      leader = std::min(leader, c);
      table.discipline[c] = rule;
      table.window[c] = order.window;
      table.leader[c] = leader;
      table.credit[c] = order.credit.count();
    }
    for (std::uint32_t t = 0; t < compiled.transfers; ++t)
      if (const ActivityId m = messages[w * compiled.transfers + t]; m.valid())
        table.leader[activities[m.index()].where] = leader;
  }
  if (!order.alternatives.empty()) compile_alternatives(compiled, messages, order, table);
  if (rule == channel::HandOver::Unordered) return;
  STRETTO_ASSERT(order.rank.size() == compiled.transfers, "{} ranks for {} transfers", order.rank.size(),
                 compiled.transfers);
  std::vector<std::uint32_t> by_rank;
  for (std::uint32_t t = 0; t < compiled.transfers; ++t)
    if (order.rank[t] != plan::kUnranked) by_rank.push_back(t);
  std::sort(by_rank.begin(), by_rank.end(), [&](std::uint32_t a, std::uint32_t b) {
    return order.rank[a] != order.rank[b] ? order.rank[a] < order.rank[b] : a < b;
  });
  // Priority and Credit compare ranks over channels (Credit) and need no dense places.
  const bool dense = rule != channel::HandOver::Priority && rule != channel::HandOver::Credit;
  for (std::uint32_t w = 0; w < compiled.workers; ++w)
    for (const std::uint32_t t : by_rank) {
      const ActivityId m = messages[w * compiled.transfers + t];
      if (!m.valid()) continue;
      const std::uint32_t place = table.ranked[activities[m.index()].where]++;
      table.rank[m.index()] = dense ? place : order.rank[t];
    }
}

}  // namespace

Compiled compile(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                 const Options& options) {
  return Compiler(graph, cluster, layout, options).run();
}

program::OrderTable compile_order(const Compiled& compiled, const plan::Layout& layout, const plan::Order& order,
                                  std::uint64_t stream) {
  STRETTO_ASSERT(layout.transfers.size() == compiled.transfers, "layout of {} transfers for {}",
                 layout.transfers.size(), compiled.transfers);
  program::OrderTable table;
  table.stream = stream;
  table.discipline.assign(compiled.program.channels.size(), channel::HandOver::Free);
  table.ranked.assign(compiled.program.channels.size(), 0);
  table.window.assign(compiled.program.channels.size(), 0);
  table.leader.assign(compiled.program.channels.size(), 0);
  table.credit.assign(compiled.program.channels.size(), 0);
  table.rank.assign(compiled.program.size(), program::kPassFreely);
  compile_direction(compiled, compiled.pull, order.pull, table);
  compile_direction(compiled, compiled.push, order.push, table);
  return table;
}

std::string describe(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                     program::ActivityId activity) {
  const Label& label = compiled.labels.at(activity.index());
  const auto transfer = [&] {
    const plan::Transfer& t = layout.transfers[label.item];
    const std::uint32_t slices = layout.first[t.parameter.index() + 1] - layout.first[t.parameter.index()];
    const std::string& name = graph.parameters[t.parameter.index()].name;
    return slices == 1 ? name : fmt::format("{} slice {}", name, t.slice);
  };
  switch (label.role) {
    case Role::Start:
      return fmt::format("start of the step of worker {}", label.worker);
    case Role::Overhead:
      return fmt::format("step overhead of worker {}", label.worker);
    case Role::Request:
      return fmt::format("requests of worker {} to server {}", label.worker, label.item);
    case Role::Pull:
      return fmt::format("pull {} of worker {}", transfer(), label.worker);
    case Role::Op:
      return fmt::format("op {} of worker {}", graph.ops[label.item].name, label.worker);
    case Role::Push:
      return fmt::format("push {} of worker {}", transfer(), label.worker);
    case Role::Aggregate:
      return fmt::format("aggregation of {}", transfer());
    case Role::Update:
      return fmt::format("update of {}", transfer());
    case Role::OpsDone:
      return fmt::format("end of the ops of worker {}", label.worker);
    case Role::Arrived:
      return fmt::format("arrival of worker {} at the barrier", label.worker);
    case Role::StepEnd:
      return "barrier";
    case Role::Input:
      return fmt::format("input of worker {}", label.worker);
  }
  return "activity";
}

}  // namespace stretto::training
