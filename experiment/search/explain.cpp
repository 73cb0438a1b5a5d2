// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "experiment/bounds/step_facts.hpp"
#include "experiment/search/evaluator.hpp"
#include "experiment/search/starts.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/import/schedule.hpp"
#include "io/json/writer.hpp"
#include "models/graph/order.hpp"
#include "models/plan/fusion.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

using plan::Discipline;
using plan::kUnranked;
using Sequence = std::vector<std::uint32_t>;  // variables, or transfers

// Changes that move the step by less are not told from none in words.
constexpr double kNothing = 5e-5;

class Explainer {
 public:
  Explainer(const Experiment& experiment, const std::string& path, std::size_t moves)
      : spec_(experiment.points.front().spec), moves_(moves) {
    if (experiment.points.size() > 1)
      throw UserError(
          fmt::format("the experiment varies over {} points; a schedule is explained at one", experiment.points.size()),
          "leave `vary` out, or set its paths with --set");
    setup_ = make_setup(spec_, workloads_);
    own_layout_ = setup_.layout;
    plan_ = io::read_schedule(path, *setup_.graph,
                              {static_cast<std::uint32_t>(setup_.cluster.servers.size()),
                               static_cast<std::uint32_t>(setup_.cluster.workers.size())})
                .plan;
    check_size(setup_, plan_.layout);
    setup_.layout = plan_.layout;
    fast_ = reduced(setup_);
    options_.iterations = spec_.runs.iterations;
    options_.warm_up = spec_.runs.warm_up;
    options_.seed = spec_.runs.seed;
    evaluator_ = make_engine_evaluator(fast_, options_);
  }

  Explanation run() {
    const Duration cost = evaluator_->evaluate(plan_.order);
    if (cost == search::kAbove) throw UserError("a step of this schedule never ends", "`stretto verify` says why");
    step_ = cost.seconds();
    result_.workload = setup_.graph->name;
    result_.policy = plan_.policy;
    result_.step_s = step_;
    evaluator_->expect_near(plan_.order);
    if (!all_reduce() || plan_.layout.split) explain_moves(false);
    if (setup_.training.mode == training::Mode::Training) explain_moves(true);
    explain_changes();
    explain_bound();
    say();
    return std::move(result_);
  }

 private:
  bool all_reduce() const { return setup_.training.exchange == training::Exchange::AllReduce; }
  const plan::DirectionOrder& direction(bool push) const { return push ? plan_.order.push : plan_.order.pull; }

  plan::Order policy_order(const char* name) const {
    PolicySpec policy;
    policy.name = name;
    return make_plan(setup_, policy, spec_.runs.seed).order;
  }

