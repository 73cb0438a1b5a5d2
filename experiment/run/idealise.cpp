// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/idealise.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stretto::experiment {

namespace {

using analysis::Cause;
using analysis::CauseSet;

// Of an even number the greater of the two in the middle.
template <class T>
T upper_median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// No NIC below the median of its fleet and direction. A link of two fleets (a server on a worker's host) is a worker's.
void lift_slow_nics(training::Compiled& compiled) {
  std::vector<network::Link>& links = compiled.program.wires.links;
  std::vector<bool> seen(links.size(), false);
  for (const auto* hosts : {&compiled.worker_links, &compiled.server_links})
    for (network::LinkId training::HostLinks::*direction : {&training::HostLinks::up, &training::HostLinks::down}) {
      std::vector<std::size_t> fleet;
      for (const training::HostLinks& host : *hosts)
        if (const std::size_t link = (host.*direction).index(); !seen[link]) {
          seen[link] = true;
          fleet.push_back(link);
        }
      if (fleet.empty()) continue;
      std::vector<Bandwidth> rates;
      for (const std::size_t link : fleet) rates.push_back(links[link].capacity);
      const Bandwidth median = upper_median(std::move(rates));
      for (const std::size_t link : fleet) links[link].capacity = std::max(links[link].capacity, median);
    }
}

// Every channel gets a copy of each link of its route.
void part_links(program::StepProgram& program) {
  network::Wires apart;
  for (program::Connection& c : program.channels) {
    std::vector<network::LinkId> path;
    for (const network::LinkId link : program.wires.path(c.route)) {
      const network::Link& shared = program.wires.links[link.index()];
      path.push_back(apart.add_link(shared.name, shared.capacity));
    }
    c.route = apart.add_route(path, program.wires.routes[c.route.index()].cap);
  }
  program.wires = std::move(apart);
}

}  // namespace

training::VariationSpec idealise(const training::VariationSpec& variation, CauseSet causes) {
  training::VariationSpec v = variation;
  // Every field belongs to a cause: this stops compiling when there is one more.
  auto& [cv, law, factors, per_step, stragglers, slow_workers, nics, late_starts, bursts] = v;
  if (holds(causes, Cause::Noise)) {
    cv = 0;
    law = {};
    factors.clear();
    per_step = false;
  }
  if (holds(causes, Cause::SlowWorkers)) {
    stragglers.reset();
    slow_workers.clear();
    late_starts.clear();
  }
  if (holds(causes, Cause::Links)) {
    nics.clear();
    bursts.clear();
  }
  return v;
}

Setup idealise(const Setup& setup, CauseSet causes) {
  Setup ideal = setup;
  set_variation(ideal, idealise(setup.variation, causes));
  if (holds(causes, Cause::SlowWorkers)) {
    std::vector<double> speeds;
    for (const cluster::Worker& worker : ideal.cluster.workers) speeds.push_back(worker.device.speed);
    const double median = upper_median(speeds);
    for (cluster::Worker& worker : ideal.cluster.workers) worker.device.speed = std::max(worker.device.speed, median);
  }
  return ideal;
}

void idealise(training::Compiled& compiled, CauseSet causes) {
  if (holds(causes, Cause::Servers))
    for (const auto* pools : {&compiled.server_threads, &compiled.worker_threads})
      for (const program::PoolId pool : *pools) compiled.program.pools[pool.index()].units = 0;
  if (!holds(causes, Cause::Links)) return;
  lift_slow_nics(compiled);
  part_links(compiled.program);
}

}  // namespace stretto::experiment
