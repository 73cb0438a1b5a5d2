// SPDX-License-Identifier: Apache-2.0
// What must hold of a schedule whatever the cluster's speed: it belongs to the workload; every variable stands once;
// its slices add up to its bytes; servers exist, or every gradient is in a bucket; there are ranks only where the
// discipline of a direction knows them; credits and windows are > 0; alternatives have a place for every slice. Equal
// ranks go by the variables' order in the workload, slices of one variable in theirs.
// Cost: O(slices log variables).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/graph/graph.hpp"
#include "models/plan/stated.hpp"
#include "schedulers/check/job.hpp"

namespace stretto::check {

// The first violation, in the order above. `sha256`: of the workload's canonical text. 0 servers: all-reduce.
std::optional<Violation> check_layout(const plan::StatedSchedule& stated, const graph::Graph& graph,
                                      const std::string& sha256, std::uint32_t servers, std::uint32_t workers);

}  // namespace stretto::check
