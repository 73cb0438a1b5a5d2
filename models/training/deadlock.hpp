// SPDX-License-Identifier: Apache-2.0
// A simulation that cannot go on, in words: "deadlock at 0.5 s: 37 of 60 gradients of step 3 will ever come", then who
// waits for what, those nearest to a cause first. Cost: O(activities + edges).
#pragma once

#include <string>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::training {

// `simulation` runs the program of `compiled` and has ended in a deadlock.
std::string explain_deadlock(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                             const program::Simulation& simulation);

}  // namespace stretto::training
