// SPDX-License-Identifier: Apache-2.0
// How much of each resource a simulation uses between two of its moments.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/result.hpp"
#include "models/training/compile.hpp"
#include "sim/program/joined.hpp"

namespace stretto::experiment {

// Busy times (s) and carried bytes of all resources at one moment.
struct Counters {
  Time now;
  std::vector<double> device, worker_threads, server_threads;                 // s
  std::vector<double> copy_in, copy_out;                                      // s
  std::vector<double> worker_up, worker_down, server_up, server_down, inner;  // bytes
};

Counters read_counters(const training::Compiled& compiled, const program::View& sim);

// Use from `begin` to `end`, `steps` steps apart: devices, NICs (worker down, worker up, server up, server down),
// the thread pools that have a limit, copy engines, and the links of fabric and hosts' insides that have a limit. A NIC
// without one is used 0.
std::vector<analysis::ResourceUse> resource_use(const training::Compiled& compiled, const Counters& begin,
                                                const Counters& end, std::uint32_t steps);

// Adds `more` to `sum` (equal lists of resources; an empty sum takes it over).
void add_use(std::vector<analysis::ResourceUse>& sum, const std::vector<analysis::ResourceUse>& more);

}  // namespace stretto::experiment
