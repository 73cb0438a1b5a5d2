// SPDX-License-Identifier: Apache-2.0
// Random systems of flows on shared links, and an independent solution of them: progressive filling over single flows
// in long double, in continuous time. It shares nothing with sim/network but the description of the links.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/wires.hpp"

namespace stretto::testing {

struct FlowSpec {
  std::uint32_t route = 0;
  std::int64_t bytes = 0;
  std::int64_t start_ps = 0;  // after the end of flow `after` if there is one
  std::int32_t after = -1;    // an earlier flow of the list
};

struct FlowSystem {
  network::Wires wires;
  std::vector<FlowSpec> flows;
};

// At most `links` links and `flows` flows; many share links, start and end together, or have no bytes.
FlowSystem random_system(RandomStream& random, std::uint32_t links, std::uint32_t flows);

// The same system with links, routes and flows renumbered; flow i becomes flow_at[i].
FlowSystem permuted(const FlowSystem& system, RandomStream& random, std::vector<std::uint32_t>& flow_at);

// Ends of the flows in ps, in exact continuous time.
std::vector<long double> reference_ends(const FlowSystem& system);

// Ends of the flows in ps as FluidNetwork gives them; `after_instant` runs after every solve, with the number of moving
// flows of each route.
using AfterInstant = std::function<void(const network::FluidNetwork&, const std::vector<std::uint32_t>&)>;
std::vector<std::int64_t> solver_ends(network::FluidNetwork& net, const FlowSystem& system,
                                      const AfterInstant& after_instant = nullptr);

// Checks that the rates are max-min fair: nobody above its cap, no link above its capacity, and each route with flows
// at its cap or on a full link on which nobody is faster (all to 1e-9 relative). "" if so, else what is wrong.
std::string max_min_fault(const network::FluidNetwork& net, const FlowSystem& system,
                          const std::vector<std::uint32_t>& moving);

}  // namespace stretto::testing
