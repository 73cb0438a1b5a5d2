// SPDX-License-Identifier: Apache-2.0
// What would help most: setups with one thing changed, each simulated for a few steps, under the policy asked about, or
// under one that belongs to the change.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"

namespace stretto::experiment {

// Under changes with a policy of their own, by text: equal whatever policy of the point is asked about.
struct ChangedTime {
  std::optional<double> mean_s;  // of a step
  std::string reason;            // why there is none
};
using OwnPolicyTimes = std::map<std::string, ChangedTime>;

// `base_time`: mean step time of `policy` on `setup`, s. Changes, of which only those that the setup can take:
//   hardware  worker NICs, server NICs, links between switches, NVLink, devices, copies or service threads twice as
//             fast or many; all of the network where that is worth more than each part; one more server, twice the
//             servers (where the fabric has a place for them)
//   order     workers that start one after the other under staggered, a policy of its own
//   layout    variables cut over all servers
//   mode      no barrier; slices without a barrier under layer_priority, all-reduce under wfbp: policies of their own,
//             simulated once and kept in `known`
// Random orders are drawn in fewer replications than the main run's. Gains go to result.what_if; a change that the
// policy's plan does not go with (slices larger than its credit, say) to result.not_tried. Cost: one short run each.
void what_if(const Setup& setup, const PolicySpec& policy, double base_time, const SimulateOptions& options,
             OwnPolicyTimes& known, analysis::PolicyResult& result);

}  // namespace stretto::experiment
