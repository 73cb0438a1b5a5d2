// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/statistics.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/idealise.hpp"
#include "experiment/setup/order_options.hpp"
#include "schedulers/policies/registry.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"

namespace stretto::experiment {

namespace {

using analysis::Cause;
using analysis::CauseSet;

constexpr std::uint32_t kTrials = 3;  // replications that choose the best order

constexpr CauseSet bit(Cause cause) { return CauseSet{1} << static_cast<unsigned>(cause); }
constexpr CauseSet kProgramCauses = bit(Cause::Links) | bit(Cause::Servers) | bit(Cause::SlowWorkers);

bool same_layout(const plan::Layout& a, const plan::Layout& b) {
  const auto equal = [](const plan::Transfer& x, const plan::Transfer& y) {
    return x.parameter == y.parameter && x.slice == y.slice && x.bytes == y.bytes && x.server == y.server;
  };
  return a.servers == b.servers && a.first == b.first && a.bucket == b.bucket && a.split == b.split &&
         std::equal(a.transfers.begin(), a.transfers.end(), b.transfers.begin(), b.transfers.end(), equal);
}

// Replays of all sets of causes that share one program.
class ProgramReplays {
 public:
  ProgramReplays(const Setup& setup, const std::vector<plan::Plan>& orders, const SimulateOptions& options,
                 std::uint32_t replications, CauseSet causes)
      : orders_(orders), options_(options), replications_(replications), causes_(causes) {
    Setup base = idealise(setup, causes);
    // One worker cannot stand for all where links are idealised.
    base.training.all_reduce.aggregate = false;
    check_size(base, orders.front().layout);
    compiled_ = training::compile(*base.graph, base.cluster, orders.front().layout, base.training);
    idealise(compiled_, causes);
    for (const CauseSet more : {CauseSet{0}, bit(Cause::Noise)}) setups_.push_back(idealise(setup, causes | more));
  }

  void run(Replays& out) {
    const std::vector<std::size_t> best = choose_orders();
    std::vector<Task> tasks;
    for (std::size_t noise = 0; noise < 2; ++noise)
      for (const bool ordered : {false, true}) {
        const std::size_t order = ordered ? best[noise] : 0;
        const CauseSet set = causes_ | (noise == 1 ? bit(Cause::Noise) : 0) | (ordered ? bit(Cause::Order) : 0);
        out.times[set].assign(replications_, 0);
        if (set == bit(Cause::Order)) out.best_order = order;
        if (set == analysis::kAllCauses) out.best_order_left = order;
        for (std::uint32_t r = 0; r < runs(noise, order); ++r) tasks.push_back({noise, order, r, set, 0, {}});
      }
    run_all(tasks);
    for (const Task& task : tasks) {
      if (task.deadlock) out.deadlock = task.deadlock;
      std::vector<double>& times = out.times[task.set];
      times[task.replication] = task.time;
      if (runs(task.noise, task.order) == 1) std::fill(times.begin(), times.end(), task.time);
    }
  }

 private:
  struct Task {
    std::size_t noise = 0;  // 1: idealised
    std::size_t order = 0;
    std::uint32_t replication = 0;
    CauseSet set = 0;
    double time = 0;
    std::optional<std::string> deadlock;
  };

  // Replications that differ.
  std::uint32_t runs(std::size_t noise, std::size_t order) const {
    return is_random(setups_[noise], orders_[order]) ? replications_ : 1;
  }

  void run_all(std::vector<Task>& tasks) const {
    parallel_for(tasks.size(), options_.threads, [&](std::size_t i) {
      Task& task = tasks[i];
      const Replay done = replay(setups_[task.noise], orders_[task.order], compiled_, options_, task.replication);
      task.time = done.mean_step;
      task.deadlock = done.deadlock;
    });
  }

  // With noise and without: the order of least mean time in the trials, the first of equal ones.
  std::vector<std::size_t> choose_orders() const {
    std::vector<Task> tasks;
    for (std::size_t noise = 0; noise < 2; ++noise)
      for (std::size_t order = 0; order < orders_.size() && orders_.size() > 1; ++order)
        for (std::uint32_t r = 0; r < std::min(kTrials, runs(noise, order)); ++r)
          tasks.push_back({noise, order, r, 0, 0, {}});
    run_all(tasks);
    std::vector<std::size_t> best(2, 0);
    for (std::size_t noise = 0; noise < 2; ++noise) {
      double least = 0;
      for (std::size_t order = 0; order < orders_.size(); ++order) {
        std::vector<double> times;
        bool stuck = false;
        for (const Task& task : tasks)
          if (task.noise == noise && task.order == order) {
            times.push_back(task.time);
            stuck = stuck || task.deadlock;
          }
        if (times.empty() || stuck) continue;
        const double time = analysis::mean(times);
        if (least > 0 && time >= least) continue;
        least = time;
        best[noise] = order;
      }
    }
    return best;
  }

