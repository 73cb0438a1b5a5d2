// SPDX-License-Identifier: Apache-2.0
// What the methods share; internal to this directory.
#pragma once

#include <memory>
#include <vector>

#include "schedulers/search/search.hpp"

namespace stretto::search {

struct Context {
  const Problem& problem;
  const Options& options;
  State& state;
  std::vector<std::unique_ptr<Evaluator>>& evaluators;  // one per walker, at least one
  std::string_view method;

  // Takes `order` if it is better than the best so far.
  void offer(const plan::Order& order, Duration cost, std::string_view found_by);
  void raise_bound(Duration bound, std::string_view name);
  // Share of the budget of the method under way that is used, 0 to 1.
  double used() const;
};

// Fixed, so that the answer does not depend on the machine.
inline constexpr std::size_t kWalkers = 4;

bool portfolio_round(Context& context);
bool exact_round(Context& context);
bool beam_round(Context& context);
bool local_round(Context& context);
bool annealing_round(Context& context);

}  // namespace stretto::search
