// SPDX-License-Identifier: Apache-2.0
#include "study/figures.hpp"

#include <algorithm>

namespace stretto::study {

namespace {

using analysis::PolicyResult;
using Value = std::optional<double>;

// A column of the store: absent where the result says nothing.
struct FigureColumn {
  const char* name;
  Value (*value)(const PolicyResult&);
};

Value mean(const analysis::Gain& g) { return g.estimate ? Value(g.estimate->mean) : Value(); }
Value low(const analysis::Gain& g) { return g.estimate ? Value(g.estimate->ci95_low) : Value(); }
Value high(const analysis::Gain& g) { return g.estimate ? Value(g.estimate->ci95_high) : Value(); }

const analysis::ResourceUse* busiest(const PolicyResult& r) {
  const auto most = std::max_element(r.resources.begin(), r.resources.end(),
                                     [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  return most == r.resources.end() ? nullptr : &*most;
}

// Removing or renaming one, or adding one, is a new version of the store and a step of Store::migrate.
constexpr FigureColumn kColumns[] = {
    {"step_time_s", [](const PolicyResult& r) { return Value(r.step_time.estimate.mean); }},
    {"step_time_ci95_low_s", [](const PolicyResult& r) { return Value(r.step_time.estimate.ci95_low); }},
    {"step_time_ci95_high_s", [](const PolicyResult& r) { return Value(r.step_time.estimate.ci95_high); }},
    {"step_time_min_s", [](const PolicyResult& r) { return Value(r.step_time.min); }},
    {"step_time_max_s", [](const PolicyResult& r) { return Value(r.step_time.max); }},
    {"replications", [](const PolicyResult& r) { return Value(static_cast<double>(r.step_time.n)); }},
    {"steps", [](const PolicyResult& r) { return Value(static_cast<double>(r.step_time.steps)); }},
    {"trend", [](const PolicyResult& r) { return Value(r.step_time.trend); }},
    {"samples_per_s", [](const PolicyResult& r) { return Value(r.samples_per_s); }},
    {"scaling_efficiency", [](const PolicyResult& r) { return r.scaling_efficiency.value; }},
    {"gain_over_random", [](const PolicyResult& r) { return mean(r.gain_over_random); }},
    {"gain_over_random_ci95_low", [](const PolicyResult& r) { return low(r.gain_over_random); }},
    {"gain_over_random_ci95_high", [](const PolicyResult& r) { return high(r.gain_over_random); }},
    {"gain_over_fifo", [](const PolicyResult& r) { return mean(r.gain_over_fifo); }},
    {"gain_over_fifo_ci95_low", [](const PolicyResult& r) { return low(r.gain_over_fifo); }},
    {"gain_over_fifo_ci95_high", [](const PolicyResult& r) { return high(r.gain_over_fifo); }},
    {"lower_bound_s", [](const PolicyResult& r) { return r.lower_bound_s.value; }},
    {"lower_bound_any_layout_s", [](const PolicyResult& r) { return r.lower_bound_any_layout_s.value; }},
    {"gap", [](const PolicyResult& r) { return r.gap.value; }},
    {"ordering_efficiency", [](const PolicyResult& r) { return r.ordering_efficiency.value; }},
    {"speedup_limit", [](const PolicyResult& r) { return r.speedup_limit.value; }},
    {"straggler_effect", [](const PolicyResult& r) { return r.straggler_effect.value; }},
    {"staleness_mean", [](const PolicyResult& r) { return r.staleness.known ? Value(r.staleness.mean) : Value(); }},
    {"staleness_max",
     [](const PolicyResult& r) { return r.staleness.known ? Value(static_cast<double>(r.staleness.max)) : Value(); }},
    {"dropped_gradients", [](const PolicyResult& r) { return r.dropped_gradients.value; }},
    {"busiest_utilisation",
     [](const PolicyResult& r) {
       const auto* use = busiest(r);
       return use != nullptr ? Value(use->utilisation) : Value();
     }},
    {"pull_wait_sender_s", [](const PolicyResult& r) { return Value(r.pull_waits.sender_not_ready); }},
    {"pull_wait_turn_s", [](const PolicyResult& r) { return Value(r.pull_waits.turn); }},
    {"pull_wait_service_s", [](const PolicyResult& r) { return Value(r.pull_waits.service); }},
    {"pull_wait_wire_queue_s", [](const PolicyResult& r) { return Value(r.pull_waits.wire_queue); }},
    {"pull_wait_wire_own_s", [](const PolicyResult& r) { return Value(r.pull_waits.wire_own); }},
    {"pull_wait_wire_shared_s", [](const PolicyResult& r) { return Value(r.pull_waits.wire_shared); }},
    {"push_wait_sender_s", [](const PolicyResult& r) { return Value(r.push_waits.sender_not_ready); }},
    {"push_wait_turn_s", [](const PolicyResult& r) { return Value(r.push_waits.turn); }},
    {"push_wait_service_s", [](const PolicyResult& r) { return Value(r.push_waits.service); }},
    {"push_wait_wire_queue_s", [](const PolicyResult& r) { return Value(r.push_waits.wire_queue); }},
    {"push_wait_wire_own_s", [](const PolicyResult& r) { return Value(r.push_waits.wire_own); }},
    {"push_wait_wire_shared_s", [](const PolicyResult& r) { return Value(r.push_waits.wire_shared); }},
};

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FigureColumn& column : kColumns) names.emplace_back(column.name);
    return names;
  }();
  return kNames;
}

std::vector<StoredResult> stored_results(const analysis::RunResult& result) {
  std::vector<StoredResult> stored;
  for (const PolicyResult& r : result.results) {
    const auto* use = busiest(r);
    StoredResult s{r.policy, r.lower_bound_name, use != nullptr ? use->name : "", r.deadlock.value_or(""), {}};
    for (const FigureColumn& column : kColumns) s.figures.push_back(r.deadlock ? Value() : column.value(r));
    stored.push_back(std::move(s));
  }
  return stored;
}

}  // namespace stretto::study
