// SPDX-License-Identifier: Apache-2.0
#include "models/training/compile.hpp"

#include <algorithm>

#include "models/plan/fusion.hpp"
#include "models/training/compiler.hpp"
#include "sim/base/assert.hpp"

namespace stretto::training {

Compiled Compiler::run() {
  STRETTO_ASSERT(layout_.first.size() == graph_.parameters.size() + 1 &&
                     (all_reduce() || layout_.servers == cluster_.servers.size()),
                 "layout of {} parameters on {} servers for {} on {}", layout_.first.size(), layout_.servers,
                 graph_.parameters.size(), cluster_.servers.size());
  STRETTO_ASSERT(training_ || options_.synchronization == Synchronization::Sync, "inference in mode {}",
                 static_cast<int>(options_.synchronization));
  STRETTO_ASSERT(options_.passes >= 1 && (training_ || options_.passes == 1), "{} passes", options_.passes);
  out_.workers = static_cast<std::uint32_t>(cluster_.workers.size());
  out_.servers = all_reduce() ? 0 : static_cast<std::uint32_t>(cluster_.servers.size());
  out_.transfers = static_cast<std::uint32_t>(layout_.transfers.size());
  out_.ops = static_cast<std::uint32_t>(graph_.ops.size());
  out_.synchronization = options_.synchronization;
  out_.exchange = options_.exchange;
  out_.barrier = options_.barrier && shared_updates();
  const std::size_t activities = most_activities(graph_, cluster_, layout_, options_);
  builder_.reserve(activities, 3 * activities);
  out_.labels.reserve(activities);
  if (cluster_.network.model == cluster::LinkModel::Fifo)
    builder_.set_network_model(program::NetworkModel::Fifo, cluster_.network.chunk);
  if (all_reduce()) {
    add_ranks();
    add_collectives();
  } else {
    add_resources();
    add_channels();
    if (training_ && shared_updates()) add_shared_updates();
  }
  add_step_end();
  for (std::uint32_t w = 0; w < out_.workers; ++w) add_worker(w);
  if (options_.synchronization == Synchronization::Ssp) add_gate();
  if (options_.synchronization == Synchronization::Backup) skip_late_steps();
  add_markers();
  add_background();
  std::sort(out_.inner_links.begin(), out_.inner_links.end(),
            [](const InnerLink& a, const InnerLink& b) { return a.ref < b.ref; });
  out_.program = builder_.finish();
  STRETTO_ASSERT(out_.program.size() <= activities, "{} activities, at most {} expected", out_.program.size(),
                 activities);
  return std::move(out_);
}

void Compiler::add_worker(std::uint32_t w) {
  Step step;
  step.worker = w;
  step.start = step.begun = add(Role::Start, w, 0, builder_.add_join());
  out_.start.push_back(step.start);
  if (w < options_.late.size() && options_.late[w] > Duration()) {
    const auto pool = builder_.add_pool({cluster_.workers[w].name + " late start", 0, program::PoolRule::Fifo});
    step.begun = add(Role::Late, w, 0, builder_.add_compute(pool, options_.late[w]));
    builder_.add_edge(step.start, step.begun);
  }
  if (cluster_.step_overhead > Duration()) {
    const ActivityId overhead = add(Role::Overhead, w, 0, builder_.add_delay(cluster_.step_overhead));
    builder_.add_edge(step.begun, overhead);
    step.begun = overhead;
  }
  add_passes(step);
  end_step(step);
  if (all_reduce())
    add_gradients(step);
  else
    add_pushes(step);
}

void Compiler::add_pulls(std::uint32_t w, ActivityId begun) {
  std::vector<ActivityId> request(out_.servers);
  const auto requested = [&](std::uint32_t server) {
    const Duration latency = cluster::push_latency(cluster_, w, server);
    if (latency == Duration()) return begun;
    if (!request[server].valid()) {
      request[server] = add(Role::Request, w, server, builder_.add_delay(latency));
      builder_.add_edge(begun, request[server]);
    }
    return request[server];
  };
  for (std::uint32_t t = 0; t < out_.transfers; ++t) {
    const plan::Transfer& transfer = layout_.transfers[t];
    const bool own_update = pushed(t) && shared_updates() && !options_.barrier;
    const ActivityId asked = own_update ? ActivityId() : requested(transfer.server);
    const ActivityId pull =
        add(Role::Pull, w, t, builder_.add_message(pull_channel_[w * out_.servers + transfer.server], transfer.bytes));
    if (own_update)
      builder_.add_edge(update_[t], pull, 1);
    else
      builder_.add_edge(asked, pull);
    out_.pull.push_back(pull);
  }
}

// `begins`: what each pass waits for, as far as known.
void Compiler::add_input(const Step& step, std::uint32_t pass, const std::vector<ActivityId>& begins,
                         std::vector<ActivityId>& inputs) {
  inputs.push_back(add(Role::Input, step.worker, 0, builder_.add_delay(options_.input_time), pass));
  if (pass == 0) return;
  builder_.add_edge(begins[pass - 1], inputs[pass]);
  builder_.add_edge(inputs[pass - 1], inputs[pass]);
}

// Pulls, then the passes one after the other.
void Compiler::add_passes(Step& step) {
  const std::uint32_t w = step.worker;
  const bool has_input = options_.input_time > Duration();
  std::vector<ActivityId> begins{step.start};
  std::vector<ActivityId> inputs;
  if (has_input) add_input(step, 0, begins, inputs);
  const std::size_t first_pull = out_.pull.size();
  if (!all_reduce()) add_pulls(w, step.begun);
  // What ops wait for: pulled slices, on the device.
  std::vector<ActivityId> arrived;
  const cluster::Device& device = cluster_.workers[w].device;
  if (!all_reduce()) arrived.assign(out_.pull.begin() + static_cast<std::ptrdiff_t>(first_pull), out_.pull.end());
  if (device.copies_in())
    for (std::uint32_t t = 0; t < arrived.size(); ++t) {
      const Duration time = device.copy_launch + transfer_duration(layout_.transfers[t].bytes, device.copy_in);
      const ActivityId copy = add(Role::CopyIn, w, t, builder_.add_compute(out_.copy_in[w], time));
      builder_.add_edge(arrived[t], copy);
      arrived[t] = copy;
    }
  std::vector<bool> unread(arrived.size(), true);
  std::vector<bool> is_sink(graph_.ops.size(), true);
  const double speed = device.speed;
  ActivityId begun = step.begun;
  std::vector<ActivityId>& op = step.gradients;
  op.resize(graph_.ops.size());
  for (std::uint32_t pass = 0; pass < options_.passes; ++pass) {
    if (pass > 0 && has_input) add_input(step, pass, begins, inputs);
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const Duration time = graph_.ops[o].time.scaled(1.0 / speed);
      op[o] = add(Role::Op, w, o, builder_.add_compute(out_.device[w], time), pass);
    }
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const graph::Op& source = graph_.ops[o];
      for (const graph::OpId input : source.inputs) {
        builder_.add_edge(op[input.index()], op[o]);
        is_sink[input.index()] = false;
      }
      for (const graph::ParameterId p : source.reads) {
        if (all_reduce()) {
          if (pass == 0) add_reads(w, p, op[o]);
          continue;
        }
        for (std::uint32_t t = layout_.first[p.index()]; t < layout_.first[p.index() + 1] && pass == 0; ++t) {
          builder_.add_edge(arrived[t], op[o]);
          unread[t] = false;
        }
      }
      if (!source.inputs.empty()) continue;
      builder_.add_edge(begun, op[o]);
      if (has_input) builder_.add_edge(inputs[pass], op[o]);
    }
    const bool last = pass + 1 == options_.passes;
    const ActivityId end = add(last ? Role::OpsDone : Role::PassDone, w, 0, builder_.add_join(), pass);
    for (std::uint32_t o = 0; o < graph_.ops.size(); ++o)
      if (is_sink[o]) builder_.add_edge(op[o], end);
    if (pass == 0) builder_.add_edge(begun, end);
    begun = end;
    begins.push_back(end);
  }
  step.ops_done = begun;
  if (has_input) {
    builder_.add_edge(begins[options_.passes - 1], inputs.front(), 1);
    if (options_.passes > 1) builder_.add_edge(inputs.back(), inputs.front(), 1);
  }
  for (std::uint32_t t = 0; t < unread.size(); ++t)
    if (unread[t]) builder_.add_edge(arrived[t], step.ops_done);
}

std::uint64_t most_activities(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                              const Options& options) {
  const std::uint64_t transfers = layout.transfers.size();
  if (options.exchange == Exchange::AllReduce) {
    const std::uint64_t ranks = options.all_reduce.aggregate ? 1 : cluster.workers.size();
    const double all = messages(collective(cluster, options.all_reduce, Part::Whole));
    const auto each = static_cast<std::uint64_t>(all / static_cast<double>(cluster.workers.size() / ranks));
    const std::uint64_t buckets = plan::bucket_bytes(layout).size();
    return cluster.workers.size() * (options.passes * (graph.ops.size() + 2) + 6) + 2 +
           buckets * (1 + each + (layout.split ? 2 : 1) * 2 * (ranks + 1)) + 2 * options.bursts.size();
  }
  const std::uint64_t per_worker = options.passes * (graph.ops.size() + 2) + 6 * transfers + cluster.servers.size() + 6;
  return cluster.workers.size() * per_worker + 2 * transfers + 2 + 2 * options.bursts.size();
}

Compiled compile(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                 const Options& options) {
  return Compiler(graph, cluster, layout, options).run();
}

}  // namespace stretto::training
