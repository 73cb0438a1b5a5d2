// SPDX-License-Identifier: Apache-2.0
// What lower bounds may take for granted of a setup's devices and orders.
//
// Devices that run one op at a time in the order in which they become ready. "Loss" and the ops before and behind it
// are those of bounds/split.hpp, which has to hold, with a single op e that ends at the loss.
//   by_loss    Ops that are neither before nor behind the loss (weight decay: the L2 loss of a variable, its gradient)
//              may be done at the loss all the same. Let left(o) be the most ops that take time on a path from o to e,
//              e left out, and T(d) the time by which all ops before the loss with left >= d have begun. T(d - 1) is
//              later than T(d) for d >= 1: an op that takes time lies between. So what is ready by T(d) is in the queue
//              before something that begins by T(d - 1), and done by then. A pull that op b before the loss reads has
//              come by T(left(b)); what b starts is ready by T(left(b) - 1). By T(0) e has begun, all pulls are there.
//   gradients  If all ops are so that lead to a gradient without being before or behind the loss, those behind the loss
//              wait for nothing but the loss and each other, and run in one order, whatever the transfers do: other
//              ops, of the next step for example, may come between them and delay them, and cannot change their order.
//              Their ends with nothing between them are least times of any step, found by a run of the engine with all
//              other ops at no time and free transfers.
// Holds without noise, for devices of speed 1 without copy engines, in synchronous training over servers.
// O(ops log ops) and the bits of the ops' needs. Checked against runs in tests/crosscheck/search_cases_test.cpp.
#pragma once

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/stages.hpp"

namespace stretto::experiment {

// Without what depends on the order of transfers. Empty where the above does not hold.
bounds::Facts step_facts(const Setup& setup);

// `facts`, step_facts(setup), with what depends on the order, and not where NICs change their rates or bursts cross
// them. Not where other jobs use the same links.
bounds::Facts with_order(bounds::Facts facts, const Setup& setup, const plan::Order& order);
bounds::Facts step_facts(const Setup& setup, const plan::Order& order);

// Bounds::Facts::one_order and alike, of an order.
bool pulls_in_one_order(const plan::Order& order);
bool all_alike(const Setup& setup, const plan::Order& order);

}  // namespace stretto::experiment
