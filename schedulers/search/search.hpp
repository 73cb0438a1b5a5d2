// SPDX-License-Identifier: Apache-2.0
// Search for the order of least cost under one layout.
//
// A search runs its methods one after the other; each starts from the best orders so far. Walking methods (local
// search, annealing) move a fixed number of walkers, each with an evaluator of its own, in rounds; threads only share
// out the walkers. All draws are functions of (seed, method, walker, move), so the same seed and the same budget of
// evaluations give the same answer for any number of threads, and a state kept after any round goes on to the same
// end. With a budget in seconds this does not hold. It ends at once when a cost equals the lower bound, up to
// `rounding`: the order is then optimal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan.hpp"
#include "schedulers/bounds/forward.hpp"
#include "schedulers/bounds/machine.hpp"
#include "schedulers/search/evaluator.hpp"

namespace stretto::search {

struct Start {
  std::string name;
  plan::Order order;
};

// Two forward problems whose optima add up to no more than any step: pulls and the work before the loss; pushes,
// reversed in time, and the work after it (none: inference). `pull` and `push` name the layout's transfers that each
// column of the problem stands for.
// Without a barrier: the flow shop of a worker's pushes and pulls (shop.hpp) instead; `trip` names the transfers.
struct Relaxation {
  std::vector<bounds::TwoStageJob> trips;
  std::vector<std::uint32_t> trip;
  bounds::ForwardProblem pulls;
  std::vector<std::vector<std::uint32_t>> pull;
  std::optional<bounds::ForwardProblem> pushes;
  std::vector<std::vector<std::uint32_t>> push;
  Duration before;  // of every step, not in the problems
};

struct Problem {
  const Evaluator* evaluator = nullptr;
  const plan::Layout* layout = nullptr;
  std::vector<Start> starts;  // at least one
  std::optional<Duration> bound;
  std::string bound_name;
  Duration rounding;
  const Relaxation* relaxation = nullptr;  // null: none holds
};

// One walker of the method under way.
struct Walker {
  plan::Order order;
  Duration cost = kAbove;
  std::uint64_t moves = 0;
};

// All that a search knows between two rounds.
struct State {
  std::uint32_t method = 0;  // of the list of methods
  std::uint64_t evaluations = 0;
  std::uint64_t method_end = 0;  // evaluations at which the method under way ends; 0: not begun
  plan::Order best;
  Duration cost = kAbove;
  std::string found_by;          // start or method
  std::vector<Duration> starts;  // costs of problem.starts, once evaluated
  std::optional<Duration> bound;
  std::string bound_name;
  std::vector<Walker> walkers;
  bool done = false;  // all methods ran or the optimum is proven
};

struct Options {
  std::vector<std::string> methods;  // besides the portfolio, which comes first; empty: all
  std::uint64_t evaluations = 20'000;
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  std::uint64_t max_states = 20'000;  // of exact search
  // Share of a budget in seconds that is used up, 1 = all; null: the budget is in evaluations.
  std::function<double()> time_used;
  // After each round; false stops the search, whose state can be gone on with.
  std::function<bool(const State&)> after_round;
};

struct Context;

struct Method {
  std::string_view name;
  std::string_view help;  // one line
  // One round; true when the method has no more to do.
  bool (*round)(Context& context);
};

// The registry, in the order in which a search runs them.
std::span<const Method> methods();
std::vector<std::string> method_names();

// Number of walkers of a state within a walking method.
std::size_t walkers();

bool is_optimal(const Problem& problem, const State& state);

// Goes on from `state`. UserError for a method that does not exist.
State search(const Problem& problem, const Options& options, State state = {});

}  // namespace stretto::search
