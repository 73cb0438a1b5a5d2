// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution.hpp"

#include <bit>
#include <cmath>

#include "analysis/statistics.hpp"
#include "sim/base/assert.hpp"

namespace stretto::analysis {

namespace {

struct Row {
  Cause cause;
  std::string_view key;
  std::string_view words;
};

constexpr Row kRows[] = {{Cause::Order, "order", "transfer order"},
                         {Cause::Links, "links", "link contention"},
                         {Cause::Servers, "servers", "server contention"},
                         {Cause::SlowWorkers, "slow_workers", "slow workers"},
                         {Cause::Noise, "noise", "noise"}};
static_assert(std::size(kRows) == kCauses);

// mean(parts) / mean(whole), paired.
Estimate ratio(std::span<const double> parts, std::span<const double> whole) {
  const double base = mean(whole);
  const double r = mean(parts) / base;
  if (parts.size() == 1) return {r, r, r};
  std::vector<double> off(parts.size());
  for (std::size_t i = 0; i < off.size(); ++i) off[i] = parts[i] - r * whole[i];
  const double n = static_cast<double>(off.size());
  const double half = t_quantile95(off.size() - 1) * std::sqrt(sample_variance(off) / n) / base;
  return {r, r - half, r + half};
}

Part part(std::span<const double> seconds, std::span<const double> whole) {
  return {mean_interval(seconds), ratio(seconds, whole)};
}

}  // namespace

std::string_view cause_key(Cause cause) { return kRows[static_cast<std::size_t>(cause)].key; }

std::string_view cause_words(Cause cause) { return kRows[static_cast<std::size_t>(cause)].words; }

std::vector<double> shapley_costs(std::span<const double> values) {
  STRETTO_ASSERT(std::has_single_bit(values.size()), "{} values", values.size());
  const auto n = static_cast<std::size_t>(std::countr_zero(values.size()));
  // weight[s] = s! (n - s - 1)! / n!, for sets of s causes.
  std::vector<double> weight(n);
  for (std::size_t s = 0; s < n; ++s) {
    weight[s] = 1.0 / static_cast<double>(n);
    for (std::size_t k = 1; k <= s; ++k) weight[s] *= static_cast<double>(k) / static_cast<double>(n - k);
  }
  std::vector<double> costs(n);
  for (std::size_t set = 0; set < values.size(); ++set)
    for (std::size_t i = 0; i < n; ++i)
      if ((set >> i & 1U) == 0)
        costs[i] += weight[static_cast<std::size_t>(std::popcount(set))] * (values[set] - values[set | 1U << i]);
  return costs;
}

Attribution attribute(std::span<const std::vector<double>> times) {
  STRETTO_ASSERT(times.size() == kCauseSets && !times[0].empty(), "{} replays", times.size());
  const std::size_t n = times[0].size();
  std::array<std::vector<double>, kCauses> costs;
  std::vector<double> values(kCauseSets);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t set = 0; set < kCauseSets; ++set) {
      STRETTO_ASSERT(times[set].size() == n, "{} replications of {}", times[set].size(), n);
      values[set] = times[set][r];
    }
    const std::vector<double> c = shapley_costs(values);
    for (std::size_t i = 0; i < kCauses; ++i) costs[i].push_back(c[i]);
  }
  Attribution a;
  a.replications = static_cast<std::int64_t>(n);
  a.step_s = mean_interval(times[kNoCause]);
  a.left = part(times[kAllCauses], times[kNoCause]);
  std::vector<double> saved(n);
  for (std::size_t i = 0; i < kCauses; ++i) {
    for (std::size_t r = 0; r < n; ++r) saved[r] = times[kNoCause][r] - times[std::size_t{1} << i][r];
    a.causes[i] = {part(costs[i], times[kNoCause]), ratio(saved, times[kNoCause])};
  }
  return a;
}

}  // namespace stretto::analysis
