// SPDX-License-Identifier: Apache-2.0
#include "experiment/gradient_times.hpp"

#include <algorithm>
#include <limits>

#include "models/graph/order.hpp"
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

// Are all ops that lead to a gradient, but are neither before nor behind the loss, done at the loss? left(b): ops of
// the longest path from b to the end of those before the loss. An op that a pull starts is in the device's queue no
// later than the op b before the loss that reads the pull, so done when the next one on b's path begins; what such an
// op starts is done one op of the path later, what b itself starts two later than b.
bool done_at_loss(const graph::Graph& graph, const graph::BitMatrix& feeds, const bounds::Split& split) {
  const std::size_t n = graph.ops.size();
  const std::vector<graph::OpId> order = graph::topological_order(graph);
  std::vector<std::int64_t> left(n, 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const std::size_t o = it->index();
    if (!split.before[o]) continue;
    for (const graph::OpId input : graph.ops[o].inputs)
      left[input.index()] = std::max(left[input.index()], left[o] + 1);
  }
  std::vector<std::int64_t> of_pull(graph.parameters.size(), 0);
  for (std::size_t o = 0; o < n; ++o)
    if (split.before[o])
      for (const graph::ParameterId p : graph.ops[o].reads) of_pull[p.index()] = std::max(of_pull[p.index()], left[o]);
  std::vector<std::int64_t> done(n, 0);  // before an op with so many left begins
  for (const graph::OpId id : order) {
    const std::size_t o = id.index();
    if (split.before[o] || split.after[o] || feeds.count(o) == 0) continue;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const graph::ParameterId p : graph.ops[o].reads) least = std::min(least, of_pull[p.index()] - 1);
    for (const graph::OpId input : graph.ops[o].inputs) {
      const std::size_t i = input.index();
      least = std::min(least, split.before[i] ? left[i] - 2 : done[i] - 1);
    }
    done[o] = least;
    if (least < 0) return false;
  }
  return true;
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

}  // namespace

std::vector<Duration> gradient_times(const Setup& setup) {
  if (!holds(setup)) return {};
  const graph::BitMatrix feeds = bounds::feeds(*setup.graph);
  const bounds::Split split = bounds::split_at_loss(*setup.graph, graph::needs(*setup.graph), feeds);
  if (!split.holds || ends(*setup.graph, split) != 1 || !done_at_loss(*setup.graph, feeds, split)) return {};
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

}  // namespace stretto::experiment
