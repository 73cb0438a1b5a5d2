// SPDX-License-Identifier: Apache-2.0
#include "analysis/metrics.hpp"

#include <algorithm>

#include "sim/base/assert.hpp"

namespace stretto::analysis {

double worst_makespan(const OpSums& sums) { return sums.compute + sums.pull + sums.push; }

double ideal_makespan(const OpSums& sums) { return std::max({sums.compute, sums.pull, sums.push}); }

std::optional<double> ordering_efficiency(const OpSums& sums, double makespan) {
  const double worst = worst_makespan(sums);
  const double ideal = ideal_makespan(sums);
  if (worst <= ideal) return std::nullopt;
  return (worst - makespan) / (worst - ideal);
}

std::optional<double> speedup_limit(const OpSums& sums) {
  const double ideal = ideal_makespan(sums);
  if (ideal <= 0) return std::nullopt;
  return (worst_makespan(sums) - ideal) / ideal;
}

double straggler_effect(std::span<const double> arrivals, double step_time) {
  STRETTO_ASSERT(!arrivals.empty() && step_time >= 0, "{} arrivals in a step of {} s", arrivals.size(), step_time);
  if (step_time == 0) return 0;
  const auto [earliest, latest] = std::minmax_element(arrivals.begin(), arrivals.end());
  return (*latest - *earliest) / step_time;
}

}  // namespace stretto::analysis
