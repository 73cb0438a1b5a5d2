// SPDX-License-Identifier: Apache-2.0
// The verdict: what a set of figures means, in a few sentences that somebody can act on.
//
// Sentences, in this order, each only where its figures exist:
//   1. what the step is made of: the resource that is full (utilisation >= 90 %), or the NIC whose two directions
//      together take that share, or, if nothing is full, how busy the devices are and what the transfers wait for;
//   2. if servers are the cause: the heaviest one and the parameter that makes it so;
//   3. of the simulated changes the best one of layout and order (free), with what the bound over all layouts leaves
//      after it, and the best others;
//   4. whether a better order can help: the fastest policy of the same point, and the bound of this layout;
//   5. warnings: workers that wait for the last one, runs that are not stationary.
// Data in, text out, deterministic. Names come from files and are escaped (control characters); changes are our own
// text. The thresholds are choices, named in verdict.cpp. Cost: linear in resources, servers and policies.
#pragma once

#include <span>
#include <string>

#include "analysis/result.hpp"

namespace stretto::analysis {

// `point`: the results of all policies at the same point of `vary`, `result` among them (compared by name).
std::string verdict(const PolicyResult& result, std::span<const PolicyResult> point);

}  // namespace stretto::analysis
