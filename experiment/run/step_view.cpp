// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/step_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "experiment/run/attribution.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/simulate/resource_use.hpp"
#include "sim/base/parallel.hpp"

namespace stretto::experiment {

namespace {

using analysis::Bar;
using analysis::BarKind;
using analysis::StepView;
using program::ActivityRecord;
using training::Role;

// Whether an activity is drawn.
bool is_drawn(const training::Compiled& compiled, const ActivityRecord& r) {
  switch (compiled.labels[r.activity].role) {
    case Role::Op:
    case Role::Pull:
    case Role::Push:
    case Role::Message:
      return true;
    case Role::Sum:
    case Role::Update:
    case Role::CopyIn:
    case Role::CopyOut:
      return r.end > r.ready;
    default:
      return false;
  }
}

class Drawing {
 public:
  Drawing(const Timeline& t, StepView& view) : t_(t), graph_(*t.setup.graph), view_(view), origin_(t.step.path.begin) {}

  void draw(std::size_t most_bars) {
    std::vector<bool> critical(t_.step.compiled.program.size(), false);
    std::uint32_t iteration = t_.step.records.empty() ? 0 : t_.step.records.front().iteration;
    for (const analysis::PathLink& link : t_.step.path.links)
      if (link.iteration == iteration) critical[link.activity] = true;
    choose_workers(most_bars, critical);
    for (const ActivityRecord& r : t_.step.records) {
      if (!is_drawn(t_.step.compiled, r) || !chosen_[t_.step.compiled.labels[r.activity].worker]) continue;
      view_.bars.push_back(bar_of(r));
      view_.bars.back().critical = critical[r.activity];
    }
    std::stable_sort(view_.bars.begin(), view_.bars.end(), [](const Bar& a, const Bar& b) {
      return std::tie(a.begin, a.row, a.activity) < std::tie(b.begin, b.row, b.activity);
    });
    number_rows();
  }

 private:
  void choose_workers(std::size_t most_bars, const std::vector<bool>& critical) {
    const std::size_t workers = t_.setup.cluster.workers.size();
    std::vector<std::size_t> bars(workers);
    std::vector<bool> on_path(workers, false);
    for (const ActivityRecord& r : t_.step.records) {
      const std::uint32_t worker = t_.step.compiled.labels[r.activity].worker;
      if (is_drawn(t_.step.compiled, r)) ++bars[worker];
      if (critical[r.activity]) on_path[worker] = true;
    }
    chosen_.assign(workers, false);
    std::size_t sum = 0;
    for (const bool wanted : {true, false})
      for (std::size_t w = 0; w < workers; ++w) {
        if (on_path[w] != wanted || (sum > 0 && sum + bars[w] > most_bars)) continue;
        chosen_[w] = true;
        sum += bars[w];
      }
    view_.workers = workers;
    view_.workers_drawn = static_cast<std::size_t>(std::count(chosen_.begin(), chosen_.end(), true));
  }

  std::uint32_t row(const std::string& process, const char* track) {
    const auto [at, is_new] = rows_.emplace(std::pair(process, track), static_cast<std::uint32_t>(view_.rows.size()));
    if (is_new) view_.rows.push_back({process, track});
    return at->second;
  }

  std::uint32_t name(const std::string& text) {
    const auto [at, is_new] = names_.emplace(text, static_cast<std::uint32_t>(view_.names.size()));
    if (is_new) view_.names.push_back(text);
    return at->second;
  }

  std::string transfer_name(const plan::Transfer& t) const {
    const plan::Layout& layout = t_.plan.layout;
    const std::string& parameter = graph_.parameters[t.parameter.index()].name;
    const bool cut = layout.first[t.parameter.index() + 1] - layout.first[t.parameter.index()] > 1;
    return t.slice > 0 || cut ? fmt::format("{} slice {}", parameter, t.slice) : parameter;
  }

  Time since(Time t) const { return Time() + (t - origin_); }

