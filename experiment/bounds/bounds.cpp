// SPDX-License-Identifier: Apache-2.0
#include "experiment/bounds/bounds.hpp"

#include <algorithm>

#include "experiment/bounds/collective_bounds.hpp"
#include "experiment/bounds/step_facts.hpp"

namespace stretto::experiment {

namespace {

// Bounds take the profile's op times and the NICs' rates for the best that there are.
bool faster_than_profile(const training::VariationSpec& variation) {
  return std::any_of(variation.slow_workers.begin(), variation.slow_workers.end(),
                     [](const training::SlowWorker& s) { return s.slowdown < 1; }) ||
         std::any_of(variation.nics.begin(), variation.nics.end(),
                     [](const training::NicChange& n) { return n.factor > 1; });
}

std::string reason_for_none(const Setup& setup) {
  switch (setup.training.synchronization) {
    case training::Synchronization::Async:
    case training::Synchronization::Ssp:
      return "no bound is known for workers at their own pace";
    case training::Synchronization::Backup:
      return "no bound is known for steps that do not wait for all workers";
    case training::Synchronization::Sync:
    case training::Synchronization::Local:
      break;
  }
  if (std::any_of(setup.cluster.servers.begin(), setup.cluster.servers.end(),
                  [](const cluster::Server& s) { return s.on_worker.has_value(); }))
    return "no bound is known for servers on workers' hosts";
  if (faster_than_profile(setup.variation)) return "noise makes workers or NICs faster than the bounds assume";
  return "";
}

graph::Graph of_all_passes(const Setup& setup) {
  graph::Graph graph = *setup.graph;
  for (graph::Op& op : graph.ops) op.time = op.time * setup.training.passes;
  return graph;
}

// A worker that is slow all the time counts as slow; other slowness may pass.
cluster::Cluster with_slow_workers(const Setup& setup) {
  cluster::Cluster cluster = setup.cluster;
  for (const training::SlowWorker& s : setup.variation.slow_workers)
    if (s.from == Time() && s.until == Time::never() && s.worker < cluster.workers.size())
      cluster.workers[s.worker].device.speed /= s.slowdown;
  return cluster;
}

bool training(const Setup& setup) { return setup.training.mode == training::Mode::Training; }

// Of the device that has most to do in a step, or least where workers go on by themselves.
bounds::Bound device_load(const Setup& setup, const graph::Graph& graph, const cluster::Cluster& cluster) {
  Duration work;
  for (const graph::Op& op : graph.ops)
    if (training(setup) || op.phase == graph::Phase::Forward) work += op.time;
  const bool apart = !training(setup) && !setup.training.barrier;
  bounds::Bound bound;
  for (const cluster::Worker& worker : cluster.workers) {
    const Duration load = Duration::ps(work.scaled(1.0 / worker.device.speed).ps() / worker.device.cores);
    if (!bound.value || (apart ? load < *bound.value : load > *bound.value))
      bound = {load, "load bound of " + worker.name + " device", ""};
  }
  return bound;
}

// `bound_of(graph, facts)` for the setup. Op times with noise can be shorter than the profile's, and heads and tails,
// least values of several, have means below the least of the means. What stays: the bound for ops that take no time,
// and the load of a device, which is a sum.
template <class F>
bounds::Bound under_noise(const Setup& setup, const bounds::Facts& facts, F&& bound_of) {
  if (std::string reason = reason_for_none(setup); !reason.empty()) return {{}, "", std::move(reason)};
  graph::Graph graph = of_all_passes(setup);
  const cluster::Cluster cluster = with_slow_workers(setup);
  if (!setup.variation.noisy()) return bound_of(graph, cluster, facts);
  const bounds::Bound load = device_load(setup, graph, cluster);
  for (graph::Op& op : graph.ops) op.time = Duration();
  const bounds::Bound rest = bound_of(graph, cluster, bounds::Facts());
  return rest.value && *rest.value > *load.value ? rest : load;
}

}  // namespace

bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout, const bounds::Facts& facts) {
  return under_noise(
      setup, facts, [&](const graph::Graph& graph, const cluster::Cluster& cluster, const bounds::Facts& known) {
        return setup.training.exchange == training::Exchange::AllReduce
                   ? all_reduce_bound(setup, graph, cluster, layout)
                   : bounds::step_lower_bound(graph, cluster, layout, training(setup), setup.training.barrier, known);
      });
}

bounds::Bound any_layout_bound(const Setup& setup, const bounds::Facts& facts) {
  return under_noise(
      setup, facts, [&](const graph::Graph& graph, const cluster::Cluster& cluster, const bounds::Facts& known) {
        return setup.training.exchange == training::Exchange::AllReduce
                   ? any_all_reduce_bound(setup, graph, cluster)
                   : bounds::any_layout_lower_bound(graph, cluster, training(setup), setup.training.barrier, known);
      });
}

bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout) {
  return layout_bound(setup, layout, step_facts(setup));
}

bounds::Bound any_layout_bound(const Setup& setup) { return any_layout_bound(setup, step_facts(setup)); }

PointBounds point_bounds(const Setup& setup) {
  PointBounds point;
  point.facts = step_facts(setup);
  point.any_layout = any_layout_bound(setup, point.facts);
  return point;
}

}  // namespace stretto::experiment
