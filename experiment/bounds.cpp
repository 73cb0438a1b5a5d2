// SPDX-License-Identifier: Apache-2.0
#include "experiment/bounds.hpp"

#include <algorithm>

#include "experiment/collective_bounds.hpp"
#include "experiment/step_facts.hpp"

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

}  // namespace

bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout, const bounds::Facts& facts) {
  if (std::string reason = reason_for_none(setup); !reason.empty()) return {{}, "", std::move(reason)};
  if (setup.training.exchange == training::Exchange::AllReduce)
    return all_reduce_bound(setup, of_all_passes(setup), with_slow_workers(setup), layout);
  return bounds::step_lower_bound(of_all_passes(setup), with_slow_workers(setup), layout,
                                  setup.training.mode == training::Mode::Training, setup.training.barrier, facts);
}

bounds::Bound any_layout_bound(const Setup& setup, const bounds::Facts& facts) {
  if (std::string reason = reason_for_none(setup); !reason.empty()) return {{}, "", std::move(reason)};
  if (setup.training.exchange == training::Exchange::AllReduce)
    return any_all_reduce_bound(setup, of_all_passes(setup), with_slow_workers(setup));
  return bounds::any_layout_lower_bound(of_all_passes(setup), with_slow_workers(setup),
                                        setup.training.mode == training::Mode::Training, setup.training.barrier, facts);
}

bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout) {
  return layout_bound(setup, layout, step_facts(setup));
}

bounds::Bound any_layout_bound(const Setup& setup) { return any_layout_bound(setup, step_facts(setup)); }

}  // namespace stretto::experiment
