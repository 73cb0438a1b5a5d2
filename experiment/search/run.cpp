// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/statistics.hpp"
#include "config/units_text.hpp"
#include "experiment/bounds/step_facts.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/search/evaluator.hpp"
#include "experiment/search/left_out.hpp"
#include "experiment/search/starts.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/cluster/topology.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "schedulers/search/bayes.hpp"
#include "schedulers/search/placement.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

using search::kAbove;

constexpr std::size_t kBayesPoints = 18;
// Fixed, so that the answer does not depend on the machine.
constexpr std::size_t kStartsAtOnce = 8;
// A layout this much slower than the best is not told from one that is slower still.
constexpr double kFarWorse = 1.3;
// Steady steps are fewer where one evaluation would simulate more activities than this.
constexpr std::uint64_t kManyActivities = 150'000;
constexpr std::uint64_t kPlacementTries = 2'000;
constexpr std::int64_t kDeepCredit = 4;  // messages to each server
// A layout with more slices takes too long for what it can gain.
constexpr std::size_t kMaxTransfers = 200'000;

// A layout with its best starting order.
struct Candidate {
  Setup setup;  // with the reduced graph
  std::string text;
  plan::Order order;
  std::string order_name;
  Duration cost = kAbove;
};

class Search {
 public:
  Search(const Experiment& experiment, const SearchRunOptions& options)
      : spec_(experiment.points.front().spec), options_(options), policies_(with_baselines(spec_.policies)) {
    if (experiment.points.size() > 1)
      throw UserError(fmt::format("the experiment varies over {} points; a search takes one", experiment.points.size()),
                      "leave `vary` out, or set its paths with --set");
    begin_ = options_.clock();
    full_ = make_setup(spec_, workloads_);
    base_ = reduced(full_);
    result_.ops = full_.graph->ops.size();
    result_.reduced_ops = base_.graph->ops.size();
    evaluator_options_.iterations = spec_.runs.iterations;
    evaluator_options_.warm_up = spec_.runs.warm_up;
    evaluator_options_.seed = options_.seed;
    starting_ = policies_;
    for (const std::uint32_t n : spec_.search.group.list) starting_.push_back(in_groups(n));
    for (const std::uint32_t n : spec_.search.window.list)
      for (PolicySpec& policy : with_window(n)) starting_.push_back(std::move(policy));
    facts_ = step_facts(base_);
    facts_.one_order = !spec_.search.window.range() && all_orders(pulls_in_one_order);
    facts_.alike = facts_.one_order && spec_.search.group.none() &&
                   all_orders([&](const plan::Order& order) { return all_alike(base_, order); });
  }

  SearchResult run() {
    search_layouts();
    search_orders();
    report();
    return std::move(result_);
  }

  const graph::Graph& graph() const { return *full_.graph; }

 private:
  bool all_reduce() const { return full_.training.exchange == training::Exchange::AllReduce; }

  double elapsed() const { return options_.clock() - begin_; }

  // Does it hold for all orders that may be kept? Those that are drawn anew in each step are only compared with.
  bool all_orders(const std::function<bool(const plan::Order&)>& holds) const {
    return std::all_of(starting_.begin(), starting_.end(), [&](const PolicySpec& policy) {
      const plan::Order order = make_plan(base_, policy, spec_.runs.seed).order;
      return is_unordered(order) || holds(order);
    });
  }

  bool go_on(const std::string& stage) {
    if (result_.stopped) return false;
    if (!options_.progress) return true;
    SearchProgress p;
    p.stage = stage;
    if (best_.cost != kAbove) p.best_s = best_.cost.seconds();
    p.evaluations = evaluations_;
    p.seconds = elapsed();
    result_.stopped = !options_.progress(p);
    return !result_.stopped;
  }

  bool layouts_may_go_on(const std::string& stage) {
    const bool budget = options_.seconds ? elapsed() < *options_.seconds / 2 : evaluations_ < options_.evaluations / 2;
    return budget && go_on(stage);
  }

