// SPDX-License-Identifier: Apache-2.0
// What a search left out, in sentences: the dimensions that the section `search` does not name, and, where none of the
// orders has start offsets, what one try of them would take: policy `staggered` under the layout found, simulated as
// the found plan was. Cost: that of simulating one policy.
#pragma once

#include <string>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// `found`: with the layout found, whose step takes `step_s`. `together`: in all orders that were tried all workers
// start together.
std::vector<std::string> left_out(const Spec& spec, const Setup& found, bool together, double step_s,
                                  const SimulateOptions& options);

}  // namespace stretto::experiment
