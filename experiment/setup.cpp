// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/import/import.hpp"
#include "models/graph/reduce.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

namespace {

// Runs `f`; findings without a place of their own get the one of the spec.
template <class F>
auto located(const config::Place& place, const std::string& key, F&& f) {
  try {
    return f();
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& d : diagnostics) {
      if (!d.span.file.empty()) continue;
      d.span = place.span();
      if (d.key.empty()) d.key = key;
    }
    throw UserError(std::move(diagnostics));
  }
}

[[noreturn]] void fail(const config::Place& place, std::string key, std::string message, std::string hint) {
  throw UserError({{Severity::Error, place.span(), std::move(key), std::move(message), std::move(hint)}});
}

std::string placement_name(PlacementKind kind) {
  switch (kind) {
    case PlacementKind::RoundRobin: return "round_robin";
    case PlacementKind::Greedy: return "greedy";
    case PlacementKind::Partitioned: return "partitioned";
    case PlacementKind::ByName: return "by_name";
  }
  return "";
}

void apply_ratio(const Spec& spec, const graph::Graph& graph, cluster::Cluster& cluster) {
  const double ratio = *spec.cluster.network.comm_compute_ratio;
  const config::Place& place = spec.cluster.network.ratio_place;
  const std::string key = "cluster.network.comm_compute_ratio";
  double bits = 0;
  for (const graph::Parameter& p : graph.parameters) bits += 8.0 * static_cast<double>(p.bytes.count());
  double forward = 0;
  for (const graph::Op& op : graph.ops)
    if (op.phase == graph::Phase::Forward) forward += op.time.seconds();
  forward /= spec.cluster.workers.device.speed * spec.cluster.workers.device.cores;
  if (bits == 0 || forward == 0)
    fail(place, key, "the workload has no transfers or no forward time, so that no ratio can be set",
         "give cluster.workers.nic and cluster.servers.nic");
  const double rate = bits / (ratio * forward) / cluster.network.efficiency;
  if (!(rate >= 1 && rate < 9e18))
    fail(place, key, fmt::format("would need NICs of {:.3g} bit/s", rate), "rates from 1 bit/s to 9e18 bit/s work");
  const Bandwidth nic(std::llround(rate));
  for (auto& worker : cluster.workers) worker.nic = {nic, nic};
  for (auto& server : cluster.servers) server.nic = {nic, nic};
}

}  // namespace

std::shared_ptr<const graph::Graph> Workloads::get(const WorkloadSpec& spec) {
  auto& graph = graphs_[spec.file];
  if (!graph)
    graph = std::make_shared<const graph::Graph>(located(
        spec.place, "workload", [&] { return std::move(io::import_any(spec.file).graph); }));
  return graph;
}

std::vector<std::string> Workloads::files() const {
  std::vector<std::string> files;
  for (const auto& [file, graph] : graphs_)
    if (graph) files.push_back(file);
  return files;
}

void place(Setup& setup) {
  setup.layout = placement::place(setup.placement, *setup.graph,
                                  static_cast<std::uint32_t>(setup.cluster.servers.size()), setup.placement_options);
}

Setup make_setup(const Spec& spec, Workloads& workloads) {
  Setup setup;
  const auto graph = workloads.get(spec.workload);
  if (spec.workload.batch_per_worker && *spec.workload.batch_per_worker != graph->batch)
    fail(spec.workload.batch_place, "workload.batch_per_worker",
         fmt::format("{} differs from the batch of the profile, {}", *spec.workload.batch_per_worker, graph->batch),
         "leave it out, or profile the model with that batch");
  const bool training = spec.workload.mode == Mode::Training;
  setup.graph = training ? graph : std::make_shared<const graph::Graph>(graph::forward_only(*graph));
  const bool has_gradients = std::any_of(graph->parameters.begin(), graph->parameters.end(),
                                         [](const graph::Parameter& p) { return p.gradient.valid(); });
  if (training && !has_gradients)
    fail(spec.workload.place, "workload", "the workload has no gradients, so that nothing can be trained",
         "mode: inference");
  setup.training = {training ? training::Mode::Training : training::Mode::Inference, spec.training.barrier};
  setup.cluster = make_cluster(spec);
  if (spec.cluster.network.comm_compute_ratio) apply_ratio(spec, *setup.graph, setup.cluster);
  const PlacementSpec& p = spec.cluster.servers.placement;
  setup.placement = placement_name(p.kind);
  if (p.parts > 0) setup.placement_options.parts = p.parts;
  if (p.part_size > Bytes()) setup.placement_options.slice = p.part_size;
  for (const NamedServer& named : p.by_name) setup.placement_options.servers.emplace_back(named.parameter, named.server);
  located(p.place, "cluster.servers.placement", [&] { place(setup); });
  return setup;
}

plan::Plan make_plan(const Setup& setup, const PolicySpec& spec, std::uint64_t seed) {
  policies::PolicyOptions options;
  for (const PolicyOption& option : spec.options) options[option.key] = option.text;
  std::vector<Duration> time(setup.graph->parameters.size());
  for (const plan::Transfer& t : setup.layout.transfers)
    time[t.parameter.index()] += cluster::pull_time(setup.cluster, 0, t.server, t.bytes);
  const policies::PolicyInput input{*setup.graph, setup.layout, std::move(time), seed, setup.training.barrier};
  plan::Plan plan;
  plan.policy = spec.name;
  plan.layout = setup.layout;
  plan.order =
      located(spec.place, "policies", [&] { return policies::make_order(spec.name, input, options); });
  return plan;
}

}  // namespace stretto::experiment
