// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "schedulers/search/context.hpp"
#include "schedulers/search/forward.hpp"
#include "schedulers/search/moves.hpp"
#include "schedulers/search/shop.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/random.hpp"

namespace stretto::search {

namespace {

constexpr std::uint64_t kMovesPerRound = 16;
constexpr std::size_t kBeamWidth = 32;
// Temperatures of annealing relative to the cost.
constexpr double kHot = 0.01;
constexpr double kCold = 0.00002;

// The best order with these sequences of pulls and pushes, under the disciplines of each start that ranks them.
std::vector<plan::Order> with_sequences(const Problem& problem, const std::vector<std::uint32_t>& pulls,
                                        const std::vector<std::uint32_t>& pushes) {
  std::vector<plan::Order> orders;
  const auto frame = [](const plan::DirectionOrder& d) { return std::tuple(d.discipline, d.credit, d.window); };
  for (const Start& start : problem.starts) {
    plan::Order order = start.order;
    if (order.pull.rank.empty()) continue;
    const auto write = [](const std::vector<std::uint32_t>& list, plan::DirectionOrder& direction) {
      if (direction.rank.empty() || list.empty()) return;
      for (std::uint32_t& rank : direction.rank)
        if (rank != plan::kUnranked) rank = static_cast<std::uint32_t>(direction.rank.size());
      for (std::uint32_t place = 0; place < list.size(); ++place)
        if (direction.rank[list[place]] != plan::kUnranked) direction.rank[list[place]] = place;
    };
    write(pulls, order.pull);
    write(pushes, order.push);
    make_dense(order);
    const bool known = std::any_of(orders.begin(), orders.end(), [&](const plan::Order& o) {
      return frame(o.pull) == frame(order.pull) && frame(o.push) == frame(order.push);
    });
    if (!known) orders.push_back(std::move(order));
  }
  return orders;
}

std::vector<std::uint32_t> transfers_of(const std::vector<std::uint32_t>& columns,
                                        const std::vector<std::vector<std::uint32_t>>& transfers) {
  std::vector<std::uint32_t> list;
  for (const std::uint32_t c : columns) list.insert(list.end(), transfers[c].begin(), transfers[c].end());
  return list;
}

void try_orders(Context& c, const std::vector<plan::Order>& orders) {
  const std::size_t threads = std::clamp<std::size_t>(c.options.threads, 1, c.evaluators.size());
  const auto costs = evaluate_all({c.evaluators.data(), threads}, orders, c.state.cost);
  c.state.evaluations += orders.size();
  for (std::size_t i = 0; i < orders.size(); ++i) c.offer(orders[i], costs[i], c.method);
}

// Nodes of the flow shop x its jobs.
constexpr std::uint64_t kShopEffort = 1'000'000;

void solve_shop(Context& c) {
  const Relaxation& relaxation = *c.problem.relaxation;
  const std::uint64_t most = std::min(c.options.max_states, kShopEffort / relaxation.trips.size());
  const ShopResult found = flow_shop(relaxation.trips, most);
  c.raise_bound(found.bound + relaxation.before, found.proven ? "optimum of the flow shop" : "bound of exact search");
  std::vector<std::uint32_t> lists[2];
  for (const std::uint32_t j : found.first) lists[0].push_back(relaxation.trip[j]);
  for (const std::uint32_t j : found.second) lists[1].push_back(relaxation.trip[j]);
  try_orders(c, with_sequences(c.problem, lists[1], lists[0]));
}

template <class Solve>
void solve_relaxation(Context& c, Solve&& solve) {
  const Relaxation& relaxation = *c.problem.relaxation;
  const ForwardResult pulls = solve(relaxation.pulls);
  std::vector<std::uint32_t> push_order;
  Duration bound = pulls.bound;
  bool proven = pulls.proven;
  if (relaxation.pushes) {
    const ForwardResult pushes = solve(*relaxation.pushes);
    std::vector<std::uint32_t> columns = pushes.order;
    std::reverse(columns.begin(), columns.end());
    push_order = transfers_of(columns, relaxation.push);
    bound += pushes.bound;
    proven = proven && pushes.proven;
  }
  c.raise_bound(bound + relaxation.before, proven ? "optimum of the forward problems" : "bound of exact search");
  try_orders(c, with_sequences(c.problem, transfers_of(pulls.order, relaxation.pull), push_order));
}

// The order of one walker and what it needs besides.
class Walk {
 public:
  Walk(const Context& c, std::size_t number) : c_(c), number_(number), evaluator_(*c.evaluators[number]) {}