  Bar bar_of(const ActivityRecord& r) {
    const training::Compiled& compiled = t_.step.compiled;
    const training::Label& label = compiled.labels[r.activity];
    const program::Activity& activity = compiled.program.activities[r.activity];
    const std::string& worker = t_.setup.cluster.workers[label.worker].name;
    Bar b;
    b.activity = r.activity;
    b.ready = since(r.ready);
    b.begin = since(r.begin);
    b.end = since(r.end);
    b.handed = b.on_wire = b.begin;
    b.arrived = b.end;
    if (label.role == Role::Op) {
      b.row = row(worker, "device");
      b.name = name(graph_.ops[label.item].name);
      b.alone = Duration::ps(activity.amount);
      return b;
    }
    const plan::Transfer& t = t_.plan.layout.transfers[label.item];
    b.name = name(transfer_name(t));
    b.bytes = t.bytes.count();
    if (label.role == Role::Pull || label.role == Role::Push || label.role == Role::Message) {
      const program::Connection& c = compiled.program.channels[activity.where];
      b.bytes = activity.amount;
      b.handed = since(r.handed);
      b.on_wire = since(r.on_wire);
      b.arrived = since(r.arrived);
      b.alone = transfer_duration(Bytes(activity.amount), compiled.program.wires.rate_alone(c.route));
      b.latency = c.latency;
      if (label.role == Role::Message) {
        b.kind = BarKind::Collective;
        b.row = row(worker, label.part == training::Part::Gather ? "all-gathers" : "collectives");
        return b;
      }
      const bool pull = label.role == Role::Pull;
      b.kind = pull ? BarKind::Pull : BarKind::Push;
      b.row = row(worker, pull ? "pulls" : "pushes");
      b.other_row = row(t_.setup.cluster.servers[t.server].name, pull ? "NIC up" : "NIC down");
      return b;
    }
    b.alone = activity.kind == program::Kind::Compute ? Duration::ps(activity.amount) : r.end - r.begin;
    if (label.role == Role::Sum || label.role == Role::Update) {
      const bool sum = label.role == Role::Sum;
      b.kind = sum ? BarKind::Sum : BarKind::Update;
      b.row = row(t_.setup.cluster.servers[t.server].name, sum ? "sums" : "updates");
      return b;
    }
    b.kind = BarKind::Copy;
    b.row = row(worker, label.role == Role::CopyIn ? "copies in" : "copies out");
    return b;
  }

  // Workers first, then servers, each as the cluster lists them; in a process by name of the track.
  void number_rows() {
    std::map<std::string, std::size_t> place;
    for (const auto& w : t_.setup.cluster.workers) place.emplace(w.name, place.size());
    for (const auto& s : t_.setup.cluster.servers) place.emplace(s.name, place.size());
    const auto key = [&](std::uint32_t i) {
      return std::tuple(place.at(view_.rows[i].process), std::string_view(view_.rows[i].track));
    };
    std::vector<std::uint32_t> order(view_.rows.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<std::uint32_t> number(order.size());
    std::vector<analysis::BarRow> rows;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      number[order[i]] = i;
      rows.push_back(std::move(view_.rows[order[i]]));
    }
    view_.rows = std::move(rows);
    for (Bar& b : view_.bars) {
      b.row = number[b.row];
      if (b.other_row != analysis::kNoRow) b.other_row = number[b.other_row];
    }
  }

  const Timeline& t_;
  const graph::Graph& graph_;
  StepView& view_;
  const Time origin_;
  std::vector<bool> chosen_;  // by worker
  std::map<std::pair<std::string, std::string>, std::uint32_t> rows_;
  std::map<std::string, std::uint32_t> names_;
};

void add_use_over_time(const Timeline& t, const SimulateOptions& options, StepView& view) {
  const analysis::CriticalPath& path = t.step.path;
  const std::vector<Counters> samples =
      sample_use(t.setup, t.plan, t.step.compiled, options, path.begin, path.end, kMoments);
  for (const Counters& c : samples) view.moments_s.push_back((c.now - path.begin).seconds());
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const std::vector<analysis::ResourceUse> uses = resource_use(t.step.compiled, samples[i], samples[i + 1], 1);
    if (i == 0)
      for (const analysis::ResourceUse& use : uses) view.use.push_back({use.name, use.kind, {}});
    for (std::size_t k = 0; k < uses.size(); ++k) view.use[k].share.push_back(uses[k].utilisation);
  }
}

}  // namespace

StepView step_view(const Timeline& timeline, const SimulateOptions& options, std::size_t most_bars) {
  StepView view;
  view.policy = timeline.policy;
  view.path = named_path(timeline.setup, timeline.plan, timeline.step.compiled, timeline.step.path);
  view.step_s = view.path.step_s;
  Drawing(timeline, view).draw(most_bars);
  add_use_over_time(timeline, options, view);
  return view;
}

std::vector<StepView> step_views(const Experiment& experiment, const analysis::RunResult& result, std::size_t most_bars,
                                 const Progress& progress) {
  const Point& point = experiment.points.front();
  Workloads workloads;
  const Setup setup = make_setup(point.spec, workloads);
  const SimulateOptions options = simulate_options(point.spec.runs, available_threads());
  const std::vector<PolicySpec> policies = with_baselines(point.spec.policies);
  std::vector<StepView> views;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (progress) progress(i, policies.size(), "timeline of " + label(policies[i]));
    if (i >= result.results.size() || result.results[i].deadlock) continue;
    const plan::Plan plan = make_plan(setup, policies[i], options.seed);
    views.push_back(
        step_view({label(policies[i]), i, setup, plan, record_step(setup, plan, options)}, options, most_bars));
  }
  return views;
}

}  // namespace stretto::experiment