  // Variables in the order of their first slice.
  Sequence variables_by(const std::vector<std::uint32_t>& rank) const {
    const std::size_t n = setup_.graph->parameters.size();
    std::vector<std::uint32_t> first(n, kUnranked);
    for (std::uint32_t t = 0; t < rank.size(); ++t) {
      std::uint32_t& least = first[plan_.layout.transfers[t].parameter.index()];
      least = std::min(least, rank[t]);
    }
    Sequence sequence;
    for (std::uint32_t p = 0; p < n; ++p)
      if (first[p] != kUnranked) sequence.push_back(p);
    std::stable_sort(sequence.begin(), sequence.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return first[a] < first[b]; });
    return sequence;
  }
  // Gradients in the order in which a device that takes ops by number completes them.
  Sequence by_completion() const {
    const graph::Graph& graph = *setup_.graph;
    std::vector<std::uint32_t> place(graph.ops.size());
    std::uint32_t next = 0;
    for (const graph::OpId o : graph::topological_order(graph)) place[o.index()] = next++;
    Sequence sequence;
    for (std::uint32_t p = 0; p < graph.parameters.size(); ++p)
      if (graph.parameters[p].gradient.valid()) sequence.push_back(p);
    std::stable_sort(sequence.begin(), sequence.end(), [&](std::uint32_t a, std::uint32_t b) {
      return place[graph.parameters[a].gradient.index()] < place[graph.parameters[b].gradient.index()];
    });
    return sequence;
  }
  static std::map<std::uint32_t, std::uint32_t> places(const Sequence& sequence) {
    std::map<std::uint32_t, std::uint32_t> place;
    for (std::uint32_t i = 0; i < sequence.size(); ++i) place[sequence[i]] = i;
    return place;
  }

  // The schedule's order with variable `p` at another place among the variables.
  std::vector<std::uint32_t> moved(bool push, const Sequence& variables, std::uint32_t p, std::uint32_t to) const {
    const std::vector<std::uint32_t>& rank = direction(push).rank;
    Sequence others;
    Sequence own;
    for (std::uint32_t t = 0; t < rank.size(); ++t)
      if (rank[t] != kUnranked) (plan_.layout.transfers[t].parameter.index() == p ? own : others).push_back(t);
    const auto by_rank = [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; };
    std::stable_sort(own.begin(), own.end(), by_rank);
    std::stable_sort(others.begin(), others.end(), by_rank);
    Sequence left = variables;
    std::erase(left, p);
    // Before the first slice of the variable that comes next there.
    auto at = others.end();
    if (to < left.size())
      at = std::find_if(others.begin(), others.end(),
                        [&](std::uint32_t t) { return plan_.layout.transfers[t].parameter.index() == left[to]; });
    others.insert(at, own.begin(), own.end());
    std::vector<std::uint32_t> result(rank.size(), kUnranked);
    for (std::uint32_t i = 0; i < others.size(); ++i) result[others[i]] = i;
    return result;
  }

  std::optional<double> cost_of(const plan::Order& order) {
    const Duration cost = evaluator_->evaluate(order);
    if (cost == search::kAbove) return std::nullopt;
    return cost.seconds();
  }

  void explain_moves(bool push) {
    if (direction(push).rank.empty()) return;
    Sequence variables = variables_by(direction(push).rank);
    if (push) std::erase_if(variables, [&](std::uint32_t p) { return !setup_.graph->parameters[p].gradient.valid(); });
    Sequence reference = push ? by_completion() : variables_by(policy_order("fifo").pull.rank);
    const auto here = places(variables);
    std::erase_if(reference, [&](std::uint32_t p) { return here.find(p) == here.end(); });
    const auto there = places(reference);
    const auto tac =
        push ? std::map<std::uint32_t, std::uint32_t>() : places(variables_by(policy_order("tac").pull.rank));
    std::vector<ExplainedMove> list;
    std::map<std::string, std::uint32_t> id;
    for (const std::uint32_t p : variables) {
      ExplainedMove move;
      move.push = push;
      move.variable = setup_.graph->parameters[p].name;
      move.place = here.at(p);
      move.reference_place = there.at(p);
      if (const auto at = tac.find(p); at != tac.end()) move.tac_place = at->second;
      id[move.variable] = p;
      if (move.place != move.reference_place) list.push_back(std::move(move));
    }
    result_.moved += list.size();
    result_.ranked += variables.size();
    const auto distance = [](const ExplainedMove& m) {
      return m.place > m.reference_place ? m.place - m.reference_place : m.reference_place - m.place;
    };
    std::stable_sort(list.begin(), list.end(),
                     [&](const ExplainedMove& a, const ExplainedMove& b) { return distance(a) > distance(b); });
    list.resize(std::min(list.size(), moves_));
    for (ExplainedMove& move : list) {
      plan::Order order = plan_.order;
      (push ? order.push : order.pull).rank = moved(push, variables, id[move.variable], move.reference_place);
      if (const auto cost = cost_of(order)) move.loss = *cost / step_ - 1;
      result_.moves.push_back(std::move(move));
    }
  }

  void change(std::string text, std::optional<double> cost) {
    ExplainedChange change{std::move(text), cost, std::nullopt};
    if (cost) change.gain = *cost / step_ - 1;
    result_.changes.push_back(std::move(change));
  }

  // Under another layout, with the ranks that its transfers take over.
  void layout_change(std::string text, plan::Layout layout) {
    Setup other = setup_;
    other.layout = std::move(layout);
    plan::Order order = plan_.order;
    for (plan::DirectionOrder* d : {&order.pull, &order.push}) {
      if (!d->alternatives.empty()) return;
      if (d->rank.empty()) continue;
      const std::vector<std::uint32_t> old = std::exchange(d->rank, {});
      // Slices take the ranks of their variable in turn; those without one of their own share the last.
      std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
      for (std::uint32_t t = 0; t < other.layout.transfers.size(); ++t) {
        const std::size_t p = other.layout.transfers[t].parameter.index();
        const std::uint32_t first = plan_.layout.first[p];
        const std::uint32_t count = plan_.layout.first[p + 1] - first;
        const std::uint32_t slice = other.layout.transfers[t].slice;
        keys.emplace_back(count == 0 ? kUnranked : old[first + std::min(slice, count - 1)], t);
      }
      std::sort(keys.begin(), keys.end());
      d->rank.assign(keys.size(), kUnranked);
      for (std::uint32_t i = 0; i < keys.size(); ++i)
        if (keys[i].first != kUnranked) d->rank[keys[i].second] = i;
    }
    check_size(other, other.layout);
    const Duration cost = make_engine_evaluator(reduced(other), options_)->evaluate(order);
    change(std::move(text), cost == search::kAbove ? std::nullopt : std::optional(cost.seconds()));
  }

  // Slices of a variable on one server become one.
  std::optional<plan::Layout> uncut() const {
    const plan::Layout& cut = plan_.layout;
    plan::Layout whole;
    whole.servers = cut.servers;
    whole.first.push_back(0);
    for (std::size_t p = 0; p + 1 < cut.first.size(); ++p) {
      std::map<std::uint32_t, std::size_t> at;
      std::uint32_t slice = 0;
      for (std::uint32_t t = cut.first[p]; t < cut.first[p + 1]; ++t) {
        const auto [found, fresh] = at.emplace(cut.transfers[t].server, whole.transfers.size());
        if (fresh)
          whole.transfers.push_back(
              {cut.transfers[t].parameter, slice++, cut.transfers[t].bytes, cut.transfers[t].server});
        else
          whole.transfers[found->second].bytes += cut.transfers[t].bytes;
      }
      whole.first.push_back(static_cast<std::uint32_t>(whole.transfers.size()));
    }
    if (whole.transfers.size() == cut.transfers.size()) return std::nullopt;
    return whole;
  }
  // The slices of the schedule on the servers where the experiment has their variables whole.
  std::optional<plan::Layout> own_servers() const {
    plan::Layout layout = plan_.layout;
    bool differs = false;
    for (plan::Transfer& t : layout.transfers) {
      const std::size_t p = t.parameter.index();
      if (own_layout_.first[p + 1] - own_layout_.first[p] != 1) return std::nullopt;
      const std::uint32_t server = own_layout_.transfers[own_layout_.first[p]].server;
      differs = differs || server != t.server;
      t.server = server;
    }
    if (!differs) return std::nullopt;
    return layout;
  }

  // Collectives: turns, buckets, and whether each is one or two halves.
  void explain_collectives() {
    plan::Order order = plan_.order;
    order.push = {};
    if (!plan_.order.push.rank.empty())
      change("order of the collectives (else as gradients are ready)", cost_of(order));
    if (plan_.layout.split && !plan_.order.pull.rank.empty()) {
      order = plan_.order;
      order.pull = {};
      change("order of the all-gathers (else as they are ready)", cost_of(order));
    }
    if (plan_.order.push.credit > Bytes()) {
      order = plan_.order;
      order.push.discipline = Discipline::Priority;
      order.push.credit = {};
      change("credit of the collectives (else none)", cost_of(order));
    }
    plan::Layout layout = plan_.layout;
    plan::fuse(*setup_.graph, layout, Bytes());
    layout.split = plan_.layout.split;
    if (layout.bucket != plan_.layout.bucket) layout_change("fusion (else a collective for each slice)", layout);
    if (plan_.layout.split) {
      layout = plan_.layout;
      layout.split = false;
      layout_change("two halves of each collective (else both at once)", std::move(layout));
    }
    if (!same_layout(plan_.layout, own_layout_))
      layout_change("layout as a whole (else that of the experiment)", own_layout_);
    change("all orders (else fifo)", cost_of(policy_order("fifo")));
  }

  void explain_starts() {
    const std::vector<Duration>& offsets = plan_.order.start_offsets;
    if (std::all_of(offsets.begin(), offsets.end(), [](Duration d) { return d == Duration(); })) return;
    plan::Order together = plan_.order;
    together.start_offsets.clear();
    change("start offsets of workers (else all start together)", cost_of(together));
  }

  void explain_changes() {
    explain_starts();
    if (all_reduce()) return explain_collectives();
    const plan::Order fifo = policy_order("fifo");
    plan::Order order = plan_.order;
    const bool push_ordered = !plan_.order.push.rank.empty();
    if (!plan_.order.pull.rank.empty()) {
      order.pull.rank = fifo.pull.rank;
      if (order.pull.rank != plan_.order.pull.rank) change("order of pulls (else that of first use)", cost_of(order));
      if (fifo.pull.discipline != plan_.order.pull.discipline) {
        order = plan_.order;
        order.pull.discipline = fifo.pull.discipline;
        order.pull.credit = {};
        order.pull.window = 0;
        change(fmt::format("discipline of pulls (else {})", plan::traits(fifo.pull.discipline).name), cost_of(order));
      }
    }
    if (push_ordered) {
      order = plan_.order;
      order.push = {};
      change("order of pushes (else as gradients are ready)", cost_of(order));
      if (plan_.order.push.credit > Bytes()) {
        order = plan_.order;
        order.push.discipline = Discipline::Priority;
        order.push.credit = {};
        change("credit of pushes (else none)", cost_of(order));
      }
    }
    if (auto layout = uncut()) layout_change("cutting (else one slice per variable and server)", std::move(*layout));
    if (auto layout = own_servers())
      layout_change("servers of the variables (else those of the experiment)", std::move(*layout));
    if (!same_layout(plan_.layout, own_layout_))
      layout_change("layout as a whole (else that of the experiment)", own_layout_);
    change("all orders (else fifo)", cost_of(fifo));
  }

  void explain_bound() {
    const bounds::Bound bound = lower_bound(setup_, step_facts(setup_, plan_.order));
    if (bound.value && *bound.value > Duration()) {
      result_.bound_s.value = bound.value->seconds();
      result_.bound_name = bound.name;
    } else {
      result_.bound_s.reason = bound.value ? "the bound is 0" : bound.reason;
    }
    const bounds::Bound any = any_layout_lower_bound(setup_);
    if (any.value && *any.value > Duration())
      result_.any_layout_bound_s.value = any.value->seconds();
    else
      result_.any_layout_bound_s.reason = any.value ? "the bound is 0" : any.reason;
  }

  void say() {
    auto& s = result_.sentences;
    if (result_.ranked == 0)
      s.emplace_back("The schedule orders nothing: transfers go as they become ready.");
    else if (result_.moved == 0)
      s.emplace_back("Every variable has the place that it would have without a search.");
    else
      s.push_back(fmt::format("{} of {} variables have another place than without a search{}.", result_.moved,
                              result_.ranked, push_text()));
    const ExplainedMove* largest = nullptr;
    for (const ExplainedMove& m : result_.moves)
      if (m.loss && (largest == nullptr || *m.loss > *largest->loss)) largest = &m;
    if (largest != nullptr && *largest->loss > kNothing)
      s.push_back(fmt::format(
          "Of the moves judged, the {} of {} matters most: back at place {} the step would take "
          "{:.2f} % more.",
          largest->push ? "push" : "pull", largest->variable, largest->reference_place, 100 * *largest->loss));
    else if (largest != nullptr)
      s.emplace_back("None of the moves judged gains anything by itself.");
    const ExplainedChange* best = nullptr;
    for (const ExplainedChange& c : result_.changes)
      if (c.gain && (best == nullptr || *c.gain > *best->gain)) best = &c;
    if (best != nullptr && *best->gain > kNothing)
      s.push_back(
          fmt::format("The largest gain of one change is that of the {}: {:.2f} %.", best->change, 100 * *best->gain));
    else
      s.emplace_back("No change by itself gains anything over the experiment's own plan.");
    if (result_.bound_s.value)
      s.push_back(fmt::format(
          "With this layout at most {:.2f} % is left: the step takes {:.6g} s, and no order less "
          "than {:.6g} s, by the {}.",
          100 * std::max(0.0, step_ / *result_.bound_s.value - 1), step_, *result_.bound_s.value, result_.bound_name));
    else
      s.push_back(fmt::format("What is left is not known: {}.", result_.bound_s.reason));
    if (result_.any_layout_bound_s.value)
      s.push_back(fmt::format("No layout{} leaves more than {:.2f} %.", all_reduce() ? "" : " on these servers",
                              100 * std::max(0.0, step_ / *result_.any_layout_bound_s.value - 1)));
  }
  std::string push_text() const {
    if (all_reduce()) return plan_.layout.split ? " (halves of collectives)" : "";
    return plan_.order.push.rank.empty()   ? " (pulls)"
           : plan_.order.pull.rank.empty() ? " (pushes)"
                                           : " (pulls, pushes)";
  }

  const Spec& spec_;
  const std::size_t moves_;
  Workloads workloads_;
  Setup setup_;  // with the schedule's layout
  Setup fast_;   // with a graph that behaves the same
  plan::Layout own_layout_;
  plan::Plan plan_;
  EvaluatorOptions options_;
  std::unique_ptr<search::Evaluator> evaluator_;
  double step_ = 0;
  Explanation result_;
};

}  // namespace