  // One message in flight, or what keeps all servers busy, or some to each; with latency, what is under way besides.
  std::vector<Bytes> credits(const Setup& setup) const {
    if (all_reduce()) {
      std::vector<Bytes> list = spec_.search.credit.list;
      list.insert(list.begin(), Bytes(1));
      return list;
    }
    Bytes largest;
    for (const plan::Transfer& t : setup.layout.transfers) largest = std::max(largest, t.bytes);
    const auto servers = static_cast<std::int64_t>(setup.cluster.servers.size());
    std::vector<Bytes> list{Bytes(1)};
    if (servers > 1) list.push_back(largest * servers);
    // Workers that move in step use one server after the other unless several messages to each are under way.
    if (servers > 1 && setup.cluster.workers.size() > 1) list.push_back(largest * servers * kDeepCredit);
    if (setup.cluster.network.latency > Duration()) {
      const double rate = cluster::pull_rate(setup.cluster, 0, 0).bytes_per_ps();
      const double flight = 2 * rate * static_cast<double>(setup.cluster.network.latency.ps());
      if (std::isfinite(flight) && flight >= 1) list.push_back(largest + Bytes(std::llround(flight)));
    }
    list.insert(list.end(), spec_.search.credit.list.begin(), spec_.search.credit.list.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  // The closed form where it holds for all starts.
  std::unique_ptr<search::Evaluator> make_evaluator(const Setup& setup, std::vector<search::Start>& starts) const {
    if (auto closed = make_closed_form_evaluator(setup)) {
      std::erase_if(starts, [](const search::Start& s) {
        return s.order.pull.discipline != plan::Discipline::Strict || !s.order.start_offsets.empty();
      });
      return closed;
    }
    EvaluatorOptions options = evaluator_options_;
    if (!setup.training.barrier) {
      options.snapshots = 0;  // orders differ from the first step on
      const std::uint64_t step = training::most_activities(*setup.graph, setup.cluster, setup.layout, setup.training);
      if (step * (options.steady_warm_up + options.steady_steps) > kManyActivities) {
        options.steady_warm_up = 2;
        options.steady_steps = 4;
      }
    }
    return make_engine_evaluator(setup, options);
  }

  // Evaluates the starting orders of the setup's layout, until one meets its bound.
  Candidate judge(const Setup& setup, const std::string& text, std::vector<search::Start> starts, Duration limit) {
    Candidate candidate{setup, text, {}, "", kAbove};
    const auto evaluator = make_evaluator(setup, starts);
    std::vector<std::unique_ptr<search::Evaluator>> evaluators;
    while (evaluators.size() < std::max<std::size_t>(1, std::min(options_.threads, starts.size())))
      evaluators.push_back(evaluator->clone());
    const Duration bound = lower_bound(setup, facts_).value.value_or(Duration()) + rounding(setup);
    for (std::size_t first = 0; first < starts.size() && candidate.cost > bound; first += kStartsAtOnce) {
      std::vector<plan::Order> orders;
      for (std::size_t i = first; i < std::min(first + kStartsAtOnce, starts.size()); ++i)
        orders.push_back(starts[i].order);
      const std::vector<Duration> costs = search::evaluate_all(evaluators, orders, std::min(limit, candidate.cost));
      evaluations_ += orders.size();
      for (std::size_t i = 0; i < costs.size(); ++i)
        if (costs[i] < candidate.cost) {
          candidate.cost = costs[i];
          candidate.order = orders[i];
          candidate.order_name = starts[first + i].name;
        }
    }
    return candidate;
  }

  void keep(Candidate candidate) {
    LayoutTried tried{candidate.text, std::nullopt};
    if (candidate.cost != kAbove) tried.step_s = candidate.cost.seconds();
    result_.layouts.push_back(tried);
    if (result_.layouts.size() == 1 || candidate.cost < best_.cost) best_ = std::move(candidate);
  }

  void try_layout(const Setup& setup, const std::string& text) {
    if (setup.layout.transfers.size() > kMaxTransfers) {
      if (result_.layouts.empty())
        throw UserError(fmt::format("the layout has {} transfers, more than the {} that a search takes",
                                    setup.layout.transfers.size(), kMaxTransfers),
                        "larger slices, or fewer parts");
      return;
    }
    keep(judge(setup, text, make_starts(setup, starting_, credits(setup), spec_.runs.seed), kAbove));
  }

  // Cut as the experiment's section says; collectives of slices are not fused.
  static void cut(Setup& setup, Bytes limit) {
    setup.layout = plan::partition(setup.layout, limit);
    if (setup.training.exchange == training::Exchange::AllReduce) plan::fuse(*setup.graph, setup.layout, Bytes());
  }

  // The experiment's own layout with each number of servers.
  std::vector<Setup> placed_setups() const {
    std::vector<Setup> setups{base_};
    for (const std::uint32_t n : spec_.search.servers) {
      if (n == base_.cluster.servers.size()) continue;
      Setup setup = base_;
      const auto cluster = cluster::with_servers(setup.cluster, n);
      if (!cluster)
        throw UserError(
            fmt::format("search.servers: {} servers do not fit on the hosts of {} workers or in the topology", n,
                        setup.cluster.workers.size()),
            "fewer servers, more per host, servers that are not colocated, or another topology");
      setup.cluster = *cluster;
      place(setup);
      setups.push_back(std::move(setup));
    }
    return setups;
  }

  void search_layouts() {
    const std::vector<Setup> setups = placed_setups();
    const auto servers = [&](const Setup& setup) {
      const auto n = setup.cluster.servers.size();
      return setups.size() == 1 ? "" : fmt::format(", {} server{}", n, n == 1 ? "" : "s");
    };
    try_layout(base_, (all_reduce() ? "as fused" : "as placed") + servers(base_));
    try_policies();
    for (const Setup& setup : setups) {
      if (&setup != &setups.front() && layouts_may_go_on("layouts")) try_layout(setup, "as placed" + servers(setup));
      for (const Bytes limit : spec_.search.partition.list) {
        if (!layouts_may_go_on("layouts")) return;
        Setup finer = setup;
        cut(finer, limit);
        try_layout(finer, fmt::format("partition {}{}", config::format_bytes(limit), servers(setup)));
      }
    }
    for (const Bytes limit : spec_.search.fusion.list) {
      if (!layouts_may_go_on("layouts")) return;
      try_layout(fused(limit), "fusion " + config::format_bytes(limit));
    }
    // Slices are not fused, so that one of the two is searched at a time.
    for (const Of layout : {Of::Partition, Of::Fusion}) {
      const std::vector<Axis> axes = axes_with(layout);
      if (!axes.empty() && (axes.front().of == layout || layout == Of::Partition)) search_ranges(axes);
    }
    if (spec_.search.placement) search_placement();
  }

  Setup fused(Bytes limit) const {
    Setup setup = base_;
    setup.fusion = limit;
    place(setup);
    return setup;
  }

  // Layouts that the policies bring. Their own order is always judged, so that no policy is better than what is found.
  void try_policies() {
    for (const PolicySpec& policy : policies_) {
      plan::Plan plan = make_plan(base_, policy, spec_.runs.seed);
      if (same_layout(plan.layout, base_.layout) || plan.layout.transfers.size() > kMaxTransfers) continue;
      Setup setup = base_;
      setup.layout = plan.layout;
      std::vector<search::Start> starts;
      if (!is_unordered(plan.order)) starts.push_back({label(policy), plan.order});
      if (layouts_may_go_on("layouts") || starts.empty())
        for (search::Start& s : make_few_starts(setup, credits(setup))) starts.push_back(std::move(s));
      if (result_.stopped) return;
      keep(judge(setup, fmt::format("that of {}", label(policy)), std::move(starts), kAbove));
    }
  }

  enum class Of : std::uint8_t { Partition, Fusion, Credit, Group, Window };

  // A range of the section, on a logarithmic scale.
  struct Axis {
    Of of;
    std::int64_t min;
    std::int64_t max;

    std::int64_t at(double x) const {
      const double low = std::log(static_cast<double>(min));
      const double high = std::log(static_cast<double>(max));
      const double value = std::exp(low + x * (high - low));
      // Bytes are whole elements of 4 bytes.
      const bool count = of == Of::Group || of == Of::Window;
      return std::clamp<std::int64_t>(count ? std::llround(value) : std::llround(value / 4) * 4, min, max);
    }
  };

  // All ranges but that of the other way to make layouts; the layout's comes first.
  std::vector<Axis> axes_with(Of layout) const {
    std::vector<Axis> axes;
    const auto sizes = [&](Of of, const SizesSpec& s) {
      if (s.range()) axes.push_back({of, s.min.count(), s.max.count()});
    };
    const auto counts = [&](Of of, const CountsSpec& s) {
      if (s.range()) axes.push_back({of, s.min, s.max});
    };
    sizes(layout, layout == Of::Partition ? spec_.search.partition : spec_.search.fusion);
    sizes(Of::Credit, spec_.search.credit);
    counts(Of::Group, spec_.search.group);
    counts(Of::Window, spec_.search.window);
    return axes;
  }

  // One point of the ranges: a layout, and the orders that it is judged by.
  struct Point {
    Setup setup;
    std::string text;
    std::vector<search::Start> starts;
  };

  Point point_at(const Setup& start, const std::vector<Axis>& axes, std::span<const double> x) const {
    Point point{start, "", {}};
    Setup& setup = point.setup;
    std::vector<Bytes> list = credits(setup);
    std::optional<std::uint32_t> group;
    std::optional<std::uint32_t> window;
    const auto say = [&](const char* name, const std::string& value) {
      point.text += fmt::format("{}{} {}", point.text.empty() ? "" : ", ", name, value);
    };
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t value = axes[i].at(x[i]);
      switch (axes[i].of) {
        case Of::Partition:
          setup.layout = start.cluster.servers.size() == base_.cluster.servers.size() ? base_.layout : start.layout;
          cut(setup, Bytes(value));
          say("partition", config::format_bytes(Bytes(value)));
          break;
        case Of::Fusion:
          setup = fused(Bytes(value));
          say("fusion", config::format_bytes(Bytes(value)));
          break;
        case Of::Credit:
          list = {Bytes(value)};
          say("credit", config::format_bytes(Bytes(value)));
          break;
        case Of::Group:
          group = static_cast<std::uint32_t>(value);
          say("group", std::to_string(value));
          break;
        case Of::Window:
          window = static_cast<std::uint32_t>(value);
          say("window", std::to_string(value));
          break;
      }
    }
    if (setup.layout.transfers.size() > kMaxTransfers) return point;
    if (window)
      for (const PolicySpec& policy : with_window(*window))
        point.starts.push_back({label(policy), make_plan(setup, policy, spec_.runs.seed).order});
    else
      point.starts = make_few_starts(setup, list);
    if (group) {
      const plan::Order staggered = make_plan(setup, in_groups(*group), spec_.runs.seed).order;
      for (search::Start& s : point.starts) s.order.start_offsets = staggered.start_offsets;
    }
    return point;
  }

  // Bayesian optimisation over the logarithms of the ranges.
  void search_ranges(const std::vector<Axis>& axes) {
    const Setup start = best_.setup;
    search::BayesOptions bayes;
    bayes.evaluations = kBayesPoints;
    bayes.initial = 6;
    bayes.seed = options_.seed;
    search::minimise(
        axes.size(),
        [&](std::span<const double> x) {
          Point point = point_at(start, axes, x);
          const Duration limit = best_.cost == kAbove ? kAbove : best_.cost.scaled(kFarWorse);
          const double far = limit == kAbove ? 0 : std::log(limit.seconds());
          if (point.starts.empty()) return far;
          Candidate candidate = judge(point.setup, point.text, std::move(point.starts), limit);
          const double cost = candidate.cost == kAbove ? far : std::log(candidate.cost.seconds());
          keep(std::move(candidate));
          return cost;
        },
        bayes, [&] { return layouts_may_go_on("ranges"); });
  }

  void search_placement() {
    if (best_.setup.cluster.servers.size() < 2 || best_.cost == kAbove) return;
    search::PlacementOptions placement;
    placement.tries = kPlacementTries;
    placement.evaluations = options_.seconds ? kPlacementTries : options_.evaluations / 4;
    placement.seed = options_.seed;
    placement.continue_search = [&] { return layouts_may_go_on("placement"); };
    const auto with = [&](const plan::Layout& layout) {
      Setup setup = best_.setup;
      setup.layout = layout;
      return setup;
    };
    const plan::Order order = best_.order;
    const search::PlacementResult found = search::search_placement(
        best_.setup.layout, best_.cost, placement,
        [&](const plan::Layout& layout) { return lower_bound(with(layout), facts_).value.value_or(Duration()); },
        [&](const plan::Layout& layout, Duration limit) {
          ++evaluations_;
          return make_engine_evaluator(with(layout), evaluator_options_)->evaluate(order, limit);
        });
    if (found.cost >= best_.cost) return;
    Candidate candidate = best_;
    candidate.setup = with(found.layout);
    candidate.text += ", variables moved";
    candidate.cost = found.cost;
    keep(std::move(candidate));
  }

  void search_orders() {
    const Setup& setup = best_.setup;
    std::vector<search::Start> starts;
    if (best_.cost != kAbove) starts.push_back({best_.order_name, best_.order});
    for (search::Start& s : make_starts(setup, spec_.search.order ? starting_ : std::vector<PolicySpec>{},
                                        credits(setup), spec_.runs.seed))
      starts.push_back(std::move(s));
    const auto evaluator = make_evaluator(setup, starts);
    if (!spec_.search.order) starts.resize(1);
    const bounds::Bound bound = lower_bound(setup, facts_);
    const std::optional<search::Relaxation> relaxation = make_relaxation(setup);
    search::Problem problem;
    problem.evaluator = evaluator.get();
    problem.layout = &setup.layout;
    problem.starts = std::move(starts);
    problem.bound = bound.value;
    problem.bound_name = bound.name;
    problem.rounding = rounding(setup);
    problem.relaxation = relaxation ? &*relaxation : nullptr;
    search::Options search_options;
    search_options.methods = spec_.search.order ? spec_.search.methods : std::vector<std::string>{"portfolio"};
    search_options.seed = options_.seed;
    search_options.threads = options_.threads;
    search_options.evaluations = options_.evaluations - std::min(options_.evaluations, evaluations_);
    if (options_.seconds) search_options.time_used = [&] { return elapsed() / *options_.seconds; };
    const std::uint64_t before = evaluations_;
    search_options.after_round = [&](const search::State& state) {
      evaluations_ = before + state.evaluations;
      if (!options_.progress) return true;
      SearchProgress p;
      const std::vector<std::string> names = search::method_names();
      p.stage = state.found_by;
      if (state.cost != kAbove) p.best_s = state.cost.seconds();
      if (state.bound) p.bound_s = state.bound->seconds();
      p.evaluations = evaluations_;
      p.seconds = elapsed();
      p.state = &state;
      result_.stopped = !options_.progress(p);
      return !result_.stopped;
    };
    state_ = options_.resume ? *options_.resume : search::State();
    check_fits(setup.layout, problem);
    if (!result_.stopped || state_.cost == kAbove) state_ = search::search(problem, search_options, std::move(state_));
    evaluations_ = before + state_.evaluations;
    result_.optimal = search::is_optimal(problem, state_);
    result_.bound_name = state_.bound ? state_.bound_name : "";
    if (state_.bound)
      result_.bound_s.value = state_.bound->seconds();
    else
      result_.bound_s.reason = result_.gap.reason = bound.reason;
    if (state_.cost == kAbove)
      throw UserError("every order that was tried ends in a deadlock", "`stretto run` says who waits for what");
  }

  static bool credit_fits(const plan::Layout& layout, const plan::DirectionOrder& d) {
    return !plan::has_credit(d.discipline) || (d.credit > Bytes() && !plan::too_large_for_credit(layout, d));
  }

  // A checkpoint comes from a file.
  void check_fits(const plan::Layout& layout, const search::Problem& problem) const {
    const auto fits = [&](const plan::DirectionOrder& d) {
      const bool ranked = plan::traits(d.discipline).ranks;
      const bool window = plan::has_window(d.discipline);
      return d.rank.size() == (ranked ? layout.transfers.size() : 0) && (!window || d.window > 0) &&
             credit_fits(layout, d) &&
             std::all_of(d.alternatives.begin(), d.alternatives.end(),
                         [&](const auto& ranks) { return ranks.size() == layout.transfers.size(); });
    };
    const auto order_fits = [&](const plan::Order& order) {
      const std::size_t offsets = order.start_offsets.size();
      return fits(order.pull) && fits(order.push) && (offsets == 0 || offsets == full_.cluster.workers.size());
    };
    const bool good = order_fits(state_.best) &&
                      (state_.starts.empty() || state_.starts.size() == problem.starts.size()) &&
                      (state_.walkers.empty() || state_.walkers.size() == search::walkers()) &&
                      std::all_of(state_.walkers.begin(), state_.walkers.end(),
                                  [&](const search::Walker& w) { return order_fits(w.order); });
    if (!good) throw UserError("the checkpoint does not fit the experiment", "start the search without --resume");
  }

  // What the simulator may round in one step.
  static Duration rounding(const Setup& setup) {
    return Duration::ps(10 + 4 * static_cast<std::int64_t>(setup.layout.transfers.size()));
  }

  void report() {
    Setup found = full_;
    found.cluster = best_.setup.cluster;
    found.layout = best_.setup.layout;
    plan::Plan plan{"search", found.layout, state_.best};
    const SimulateOptions simulation = simulate_options(spec_.runs, options_.threads);
    const Measured measured = simulate(found, plan, simulation);
    if (is_random(found, plan)) result_.optimal = false;
    const analysis::Estimate e = analysis::mean_interval(measured.means);
    result_.step_s = e.mean;
    result_.ci95_low_s = e.ci95_low;
    result_.ci95_high_s = e.ci95_high;
    result_.replications = measured.means.size();
    for (const PolicySpec& policy : policies_) {
      const Measured other = simulate(full_, make_plan(full_, policy, spec_.runs.seed), simulation);
      SearchedPolicy row{label(policy), std::nullopt, {}};
      if (other.deadlock) {
        row.gain.reason = "deadlock";
      } else {
        row.step_s = other.mean();
        row.gain.estimate = paired_gain(other.means, measured.means);
      }
      result_.policies.push_back(std::move(row));
    }
    if (result_.bound_s.value && *result_.bound_s.value > 0)
      result_.gap.value = result_.optimal ? 0 : result_.step_s / *result_.bound_s.value - 1;
    else if (result_.gap.reason.empty())
      result_.gap.reason = "the bound is 0";
    const bounds::Bound any = any_layout_lower_bound(found);
    if (any.value)
      result_.any_layout_bound_s.value = any.value->seconds();
    else
      result_.any_layout_bound_s.reason = any.reason;
    result_.workload = full_.graph->name;
    result_.plan = std::move(plan);
    result_.layout = best_.text;
    result_.found_by = state_.found_by;
    result_.evaluations = evaluations_;
    result_.seconds = elapsed();
    result_.reproducible = !options_.seconds && !result_.stopped;
    describe();
    const bool together = all_orders([](const plan::Order& order) { return order.start_offsets.empty(); });
    result_.not_searched = left_out(spec_, found, together, result_.step_s, simulation);
  }

  void describe() {
    const auto workers = full_.cluster.workers.size();
    const auto servers = best_.setup.cluster.servers.size();
    result_.setup = fmt::format(
        "{} {}, {} worker{}, {}, {} barrier", full_.graph->name,
        full_.training.mode == training::Mode::Training ? "training" : "inference", workers, workers == 1 ? "" : "s",
        all_reduce() ? exchange_text(spec_) : fmt::format("{} server{}", servers, servers == 1 ? "" : "s"),
        full_.training.barrier ? "with" : "without");
    if (result_.optimal)
      result_.proven.push_back(
          fmt::format("No order is better with this layout: the step takes no longer than the lower bound ({}).",
                      result_.bound_name));
    else if (result_.gap.value)
      result_.proven.push_back(
          fmt::format("With this layout no order can be more than {:.2f} % faster: the lower bound "
                      "({}) is {:.6g} s.",
                      100 * *result_.gap.value, result_.bound_name, *result_.bound_s.value));
    else
      result_.proven.push_back(fmt::format("Nothing is proven: {}.", result_.gap.reason));
    if (result_.any_layout_bound_s.value && *result_.any_layout_bound_s.value > 0)
      result_.proven.push_back(
          fmt::format("No layout{} can be more than {:.2f} % faster.", all_reduce() ? "" : " on these servers",
                      100 * std::max(0.0, result_.step_s / *result_.any_layout_bound_s.value - 1)));
  }

  const Spec& spec_;
  const SearchRunOptions& options_;
  std::vector<PolicySpec> policies_;
  std::vector<PolicySpec> starting_;  // policies, and those of search.group and search.window
  double begin_ = 0;
  Workloads workloads_;
  Setup full_;
  Setup base_;
  bounds::Facts facts_;  // of base_, from which all tried setups come, and of all orders that are tried
  EvaluatorOptions evaluator_options_;
  Candidate best_;
  search::State state_;
  std::uint64_t evaluations_ = 0;
  SearchResult result_;
};

}  // namespace

SearchResult search_plan(const Experiment& experiment, const SearchRunOptions& options, graph::Graph* graph) {
  Search search(experiment, options);
  SearchResult result = search.run();
  if (graph != nullptr) *graph = search.graph();
  return result;
}

}  // namespace stretto::experiment
