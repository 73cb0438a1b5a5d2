// SPDX-License-Identifier: Apache-2.0
// Random changes of an order: a transfer is inserted elsewhere, two are swapped, a block of neighbours moves.
//
// With probability 1/2 the change is drawn from what the step waits for: such a transfer, drawn by the time waited,
// goes to an earlier place, or changes places with an earlier one. Distances are drawn on a logarithmic scale. Only
// ranked directions change. O(transfers).
#pragma once

#include <span>

#include "models/plan/plan.hpp"
#include "schedulers/search/evaluator.hpp"
#include "sim/base/random.hpp"

namespace stretto::search {

// Ranks of `order` as a permutation of 0 .. ranked transfers - 1 in both directions (ties by transfer).
void make_dense(plan::Order& order);

// False if no direction has two ranked transfers. `order` is dense and stays so.
bool change(plan::Order& order, std::span<const Wait> waits, RandomStream& random);

}  // namespace stretto::search
