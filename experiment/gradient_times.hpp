// SPDX-License-Identifier: Apache-2.0
// When gradients are ready after the loss, on devices that run one op at a time in the order in which they become
// ready.
//
// "Loss" and the ops behind it are those of bounds/split.hpp, which has to hold, with a single op that ends at the
// loss. Ops behind it wait for nothing but the loss and each other: all pulls are in by then, and ops that lead to a
// gradient without being before or behind the loss (those of a weight decay) must be done at the loss, as early as the
// ops before the loss that read the same pulls are. The ops behind the loss then run in one order, whatever the
// transfers do: other ops, of the next step for example, may come between them and delay them, and cannot change their
// order. Their ends with nothing between them are least times of any step, found by a run of the engine with all other
// ops at no time and free transfers.
//
// Holds without noise, for devices of speed 1 without copy engines, in synchronous training over servers.
// O(ops log ops) and the bits of the ops' needs. Checked against runs in tests/crosscheck/search_cases_test.cpp.
#pragma once

#include <vector>

#include "experiment/setup.hpp"

namespace stretto::experiment {

// Per parameter, from the loss to the end of its gradient op; 0 without a gradient. Empty where the above does not
// hold.
std::vector<Duration> gradient_times(const Setup& setup);

}  // namespace stretto::experiment
