// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedulers/search/context.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::search {

namespace {

constexpr Method kMethods[] = {
    {"portfolio", "the orders of all policies", portfolio_round},
    {"exact", "best-first search over transfer sets, on the forward problems that bound the step", exact_round},
    {"beam", "the best sets after each block of transfers, where exact search does not end", beam_round},
    {"local", "insert, swap and block moves around what the step waits for", local_round},
    {"annealing", "the same moves, worse orders taken with a falling probability", annealing_round},
};

const Method& find_method(const std::string& name) {
  for (const Method& method : kMethods)
    if (method.name == name) return method;
  throw UserError(fmt::format("there is no search method '{}'", name), name_hint(name, method_names()));
}

}  // namespace

std::span<const Method> methods() { return kMethods; }

std::size_t walkers() { return kWalkers; }

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method& method : kMethods) names.emplace_back(method.name);
  return names;
}

bool is_optimal(const Problem& problem, const State& state) {
  return state.bound && state.cost != kAbove && state.cost <= *state.bound + problem.rounding;
}

void Context::offer(const plan::Order& order, Duration cost, std::string_view found_by) {
  if (cost >= state.cost) return;
  state.best = order;
  state.cost = cost;
  state.found_by = found_by;
}

void Context::raise_bound(Duration bound, std::string_view name) {
  if (state.bound && *state.bound >= bound) return;
  state.bound = bound;
  state.bound_name = name;
}

double Context::used() const {
  if (options.time_used) return std::min(1.0, options.time_used());
  return std::min(
      1.0, static_cast<double>(state.evaluations) / static_cast<double>(std::max<std::uint64_t>(state.method_end, 1)));
}

State search(const Problem& problem, const Options& options, State state) {
  STRETTO_ASSERT(problem.evaluator != nullptr && problem.layout != nullptr && !problem.starts.empty(),
                 "a search of {} starts", problem.starts.size());
  const std::vector<std::string> names = options.methods.empty() ? method_names() : options.methods;
  std::vector<const Method*> list{&kMethods[0]};
  for (const std::string& name : names)
    if (const Method& method = find_method(name); &method != list.front()) list.push_back(&method);
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  while (evaluators.size() < kWalkers) evaluators.push_back(problem.evaluator->clone());
  if (!state.bound && problem.bound) {
    state.bound = problem.bound;
    state.bound_name = problem.bound_name;
  }
  const auto out_of_budget = [&] {
    return options.time_used ? options.time_used() >= 1 : state.evaluations >= options.evaluations;
  };
  while (!state.done) {
    if (state.method >= list.size() || is_optimal(problem, state) || (out_of_budget() && !state.starts.empty())) {
      state.done = true;
      break;
    }
    const Method& method = *list[state.method];
    if (state.method_end == 0) {
      // The methods that are left share the rest evenly.
      const std::uint64_t left = options.evaluations - std::min(options.evaluations, state.evaluations);
      state.method_end = state.evaluations + std::max<std::uint64_t>(1, left / (list.size() - state.method));
      state.walkers.clear();
    }
    Context context{problem, options, state, evaluators, method.name};
    if (method.round(context)) {
      ++state.method;
      state.method_end = 0;
      state.walkers.clear();
    }
    if (options.after_round && !options.after_round(state)) break;
  }
  return state;
}

}  // namespace stretto::search
