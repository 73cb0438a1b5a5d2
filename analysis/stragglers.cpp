// SPDX-License-Identifier: Apache-2.0
#include "analysis/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "analysis/statistics.hpp"
#include "analysis/straggler_graph.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::analysis {

namespace {

using timeline::Op;
using timeline::OpKind;

constexpr double kClocksApart = 1e-2;  // seconds
constexpr std::size_t kWorstPercent = 3;

// One value per node and instance; an instance is one dp rank in one step: step x dp_ranks + dp_rank.
using Values = std::vector<double>;

struct Job {
  StragglerGraph graph;
  std::vector<std::int64_t> steps;
  std::size_t dp_ranks = 0;
  std::size_t instances = 0;
  std::vector<double> step_start;    // first begin
  std::vector<std::int32_t> worker;  // per dp rank and stage
  std::size_t stages = 0;
  std::size_t dropped_steps = 0;
  Values start;
  Values end;
  std::size_t at(std::size_t node, std::size_t instance) const { return node * instances + instance; }
};

// What a replay is told.
struct Durations {
  Values compute;   // of nodes without group
  Values transfer;  // of nodes in a group
};

using Shape = std::vector<std::tuple<std::int32_t, std::int32_t, OpKind, std::int32_t>>;

Job make_job(const timeline::Timeline& timeline) {
  std::map<std::int64_t, std::vector<Op>> by_step;
  for (const Op& o : timeline.ops) by_step[o.step].push_back(o);
  std::map<Shape, std::vector<std::int64_t>> shapes;
  for (auto& [step, ops] : by_step) {
    std::sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) {
      return std::tie(a.dp_rank, a.stage, a.kind, a.sequence) < std::tie(b.dp_rank, b.stage, b.kind, b.sequence);
    });
    Shape shape;
    for (const Op& o : ops) shape.emplace_back(o.dp_rank, o.stage, o.kind, o.sequence);
    shapes[std::move(shape)].push_back(step);
  }
  // The most frequent shape; of several, the one that comes first in time.
  const auto best = std::max_element(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(a.second.size(), -a.second.front()) < std::make_tuple(b.second.size(), -b.second.front());
  });
  Job job;
  job.steps = best->second;
  job.dropped_steps = by_step.size() - job.steps.size();
  job.dp_ranks = static_cast<std::size_t>(timeline.dp_ranks);
  job.stages = static_cast<std::size_t>(timeline.stages);
  job.instances = job.steps.size() * job.dp_ranks;
  const std::vector<Op>& first = by_step[job.steps.front()];
  const std::size_t nodes = first.size() / job.dp_ranks;
  if (nodes == 0 || first.size() != nodes * job.dp_ranks)
    throw UserError(fmt::format("the dp ranks do not run equally many ops in step {}", job.steps.front()),
                    "every dp rank must have the same micro-batches and messages");
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Op& model = first[i % nodes];
    const Op& op = first[i];
    if (op.dp_rank != static_cast<std::int32_t>(i / nodes) || op.stage != model.stage || op.kind != model.kind ||
        op.sequence != model.sequence)
      throw UserError(fmt::format("the dp ranks do not run the same ops: in step {} {} of dp_rank {} stands alone",
                                  op.step, node_name({op.kind, op.stage, op.sequence}), op.dp_rank),
                      "every dp rank must have the same micro-batches and messages");
  }
  job.graph = straggler_graph({first.begin(), first.begin() + static_cast<std::ptrdiff_t>(nodes)}, timeline.stages);
  job.start.resize(nodes * job.instances);
  job.end.resize(nodes * job.instances);
  job.worker.resize(job.dp_ranks * job.stages);
  for (std::size_t s = 0; s < job.steps.size(); ++s) {
    const std::vector<Op>& ops = by_step[job.steps[s]];
    double begin = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t at = job.at(i % nodes, s * job.dp_ranks + i / nodes);
      job.start[at] = ops[i].start_s;
      job.end[at] = ops[i].end_s();
      begin = std::min(begin, ops[i].start_s);
      job.worker[i / nodes * job.stages + static_cast<std::size_t>(ops[i].stage)] = ops[i].rank;
    }
    job.step_start.push_back(begin);
  }
  return job;
}

// Seconds per step from its begin to the end of the last optimizer (of the last op where there is none).
std::vector<double> step_times(const Job& job, const Values& ends, std::span<const double> begins) {
  const auto& nodes = job.graph.nodes;
  const bool has_optimizer =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n.kind == OpKind::Optimizer; });
  std::vector<double> last(job.steps.size(), -std::numeric_limits<double>::infinity());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (has_optimizer && nodes[n].kind != OpKind::Optimizer) continue;
    for (std::size_t i = 0; i < job.instances; ++i)
      last[i / job.dp_ranks] = std::max(last[i / job.dp_ranks], ends[job.at(n, i)]);
  }
  for (std::size_t s = 0; s < last.size(); ++s) last[s] -= begins.empty() ? 0 : begins[s];
  return last;
}

