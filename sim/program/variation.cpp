// SPDX-License-Identifier: Apache-2.0
#include "sim/program/variation.hpp"

#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"

namespace stretto::program {

double Variation::factor(std::uint32_t activity, std::uint32_t iteration, std::uint32_t pool, Time at) const {
  double f = 1;
  if (cv > 0 && key[activity] != 0) {
    const double u = to_unit(hash_draw(stream, key[activity], iteration, 0));
    const double v = to_unit(hash_draw(stream, key[activity], iteration, 1));
    const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    const double variance = std::log1p(cv * cv);
    f = std::exp(std::sqrt(variance) * z - variance / 2);
  }
  for (const SlowWindow& w : slow)
    if (w.pool == pool && at >= w.from && at < w.until) f *= w.factor;
  return f;
}

}  // namespace stretto::program