Explanation explain_schedule(const Experiment& experiment, const std::string& path, std::size_t moves) {
  return Explainer(experiment, path, moves).run();
}

std::string explain_json(const Explanation& e) {
  using Style = json::Writer::Style;
  json::Writer w;
  w.begin_object();
  w.member("workload", e.workload).member("policy", e.policy).member("step_s", e.step_s);
  w.member("lower_bound_s", e.bound_s.value);
  w.member("lower_bound_name", e.bound_name).member("lower_bound_reason", e.bound_s.reason);
  w.member("lower_bound_any_layout_s", e.any_layout_bound_s.value);
  w.member("ranked", e.ranked).member("moved", e.moved);
  w.key("moves").begin_array();
  for (const ExplainedMove& m : e.moves) {
    w.begin_object(Style::Inline);
    w.member("direction", m.push ? "push" : "pull").member("variable", m.variable).member("place", m.place);
    w.member("reference_place", m.reference_place);
    w.member("tac_place", m.tac_place);
    w.member("loss", m.loss);
    w.end_object();
  }
  w.end_array().key("changes").begin_array();
  for (const ExplainedChange& c : e.changes) {
    w.begin_object(Style::Inline).member("change", c.change);
    w.member("step_s", c.step_s);
    w.member("gain", c.gain);
    w.end_object();
  }
  w.end_array().key("sentences").begin_array();
  for (const std::string& sentence : e.sentences) w.value(sentence);
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::experiment