// Latest begin of each group, per instance; over all dp ranks of the step where the group asks for it.
std::vector<double> latest_begin(const Job& job, const StragglerGraph::Group& group, const Values& starts) {
  std::vector<double> latest(job.instances, -std::numeric_limits<double>::infinity());
  for (const std::uint32_t m : group.members)
    for (std::size_t i = 0; i < job.instances; ++i) latest[i] = std::max(latest[i], starts[job.at(m, i)]);
  if (!group.across_dp) return latest;
  for (std::size_t s = 0; s < job.instances; s += job.dp_ranks) {
    const auto first = latest.begin() + static_cast<std::ptrdiff_t>(s);
    const auto last = first + static_cast<std::ptrdiff_t>(job.dp_ranks);
    std::fill(first, last, *std::max_element(first, last));
  }
  return latest;
}

// Latest end of what a node needs; the begin of the step where that is nothing.
double ready(const Job& job, std::size_t node, std::size_t instance, const Values& ends, double begin) {
  const auto& needs = job.graph.needs[node];
  if (needs.empty()) return begin;
  double latest = -std::numeric_limits<double>::infinity();
  for (const std::uint32_t n : needs) latest = std::max(latest, ends[job.at(n, instance)]);
  return latest;
}

std::vector<double> replay(const Job& job, const Durations& durations, const Values& delays = {}) {
  Values starts(job.start.size());
  Values ends(job.start.size());
  std::vector<std::size_t> waiting;
  for (const auto& g : job.graph.groups) waiting.push_back(g.members.size());
  for (const std::uint32_t n : job.graph.order) {
    for (std::size_t i = 0; i < job.instances; ++i) {
      const std::size_t at = job.at(n, i);
      starts[at] = ready(job, n, i, ends, 0) + (delays.empty() ? 0 : delays[at]);
    }
    const std::uint32_t g = job.graph.group[n];
    if (g == StragglerGraph::kNone) {
      for (std::size_t i = 0; i < job.instances; ++i)
        ends[job.at(n, i)] = starts[job.at(n, i)] + durations.compute[job.at(n, i)];
    } else if (--waiting[g] == 0) {
      const std::vector<double> latest = latest_begin(job, job.graph.groups[g], starts);
      for (const std::uint32_t m : job.graph.groups[g].members)
        for (std::size_t i = 0; i < job.instances; ++i)
          ends[job.at(m, i)] = latest[i] + durations.transfer[job.at(m, i)];
    }
  }
  return step_times(job, ends, {});
}

Durations measured_durations(const Job& job, std::size_t& clipped) {
  Durations d{Values(job.start.size()), Values(job.start.size())};
  for (std::size_t i = 0; i < job.start.size(); ++i) d.compute[i] = job.end[i] - job.start[i];
  for (const StragglerGraph::Group& g : job.graph.groups) {
    const std::vector<double> latest = latest_begin(job, g, job.start);
    for (const std::uint32_t m : g.members)
      for (std::size_t i = 0; i < job.instances; ++i) {
        double& transfer = d.transfer[job.at(m, i)];
        transfer = job.end[job.at(m, i)] - latest[i];
        if (transfer > -kClocksApart) continue;
        transfer = 0;
        ++clipped;
      }
  }
  return d;
}

Values measured_delays(const Job& job, std::size_t& clipped) {
  Values delays(job.start.size());
  for (std::size_t n = 0; n < job.graph.nodes.size(); ++n)
    for (std::size_t i = 0; i < job.instances; ++i) {
      const double begin = job.step_start[i / job.dp_ranks];
      double& delay = delays[job.at(n, i)];
      delay = job.start[job.at(n, i)] - ready(job, n, i, job.end, begin);
      if (delay > -kClocksApart) continue;
      delay = 0;
      ++clipped;
    }
  return delays;
}

bool transfers(OpKind kind) {
  return kind != OpKind::ForwardCompute && kind != OpKind::BackwardCompute && kind != OpKind::Optimizer &&
         kind != OpKind::GarbageCollection;
}

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)) + upper) / 2;
}

// Every node takes what is typical of its kind: the mean of a computation, the median of a transfer.
Durations ideal_durations(const Job& job, const Durations& measured) {
  Durations ideal = measured;
  for (std::size_t k = 0; k < timeline::kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    for (const bool grouped : {false, true}) {
      const Values& from = grouped ? measured.transfer : measured.compute;
      std::vector<std::size_t> places;
      std::vector<double> values;
      for (std::size_t n = 0; n < job.graph.nodes.size(); ++n) {
        if (job.graph.nodes[n].kind != kind || (job.graph.group[n] != StragglerGraph::kNone) != grouped) continue;
        for (std::size_t i = 0; i < job.instances; ++i) {
          places.push_back(job.at(n, i));
          values.push_back(from[places.back()]);
        }
      }
      if (values.empty()) continue;
      const double typical = transfers(kind) ? median(std::move(values)) : mean(values);
      for (const std::size_t place : places) (grouped ? ideal.transfer : ideal.compute)[place] = typical;
    }
  }
  return ideal;
}

