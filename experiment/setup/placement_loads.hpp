// SPDX-License-Identifier: Apache-2.0
// What lies on every server: under one layout, and under each placement of the registry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"

namespace stretto::experiment {

// One entry per server. O(transfers + parameters x servers).
std::vector<analysis::ServerLoad> server_loads(const Setup& setup, const plan::Layout& layout);

struct PlacementLoads {
  std::string_view placement;
  std::vector<analysis::ServerLoad> servers;  // empty where the placement does not fit this cluster
  std::string reason;                         // then: why
};

// Every placement of the registry on the setup's servers: the experiment's own with its options, the others with their
// defaults. by_name only where the experiment gives the names.
std::vector<PlacementLoads> placement_loads(const Setup& setup);

}  // namespace stretto::experiment
