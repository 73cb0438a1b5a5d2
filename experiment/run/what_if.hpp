// SPDX-License-Identifier: Apache-2.0
// What would help most: the same plan's policy on setups with one thing changed, each simulated for a few steps.
#pragma once

#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"

namespace stretto::experiment {

// `base_time`: mean step time of `policy` on `setup`, s. Changes: worker or server NICs or the links between
// switches twice as fast, all of these where that is worth more than each, one more server (where the fabric has a
// place for it), variables cut over all servers, twice as fast devices, twice the service threads, no barrier, workers
// that start one after the other; only those that the setup can take. Random orders are drawn in fewer replications
// than the main run's. Gains go to result.what_if; a change that the policy's plan does not go with (slices larger than
// its credit, say) to result.not_tried. Cost: one short run each.
void what_if(const Setup& setup, const PolicySpec& policy, double base_time, const SimulateOptions& options,
             analysis::PolicyResult& result);

}  // namespace stretto::experiment