  // At most `evaluations`; returns how many were made. `temperature` is relative to the cost, 0: never worse.
  std::uint64_t round(Walker& walker, std::uint64_t evaluations, double temperature, Walker& best) {
    evaluator_.expect_near(walker.order);
    std::vector<Wait> waits;
    std::uint64_t made = 0;
    if (evaluations >= 2) {
      waits = evaluator_.waits(walker.order);
      ++made;
    }
    best = walker;
    for (; made < evaluations; ++made) {
      RandomStream random(hash_draw(c_.options.seed, number_, walker.moves++), c_.method);
      plan::Order next = walker.order;
      if (!change(next, waits, random)) return made;
      const double worse = -std::log(random.unit()) * temperature;
      const Duration limit = walker.cost == kAbove ? kAbove : walker.cost + walker.cost.scaled(worse);
      const Duration cost = evaluator_.evaluate(next, limit);
      if (cost == kAbove) continue;
      walker.order = std::move(next);
      walker.cost = cost;
      evaluator_.expect_near(walker.order);
      if (cost < best.cost) best = walker;
    }
    return made;
  }

 private:
  const Context& c_;
  std::size_t number_;
  Evaluator& evaluator_;
};

// Walkers start from different orders, the best first.
void place_walkers(Context& c, bool all_from_best) {
  std::vector<std::size_t> starts(c.state.starts.size());
  std::iota(starts.begin(), starts.end(), 0U);
  std::stable_sort(starts.begin(), starts.end(),
                   [&](std::size_t a, std::size_t b) { return c.state.starts[a] < c.state.starts[b]; });
  for (std::size_t w = 0; w < kWalkers; ++w) {
    Walker walker{c.state.best, c.state.cost, 0};
    if (!all_from_best && w > 0 && w - 1 < starts.size()) {
      walker.order = c.problem.starts[starts[w - 1]].order;
      walker.cost = c.state.starts[starts[w - 1]];
    }
    make_dense(walker.order);
    c.state.walkers.push_back(std::move(walker));
  }
}

bool walk(Context& c, bool anneal) {
  if (c.state.cost == kAbove) return true;
  if (c.state.walkers.empty()) place_walkers(c, anneal);
  const double used = c.used();
  const double temperature = anneal ? kHot * std::pow(kCold / kHot, used) : 0;
  const std::uint64_t left = c.state.method_end - std::min(c.state.method_end, c.state.evaluations);
  const std::uint64_t share =
      c.options.time_used ? kMovesPerRound : std::min<std::uint64_t>(kMovesPerRound, left / kWalkers);
  if (share < 2) return true;
  std::vector<Walker> best(kWalkers);
  std::vector<std::uint64_t> made(kWalkers);
  parallel_for(kWalkers, c.options.threads,
               [&](std::size_t w) { made[w] = Walk(c, w).round(c.state.walkers[w], share, temperature, best[w]); });
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < kWalkers; ++w) {
    c.offer(best[w].order, best[w].cost, c.method);
    sum += made[w];
  }
  c.state.evaluations += sum;
  return sum < kWalkers * 2 || (c.options.time_used && c.used() >= (anneal ? 1.0 : 0.5));
}

}  // namespace

bool portfolio_round(Context& c) {
  std::vector<plan::Order> orders;
  for (const Start& start : c.problem.starts) orders.push_back(start.order);
  const std::size_t threads = std::clamp<std::size_t>(c.options.threads, 1, c.evaluators.size());
  // The first start often meets the bound.
  c.state.starts.assign(orders.size(), kAbove);
  c.state.starts.front() = c.evaluators.front()->evaluate(orders.front());
  ++c.state.evaluations;
  c.offer(orders.front(), c.state.starts.front(), c.problem.starts.front().name);
  if (is_optimal(c.problem, c.state)) return true;
  const auto costs = evaluate_all({c.evaluators.data(), threads}, std::span(orders).subspan(1));
  std::copy(costs.begin(), costs.end(), c.state.starts.begin() + 1);
  c.state.evaluations += costs.size();
  for (std::size_t i = 1; i < orders.size(); ++i) c.offer(orders[i], c.state.starts[i], c.problem.starts[i].name);
  return true;
}

bool exact_round(Context& c) {
  if (c.problem.relaxation == nullptr) return true;
  if (!c.problem.relaxation->trips.empty())
    solve_shop(c);
  else
    solve_relaxation(c, [&](const bounds::ForwardProblem& p) { return best_first(p, c.options.max_states); });
  return true;
}

bool beam_round(Context& c) {
  if (c.problem.relaxation != nullptr && c.problem.relaxation->trips.empty())
    solve_relaxation(c, [](const bounds::ForwardProblem& p) { return beam(p, kBeamWidth); });
  return true;
}

bool local_round(Context& c) { return walk(c, false); }
bool annealing_round(Context& c) { return walk(c, true); }

}  // namespace stretto::search
