// SPDX-License-Identifier: Apache-2.0
// What the points of a sweep will cost to run, before one of them is run: the activities that are simulated (ops of
// every worker, messages, what servers do with them), of all policies, baselines included, over all steps and the least
// number of replications. It knows nothing of the time that an activity takes, nor of how many replications a precision
// will ask for. A prediction divides work and changes no result.
//
// Cost of predicting: once for each combination of values of the fields that decide a number of activities (some 0.5 ms
// per combination and thread), and some microseconds per point. Rates, latencies and seeds decide none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "experiment/spec/sweep_points.hpp"

namespace stretto::experiment {

// What reading a point costs, in activities; all that a point costs which constraints leave out or which is refused.
inline constexpr std::uint64_t kPointCost = 200;

// False for a field that never changes how much is simulated, "cluster.workers.nic".
bool decides_cost(std::string_view path);

// By index; equal on any machine and for any number of threads. Throws UserError where memory does not suffice.
std::vector<std::uint64_t> sweep_costs(const SweepPoints& points, std::size_t threads);

}  // namespace stretto::experiment