  const std::vector<plan::Plan>& orders_;
  const SimulateOptions& options_;
  const std::uint32_t replications_;
  const CauseSet causes_;
  training::Compiled compiled_;
  std::vector<Setup> setups_;  // as it is and without noise
};

analysis::NamedPath path_of(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options,
                            CauseSet causes) {
  Setup ideal = idealise(setup, causes);
  ideal.training.all_reduce.aggregate = false;
  training::Compiled compiled = training::compile(*ideal.graph, ideal.cluster, plan.layout, ideal.training);
  idealise(compiled, causes);
  return named_path(ideal, plan, compiled, step_path(ideal, plan, compiled, options));
}

// The plan itself, then the other orders of its layout.
std::vector<plan::Plan> orders_for(const Setup& setup, const Spec& spec, const PolicySpec& policy) {
  std::vector<plan::Plan> orders{make_plan(setup, policy, spec.runs.seed)};
  orders.front().policy = label(policy);
  std::vector<PolicySpec> others = spec.policies;
  for (const char* name : {"fifo", "tic", "tac"}) others.push_back({name, {}, {}});
  for (const PolicySpec& other : others) {
    const std::string name = label(other);
    if (std::any_of(orders.begin(), orders.end(), [&](const plan::Plan& p) { return p.policy == name; })) continue;
    plan::Plan plan = make_plan(setup, other, spec.runs.seed);
    if (!same_layout(plan.layout, orders.front().layout)) continue;
    plan.policy = name;
    orders.push_back(std::move(plan));
  }
  return orders;
}

// Policies of the point that are asked for, in its order.
std::vector<PolicySpec> asked(const Spec& spec, const std::vector<std::string>& names) {
  if (names.empty()) return {spec.policies.front()};
  std::vector<PolicySpec> found;
  std::vector<std::string> known;
  for (const PolicySpec& p : spec.policies) {
    known.push_back(label(p));
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return name == p.name || name == label(p); }))
      found.push_back(p);
  }
  for (const std::string& name : names) {
    if (std::any_of(spec.policies.begin(), spec.policies.end(),
                    [&](const PolicySpec& p) { return name == p.name || name == label(p); }))
      continue;
    const std::string near = nearest_name(name, known);
    std::string all;
    for (const std::string& k : known) all += (all.empty() ? "it has " : ", ") + k;
    throw UserError(fmt::format("--policy: the experiment has no policy '{}'", name),
                    near.empty() ? all : fmt::format("did you mean '{}'?", near));
  }
  return found;
}

analysis::AttributedPolicy attribute_policy(const Setup& setup, const Point& point, const PolicySpec& policy,
                                            const std::function<void()>& tick) {
  const SimulateOptions options = simulate_options(point.spec.runs, available_threads());
  const std::vector<plan::Plan> orders = orders_for(setup, point.spec, policy);
  analysis::AttributedPolicy result;
  result.policy = label(policy);
  result.vary = point.vary;
  const Replays replays = replay_causes(setup, orders, options, tick);
  if (replays.deadlock) {
    result.deadlock = replays.deadlock;
    return result;
  }
  result.attribution = analysis::attribute(replays.times);
  result.best_order = orders[replays.best_order].policy;
  for (const plan::Plan& plan : orders) result.tried.push_back(plan.policy);
  result.start_offsets = std::any_of(orders.begin(), orders.end(),
                                     [](const plan::Plan& plan) { return !plan.order.start_offsets.empty(); });
  result.may_be_staggered =
      setup.training.exchange == training::Exchange::ParameterServer && setup.cluster.workers.size() > 1;
  result.path = path_of(setup, orders.front(), options, analysis::kNoCause);
  result.left_path = path_of(setup, orders[replays.best_order_left], options, analysis::kAllCauses);
  return result;
}

}  // namespace

analysis::NamedPath named_path(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                               const analysis::CriticalPath& path) {
  analysis::NamedPath out;
  out.step_s = (path.end - path.begin).seconds();
  const analysis::PathParts total = path.total();
  for (std::size_t k = 0; k < total.size(); ++k) out.total_s[k] = total[k].seconds();
  for (const analysis::PathLink& link : path.links) {
    analysis::NamedLink n;
    n.name = training::describe(compiled, *setup.graph, plan.layout, program::ActivityId(link.activity));
    n.from_s = (link.from - path.begin).seconds();
    n.to_s = (link.to - path.begin).seconds();
    for (std::size_t k = 0; k < total.size(); ++k) n.parts_s[k] = link.parts[k].seconds();
    out.links.push_back(std::move(n));
  }
  return out;
}

Replays replay_causes(const Setup& setup, const std::vector<plan::Plan>& orders, const SimulateOptions& options,
                      const std::function<void()>& tick) {
  Replays out;
  const Measured base = simulate(setup, orders.front(), options);
  if (base.deadlock) {
    out.deadlock = base.deadlock;
    return out;
  }
  out.times.resize(analysis::kCauseSets);
  // Where only another order draws, the run itself needs no replications, its replays do.
  const bool drawn =
      std::any_of(orders.begin(), orders.end(), [&](const plan::Plan& p) { return is_random(setup, p); });
  const auto replications =
      std::max(static_cast<std::uint32_t>(base.means.size()), drawn ? std::max(options.min_replications, 1U) : 1U);
  for (CauseSet causes = 0; causes <= analysis::kAllCauses && !out.deadlock; ++causes) {
    if ((causes & ~kProgramCauses) != 0) continue;
    if (tick) tick();
    ProgramReplays(setup, orders, options, replications, causes).run(out);
  }
  return out;
}

analysis::AttributionResult attribute(const Experiment& experiment, const std::vector<std::string>& policies,
                                      const Progress& progress) {
  analysis::AttributionResult result;
  result.name = experiment.points.front().spec.name;
  result.seed = experiment.points.front().spec.runs.seed;
  Workloads workloads;
  std::size_t total = 0;
  for (const Point& point : experiment.points) total += asked(point.spec, policies).size();
  for (const Point& point : experiment.points) {
    const Setup setup = make_setup(point.spec, workloads);
    for (const PolicySpec& policy : asked(point.spec, policies)) {
      const std::size_t before = result.results.size() * kTicks;
      std::size_t ticks = 0;
      const auto tick = [&] {
        if (progress) progress(before + ticks++, total * kTicks, label(policy));
      };
      result.results.push_back(attribute_policy(setup, point, policy, tick));
    }
  }
  return result;
}

}  // namespace stretto::experiment