// Of each value: from `one` where `takes(node, dp rank)`, else from `other`.
Durations mixed(const Job& job, const Durations& one, const Durations& other,
                const std::function<bool(const StragglerGraph::Node&, std::size_t)>& takes) {
  Durations d = other;
  for (std::size_t n = 0; n < job.graph.nodes.size(); ++n)
    for (std::size_t i = 0; i < job.instances; ++i) {
      if (!takes(job.graph.nodes[n], i % job.dp_ranks)) continue;
      d.compute[job.at(n, i)] = one.compute[job.at(n, i)];
      d.transfer[job.at(n, i)] = one.transfer[job.at(n, i)];
    }
  return d;
}

std::string merged_name(OpKind kind) {
  if (kind == OpKind::ForwardSend || kind == OpKind::ForwardReceive) return "forward-pp-comm";
  if (kind == OpKind::BackwardSend || kind == OpKind::BackwardReceive) return "backward-pp-comm";
  return std::string(timeline::kOpKindNames[static_cast<std::size_t>(kind)]);
}

void sort_shares(std::vector<StragglerShare>& shares) {
  std::sort(shares.begin(), shares.end(), [](const StragglerShare& a, const StragglerShare& b) {
    return std::make_tuple(-a.slowdown, a.id, std::string_view(a.name)) <
           std::make_tuple(-b.slowdown, b.id, std::string_view(b.name));
  });
}

}  // namespace

Stragglers stragglers(const timeline::Timeline& timeline) {
  Job job = make_job(timeline);
  Stragglers result;
  result.dropped_steps = job.dropped_steps;
  const Durations measured = measured_durations(job, result.clipped_transfers);
  const Values delays = measured_delays(job, result.clipped_delays);
  const Durations ideal = ideal_durations(job, measured);
  const std::vector<double> traced = step_times(job, job.end, job.step_start);
  const std::vector<double> replayed = replay(job, measured, delays);
  const std::vector<double> no_delay = replay(job, measured);
  const std::vector<double> best = replay(job, ideal);
  result.measured_s = mean(traced);
  result.replayed_s = mean(replayed);
  result.no_delay_s = mean(no_delay);
  result.ideal_s = mean(best);
  if (!(result.ideal_s > 0))
    throw UserError("the ideal step takes no time, so nothing can be compared with it", "are all durations 0?");
  result.slowdown = result.no_delay_s / result.ideal_s;
  for (std::size_t s = 0; s < job.steps.size(); ++s)
    result.steps.push_back({job.steps[s], traced[s], replayed[s], no_delay[s], no_delay[s] / best[s]});

  const auto alone = [&](const std::function<bool(const StragglerGraph::Node&, std::size_t)>& takes) {
    return mean(replay(job, mixed(job, measured, ideal, takes))) / result.ideal_s;
  };
  std::vector<double> of_rank;
  std::vector<double> of_stage;
  for (std::size_t r = 0; r < job.dp_ranks; ++r) {
    of_rank.push_back(alone([&](const StragglerGraph::Node&, std::size_t rank) { return rank == r; }));
    result.dp_ranks.push_back({"", static_cast<std::int32_t>(r), of_rank.back()});
  }
  for (std::size_t s = 0; s < job.stages; ++s) {
    of_stage.push_back(
        alone([&](const StragglerGraph::Node& n, std::size_t) { return static_cast<std::size_t>(n.stage) == s; }));
    result.stages.push_back({"", static_cast<std::int32_t>(s), of_stage.back()});
  }
  std::vector<std::string> kinds;
  for (const StragglerGraph::Node& n : job.graph.nodes) kinds.push_back(merged_name(n.kind));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (const std::string& kind : kinds)
    result.kinds.push_back(
        {kind, 0, alone([&](const StragglerGraph::Node& n, std::size_t) { return merged_name(n.kind) == kind; })});
  for (std::size_t r = 0; r < job.dp_ranks; ++r)
    for (std::size_t s = 0; s < job.stages; ++s)
      result.workers.push_back({"", job.worker[r * job.stages + s], std::min(of_rank[r], of_stage[s])});
  for (auto* shares : {&result.kinds, &result.dp_ranks, &result.stages, &result.workers}) sort_shares(*shares);

  const std::size_t worst = (result.workers.size() * kWorstPercent + 99) / 100;
  for (std::size_t w = 0; w < worst; ++w) result.worst_workers.push_back(result.workers[w].id);
  if (!(result.no_delay_s > result.ideal_s)) return result;
  const auto share = [&](const std::function<bool(const StragglerGraph::Node&, std::size_t)>& takes) {
    const double without = mean(replay(job, mixed(job, ideal, measured, takes)));
    return (result.no_delay_s - without) / (result.no_delay_s - result.ideal_s);
  };
  result.worker_share = share([&](const StragglerGraph::Node& n, std::size_t rank) {
    const std::int32_t id = job.worker[rank * job.stages + static_cast<std::size_t>(n.stage)];
    return std::find(result.worst_workers.begin(), result.worst_workers.end(), id) != result.worst_workers.end();
  });
  result.last_stage_share = share(
      [&](const StragglerGraph::Node& n, std::size_t) { return static_cast<std::size_t>(n.stage) == job.stages - 1; });
  return result;
}

}  // namespace stretto::analysis
