// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/evaluator.hpp"

#include "sim/base/parallel.hpp"

namespace stretto::search {

Counters& Counters::operator+=(const Counters& other) {
  evaluations += other.evaluations;
  stopped += other.stopped;
  resumed += other.resumed;
  activities += other.activities;
  return *this;
}

std::vector<Duration> evaluate_all(std::span<const std::unique_ptr<Evaluator>> evaluators,
                                   std::span<const plan::Order> orders, Duration stop_above) {
  std::vector<Duration> costs(orders.size());
  const std::size_t threads = evaluators.size();
  parallel_for(threads, threads, [&](std::size_t t) {
    for (std::size_t i = t; i < orders.size(); i += threads) costs[i] = evaluators[t]->evaluate(orders[i], stop_above);
  });
  return costs;
}

}  // namespace stretto::search
