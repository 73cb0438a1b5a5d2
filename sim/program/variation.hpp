// SPDX-License-Identifier: Apache-2.0
// Variation: what makes one iteration differ from the next, apart from program and order. See docs/model.md, section 9.
//
// A compute of duration d that starts at time t on pool p takes d * noise * slowness(p, t).
//   noise     lognormal with mean 1 and coefficient of variation cv: exp(s z - s^2 / 2), s^2 = ln(1 + cv^2), z standard
//             normal (Box-Muller) from a hash of (stream, iteration, key of the activity), never of the order of
//             events: every order of the same replication meets the same noise (common random numbers)
//   slowness  product of the factors of the windows that hold t
// A link has its capacity times the factor of the last change at or before t.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/wires.hpp"

namespace stretto::program {

struct SlowWindow {
  std::uint32_t pool = 0;
  double factor = 1;  // > 0; 2 = half as fast
  Time from;
  Time until = Time::never();
};

struct LinkChange {
  network::LinkId link;
  Time at;
  double factor = 1;  // > 0, of the link's capacity in the program
};

struct Variation {
  std::uint64_t stream = 0;
  double cv = 0;
  std::vector<std::uint64_t> key;  // per activity, 0 = no noise; empty if cv = 0
  std::vector<SlowWindow> slow;
  std::vector<LinkChange> links;

  // Factor of a compute of `activity` in `iteration` that starts at `at` on `pool`.
  double factor(std::uint32_t activity, std::uint32_t iteration, std::uint32_t pool, Time at) const;
};

}  // namespace stretto::program
