// SPDX-License-Identifier: Apache-2.0
// Variation: what makes one iteration differ from the next, apart from program and order. See docs/model.md, section 9.
//
// A compute of duration d that starts at time t on pool p takes d * noise * slowness(p, t).
//   noise     mean 1, coefficient of variation cv, from a hash of (stream, iteration, key of the activity), never of
//             the order of events: every order of the same replication meets the same noise (common random numbers).
//             Lognormal: exp(s z - s^2 / 2), s^2 = ln(1 + cv^2), z standard normal (Box-Muller).
//             Gamma: shape 1 / cv^2 (Marsaglia and Tsang 2000). Empirical: one of the given factors, each as likely;
//             cv is not looked at
//   chance      an activity with a chance takes its duration with this probability, else none; spread: times an
//               exponential factor of mean 1 (late starts)
//   slowness  product of the factors of the windows that hold t, and of the pool's toggle if that is on at t
//   toggle    a pool is on and off in turn, for times that are exponential or fixed, drawn from a hash of (stream, key
//             of the pool, number of the change). At time 0 the process is stationary: on with its long-run share, and
//             what is left of the first time is exponential again, or uniform
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

enum class NoiseLaw : std::uint8_t { Lognormal, Gamma, Empirical };

// On and off in turn. Means > 0.
struct ToggleSpec {
  double factor = 1;  // > 0, while on
  Duration mean_on;
  Duration mean_off;
  bool fixed = false;  // every time is its mean
};

// Where a pool's toggle has got to.
struct ToggleState {
  bool on = false;
  std::uint32_t changes = 0;
  Time until;
};

// Of one activity, whose key draws apart from all others.
struct Chance {
  std::uint32_t activity = 0;
  std::uint64_t key = 0;
  double probability = 1;  // (0, 1]
  bool spread = false;
};

struct Variation {
  std::uint64_t stream = 0;
  NoiseLaw law = NoiseLaw::Lognormal;
  double cv = 0;
  std::vector<double> factors;     // Empirical: mean 1, not empty
  std::vector<std::uint64_t> key;  // per activity, 0 = no noise; empty without noise
  std::vector<Chance> chances;     // by activity
  std::vector<SlowWindow> slow;
  std::vector<LinkChange> links;
  ToggleSpec toggle;
  std::vector<std::uint64_t> toggle_key;  // per pool, 0 = none; empty without toggles

  // Factor of a compute of `activity` in `iteration` that starts at `at` on `pool`.
  double factor(std::uint32_t activity, std::uint32_t iteration, std::uint32_t pool, Time at) const;
  double chance_factor(std::uint32_t activity, std::uint32_t iteration) const;
  // Factor of the pool's toggle at `at`, which never goes back. `state` begins as ToggleState().
  double toggle_factor(std::uint32_t pool, Time at, ToggleState& state) const;
};

}  // namespace stretto::program
