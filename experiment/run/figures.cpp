// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/metrics.hpp"
#include "analysis/statistics.hpp"
#include "config/units_text.hpp"
#include "experiment/bounds/step_facts.hpp"

namespace stretto::experiment {

namespace {

using analysis::PolicyResult;

bool all_meet(const training::Options& o) {
  return o.barrier && o.synchronization != training::Synchronization::Backup;
}

// E and S of the paper; S from the profile's op times.
void add_paper_metrics(const Setup& setup, const plan::Layout& layout, const Measured& measured, PolicyResult& result) {
  if (!all_meet(setup.training)) {
    result.ordering_efficiency.reason = result.speedup_limit.reason = "defined for steps between barriers";
    return;
  }
  result.ordering_efficiency.value = measured.ordering_efficiency;
  if (!measured.ordering_efficiency) result.ordering_efficiency.reason = "only one resource is used";
  double sum = 0;
  for (std::size_t w = 0; w < setup.cluster.workers.size(); ++w) {
    analysis::OpSums sums = transfer_sums(setup, layout, w);
    for (const graph::Op& op : setup.graph->ops)
      sums.compute += setup.training.passes * op.time.scaled(1.0 / setup.cluster.workers[w].device.speed).seconds();
    sum += analysis::speedup_limit(sums).value_or(0.0);
  }
  result.speedup_limit.value = sum / static_cast<double>(setup.cluster.workers.size());
}

void add_bounds(const Setup& setup, const PointBounds& point, const plan::Plan& plan, bool alone,
                PolicyResult& result) {
  const bounds::Bound bound =
      layout_bound(setup, plan.layout, alone ? with_order(point.facts, setup, plan.order) : point.facts);
  const bounds::Bound& any = point.any_layout;
  result.lower_bound_name = bound.name;
  result.lower_bound_s.reason = result.gap.reason = bound.reason;
  result.lower_bound_any_layout_s.reason = any.reason;
  if (any.value) result.lower_bound_any_layout_s.value = any.value->seconds();
  if (!bound.value) return;
  result.lower_bound_s.value = bound.value->seconds();
  if (bound.value->ps() > 0)
    result.gap.value = result.step_time.estimate.mean / bound.value->seconds() - 1;
  else
    result.gap.reason = "the bound is 0";
}

// "10 Gbit/s"; a rate that no unit makes short (one set by a ratio) with three digits: "about 18.9 Gbit/s".
std::string nic_text(Bandwidth nic) {
  const std::string exact = config::format_bandwidth(nic);
  if (exact.size() <= 12) return exact;
  return fmt::format("about {:.3g} Gbit/s", static_cast<double>(nic.bits_per_second()) * 1e-9);
}

// "v100"; of workers that differ "2 v100, 2 old at speed 0.5".
std::string device_text(const std::vector<cluster::Worker>& workers) {
  std::vector<std::pair<std::string, std::size_t>> kinds;
  for (const cluster::Worker& worker : workers) {
    std::string kind = worker.device.name;
    if (worker.device.speed != workers.front().device.speed)
      kind += fmt::format(" at speed {:.3g}", worker.device.speed);
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
    if (known == kinds.end())
      kinds.emplace_back(std::move(kind), 1);
    else
      ++known->second;
  }
  if (kinds.size() == 1) return kinds.front().first;
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text;
}

// Of all workers, what they receive.
std::string nics_text(const std::vector<cluster::Worker>& workers) {
  const auto [least, most] = std::minmax_element(workers.begin(), workers.end(),
                                                 [](const auto& a, const auto& b) { return a.nic.down < b.nic.down; });
  if (least->nic.down == most->nic.down) return nic_text(least->nic.down);
  return nic_text(least->nic.down) + " to " + nic_text(most->nic.down);
}

std::string variation_text(const training::VariationSpec& v) {
  std::string text;
  const char* what = v.per_step ? "the compute of each worker's step varies" : "op times vary";
  if (v.law == program::NoiseLaw::Empirical)
    text += fmt::format(", {} as {} given factors do", what, v.factors.size());
  else if (v.compute_cv > 0)
    text += fmt::format(", {} by {:.3g} %", what, 100 * v.compute_cv);
  for (const training::LateStart& late : v.late_starts)
    text += fmt::format(", worker {} starts late by {:.3g} ms", late.worker, 1e3 * late.delay.seconds());
  for (const training::SlowWorker& s : v.slow_workers)
    text += fmt::format(", worker {} {:.3g}x slower", s.worker, s.slowdown);
  if (!v.nics.empty()) text += ", NIC rates change";
  return text;
}

}  // namespace

double samples_per_step(const Setup& setup) {
  const training::Options& o = setup.training;
  const std::size_t backups = o.synchronization == training::Synchronization::Backup ? o.backups : 0;
  return static_cast<double>(setup.cluster.workers.size() - backups) * static_cast<double>(setup.graph->batch) *
         o.passes;
}

void fill_deadlock(const std::string& text, PolicyResult& result) {
  result.deadlock = text;
  for (analysis::Figure* figure :
       {&result.scaling_efficiency, &result.lower_bound_s, &result.lower_bound_any_layout_s, &result.gap,
        &result.ordering_efficiency, &result.speedup_limit, &result.straggler_effect, &result.dropped_gradients})
    figure->reason = "deadlock";
  if (result.job) result.job->alone_s.reason = "deadlock";
  result.staleness.reason = result.gain_over_random.reason = result.gain_over_fifo.reason = "deadlock";
}

void fill_figures(const Setup& setup, const PointBounds& point, const plan::Plan& plan, const Measured& measured,
                  bool alone, PolicyResult& r) {
  r.step_time = analysis::step_time(measured.steps, measured.means);
  r.samples_per_s = samples_per_step(setup) / r.step_time.estimate.mean;
  r.resources = measured.resources;
  r.pull_waits = measured.pull_waits;
  r.push_waits = measured.push_waits;
  if (all_meet(setup.training))
    r.straggler_effect.value = measured.straggler_effect;
  else
    r.straggler_effect.reason = "defined where all workers meet at a barrier";
  if (measured.staleness) {
    r.staleness = *measured.staleness;
  } else {
    r.staleness.reason = setup.training.mode == training::Mode::Training
                             ? "each update is made of the newest gradients of all workers"
                             : "inference makes no updates";
  }
  if (setup.training.synchronization == training::Synchronization::Backup)
    r.dropped_gradients.value = measured.dropped_gradients;
  else
    r.dropped_gradients.reason = "no gradient is dropped without backup workers";
  add_paper_metrics(setup, plan.layout, measured, r);
  add_bounds(setup, point, plan, alone, r);
}

std::string describe(const Spec& spec, const Setup& setup) {
  const auto count = [](std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  std::string nic = nics_text(setup.cluster.workers);
  const bool all_reduce = setup.cluster.servers.empty();
  // Servers on workers' hosts come first, and have those NICs.
  if (!all_reduce && !setup.cluster.servers.back().on_worker &&
      setup.cluster.workers[0].nic.down != setup.cluster.servers.back().nic.up)
    nic += " (servers " + nic_text(setup.cluster.servers.back().nic.up) + ")";
  const bool training = setup.training.mode == training::Mode::Training;
  return fmt::format("{} {}, {} ({}), {}, {}, {}", setup.graph->name, training ? "training" : "inference",
                     count(setup.cluster.workers.size(), "worker"), device_text(setup.cluster.workers),
                     all_reduce ? exchange_text(spec) : count(setup.cluster.servers.size(), "server"), nic,
                     training_text(spec)) +
         topology_text(spec) + variation_text(setup.variation);
}

std::vector<std::string> assumptions(const Setup& setup) {
  std::vector<std::string> list;
  const cluster::Network& network = setup.cluster.network;
  list.push_back(network.model == cluster::LinkModel::Fluid
                     ? "links are shared max-min fairly; no packet loss, no slow start"
                     : "links forward whole messages or chunks first in, first out");
  list.push_back(setup.variation.noiseless() ? "op times are those of the profile; no noise"
                                             : "op times are those of the profile, varied as asked for");
  if (setup.cluster.servers.empty()) {
    if (setup.cluster.workers[0].nic.down.is_unlimited())
      list.push_back("NICs have no limit, so that transfers take no time: give workers.nic");
    list.insert(list.end(), setup.assumptions.begin(), setup.assumptions.end());
    return list;
  }
  const bool free = std::all_of(setup.cluster.servers.begin(), setup.cluster.servers.end(),
                                [](const cluster::Server& s) { return s.send.is_zero() && s.receive.is_zero(); });
  if (setup.cluster.workers[0].nic.down.is_unlimited() && setup.cluster.servers[0].nic.up.is_unlimited())
    list.push_back("NICs have no limit, so that transfers take no time: give workers.nic and servers.nic");
  if (free) list.push_back("messages cost the servers no CPU time");
  if (setup.cluster.servers[0].update_rate.is_unlimited()) list.push_back("updates take no time");
  list.push_back(setup.cluster.servers[0].on_worker
                     ? "servers share the NICs of workers' hosts, not their devices or service threads"
                     : "server hosts and worker hosts are apart");
  if (setup.cluster.network.fabric.kind != cluster::FabricKind::Star)
    list.push_back("routes between switches are static; no message is spread over several");
  list.insert(list.end(), setup.assumptions.begin(), setup.assumptions.end());
  return list;
}

}  // namespace stretto::experiment
