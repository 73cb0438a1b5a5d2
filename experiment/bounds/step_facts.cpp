// SPDX-License-Identifier: Apache-2.0
#include "experiment/bounds/step_facts.hpp"

#include <algorithm>
#include <limits>

#include "models/graph/order.hpp"
#include "models/plan/drawn.hpp"
#include "schedulers/bounds/split.hpp"
#include "sim/base/assert.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

bool in_order_of_readiness(const cluster::Worker& worker) {
  const cluster::Device& d = worker.device;
  return d.cores == 1 && d.speed == 1.0 && d.order == cluster::OpOrder::Fifo && !d.copies_in() && !d.copies_out();
}

bool holds(const Setup& setup) {
  const training::Options& o = setup.training;
  return o.mode == training::Mode::Training && o.exchange == training::Exchange::ParameterServer &&
         o.synchronization == training::Synchronization::Sync && o.passes == 1 && setup.variation.none() &&
         std::all_of(setup.cluster.workers.begin(), setup.cluster.workers.end(), in_order_of_readiness);
}

// Ops before the loss that no other op before the loss waits for.
std::size_t ends(const graph::Graph& graph, const bounds::Split& split) {
  std::vector<bool> end = split.before;
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (split.before[o])
      for (const graph::OpId input : graph.ops[o].inputs) end[input.index()] = false;
  return static_cast<std::size_t>(std::count(end.begin(), end.end(), true));
}

// Of the ops that are neither before nor behind the loss: d if they are done by T(d), < 0 if they may come later. See
// the header.
std::vector<std::int64_t> done_by(const graph::Graph& graph, const bounds::Split& split) {
  const std::size_t n = graph.ops.size();
  const std::vector<graph::OpId> order = graph::topological_order(graph);
  std::vector<std::int64_t> left(n, 0);
  std::int64_t longest = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const std::size_t o = it->index();
    if (!split.before[o]) continue;
    longest = std::max(longest, left[o]);
    for (const graph::OpId input : graph.ops[o].inputs) {
      const std::int64_t takes_time = graph.ops[input.index()].time > Duration() ? 1 : 0;
      left[input.index()] = std::max(left[input.index()], left[o] + takes_time);
    }
  }
  std::vector<std::int64_t> of_pull(graph.parameters.size(), 0);
  for (std::size_t o = 0; o < n; ++o)
    if (split.before[o])
      for (const graph::ParameterId p : graph.ops[o].reads) of_pull[p.index()] = std::max(of_pull[p.index()], left[o]);
  std::vector<std::int64_t> done(n, -1);
  for (const graph::OpId id : order) {
    const std::size_t o = id.index();
    if (split.before[o] || split.after[o]) continue;
    std::int64_t ready = longest;
    for (const graph::ParameterId p : graph.ops[o].reads) ready = std::min(ready, of_pull[p.index()]);
    for (const graph::OpId input : graph.ops[o].inputs) {
      const std::size_t i = input.index();
      ready = std::min(ready, split.before[i] ? left[i] - 1 : done[i]);
    }
    done[o] = ready - 1;
  }
  return done;
}

// Ends of the ops of the first step.
class OpEnds : public program::Observer {
 public:
  OpEnds(const training::Compiled& compiled, std::size_t ops) : compiled_(compiled), ends(ops) {}
  void on_end(const program::ActivityRecord& record) override {
    const training::Label& label = compiled_.labels[record.activity];
    if (record.iteration == 0 && label.role == training::Role::Op) ends[label.item] = record.end - Time();
  }

 private:
  const training::Compiled& compiled_;

 public:
  std::vector<Duration> ends;
};

// Of the ops behind the loss, where nothing comes between them.
std::vector<Duration> gradient_times(const Setup& setup, const bounds::Split& split) {
  graph::Graph graph = *setup.graph;
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (!split.after[o]) graph.ops[o].time = Duration();
  cluster::Cluster alone;
  const cluster::Nic nic{Bandwidth::unlimited(), Bandwidth::unlimited()};
  alone.workers.push_back({"worker", {}, nic, 0, {}, {}});
  alone.servers.push_back({"server", nic, 0, {}, {}, Bandwidth::unlimited()});
  const plan::Layout layout = placement::place("round_robin", graph, 1, {});
  const auto compiled = training::compile(graph, alone, layout, {training::Mode::Training, true, {}});
  const auto table = training::compile_order(compiled, layout, {}, 0);
  program::Simulation simulation(compiled.program, table, 1);
  OpEnds observer(compiled, graph.ops.size());
  simulation.observe(&observer);
  const bool ended = simulation.run_until(1) == program::Status::Reached;
  STRETTO_ASSERT(ended, "the backward pass of {} does not end", graph.name);
  std::vector<Duration> times;
  for (const graph::Parameter& p : graph.parameters)
    times.push_back(p.gradient.valid() ? observer.ends[p.gradient.index()] : Duration());
  return times;
}

}  // namespace

bounds::Facts step_facts(const Setup& setup) {
  bounds::Facts facts;
  if (!holds(setup)) return facts;
  const graph::Graph& graph = *setup.graph;
  const graph::BitMatrix feeds = bounds::feeds(graph);
  const bounds::Split split = bounds::split_at_loss(graph, graph::needs(graph), feeds);
  if (!split.holds || ends(graph, split) != 1) return facts;
  const std::vector<std::int64_t> done = done_by(graph, split);
  bool gradients_in_order = true;
  for (std::size_t o = 0; o < graph.ops.size(); ++o) {
    facts.by_loss.push_back(done[o] >= 0);
    if (!split.before[o] && !split.after[o] && feeds.count(o) > 0 && done[o] < 0) gradients_in_order = false;
  }
  if (gradients_in_order) facts.gradients = gradient_times(setup, split);
  return facts;
}

bool pulls_in_one_order(const plan::Order& order) { return !plan::drawn(order.pull); }

bool all_alike(const Setup& setup, const plan::Order& order) {
  return !plan::drawn(order) && !setup.random_ops() && setup.variation.none() &&
         std::all_of(order.start_offsets.begin(), order.start_offsets.end(),
                     [&](Duration d) { return d == order.start_offsets.front(); });
}

bounds::Facts with_order(bounds::Facts facts, const Setup& setup, const plan::Order& order) {
  // A NIC whose rate changes, or which others use at times, gets its pulls at other times than the others.
  facts.one_order = pulls_in_one_order(order) && setup.variation.nics.empty() && setup.variation.bursts.empty();
  facts.alike = all_alike(setup, order);
  return facts;
}

bounds::Facts step_facts(const Setup& setup, const plan::Order& order) {
  return with_order(step_facts(setup), setup, order);
}

}  // namespace stretto::experiment
