// SPDX-License-Identifier: Apache-2.0
#include "sim/program/variation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"

namespace stretto::program {

namespace {

// Standard normal from two draws.
double normal(std::uint64_t a, std::uint64_t b) {
  return std::sqrt(-2 * std::log(to_unit(a))) * std::cos(2 * std::numbers::pi * to_unit(b));
}

// Gamma with mean 1 and coefficient of variation cv. `draw(n)` gives the n-th uniform 64-bit value.
template <class Draw>
double gamma(double cv, Draw&& draw) {
  const double shape = 1 / (cv * cv);
  // Below shape 1: a variable of shape + 1 times a power of a uniform one.
  const double boost = shape < 1 ? std::pow(to_unit(draw(0)), 1 / shape) : 1.0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t n = 1;; n += 3) {
    const double z = normal(draw(n), draw(n + 1));
    const double root = 1 + c * z;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(to_unit(draw(n + 2))) < z * z / 2 + d - d * v + d * std::log(v)) return boost * d * v / shape;
  }
}

}  // namespace

double Variation::factor(std::uint32_t activity, std::uint32_t iteration, std::uint32_t pool, Time at) const {
  double f = 1;
  if (!key.empty() && key[activity] != 0) {
    const auto draw = [&](std::uint64_t n) { return hash_draw(stream, key[activity], iteration, n); };
    if (law == NoiseLaw::Empirical) {
      f = factors[draw(0) % factors.size()];
    } else if (law == NoiseLaw::Gamma) {
      f = gamma(cv, draw);
    } else {
      const double variance = std::log1p(cv * cv);
      f = std::exp(std::sqrt(variance) * normal(draw(0), draw(1)) - variance / 2);
    }
  }
  if (!chances.empty()) f *= chance_factor(activity, iteration);
  for (const SlowWindow& w : slow)
    if (w.pool == pool && at >= w.from && at < w.until) f *= w.factor;
  return f;
}

double Variation::chance_factor(std::uint32_t activity, std::uint32_t iteration) const {
  const auto it = std::lower_bound(chances.begin(), chances.end(), activity,
                                   [](const Chance& c, std::uint32_t a) { return c.activity < a; });
  if (it == chances.end() || it->activity != activity) return 1;
  const auto unit = [&](std::uint64_t n) { return to_unit(hash_draw(stream, it->key, iteration, n)); };
  if (it->probability < 1 && unit(0) >= it->probability) return 0;
  return it->spread ? -std::log(unit(1)) : 1.0;
}

double Variation::toggle_factor(std::uint32_t pool, Time at, ToggleState& state) const {
  if (toggle_key.empty() || toggle_key[pool] == 0) return 1;
  // Keys of toggles and of activities draw apart.
  constexpr std::uint64_t kApart = std::uint64_t{1} << 63;
  const auto unit = [&](std::uint64_t kind) {
    return to_unit(hash_draw(stream, toggle_key[pool] | kApart, state.changes, kind));
  };
  const auto length = [&](bool first) {
    const Duration mean = state.on ? toggle.mean_on : toggle.mean_off;
    double share = toggle.fixed ? 1.0 : -std::log(unit(0));
    if (first && toggle.fixed) share = unit(0);
    return std::max(mean.scaled(share), Duration::ps(1));
  };
  if (state.changes == 0) {
    const double on = toggle.mean_on.seconds();
    state.on = unit(1) < on / (on + toggle.mean_off.seconds());
    state.until = Time() + length(true);
    state.changes = 1;
  }
  while (state.until <= at) {
    state.on = !state.on;
    state.until = state.until + length(false);
    ++state.changes;
  }
  return state.on ? toggle.factor : 1.0;
}

}  // namespace stretto::program
