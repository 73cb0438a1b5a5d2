// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "sim/base/assert.hpp"

namespace stretto::analysis {

double mean(std::span<const double> values) {
  STRETTO_ASSERT(!values.empty(), "mean of nothing");
  const double shift = values.front();
  double sum = 0;
  for (const double v : values) sum += v - shift;
  return shift + sum / static_cast<double>(values.size());
}

double sample_variance(std::span<const double> values) {
  STRETTO_ASSERT(!values.empty(), "variance of nothing");
  if (values.size() == 1) return 0;
  const double m = mean(values);
  double squares = 0;
  double rest = 0;
  for (const double v : values) {
    squares += (v - m) * (v - m);
    rest += v - m;
  }
  const auto n = static_cast<double>(values.size());
  return std::max(0.0, squares - rest * rest / n) / (n - 1);
}

double t_quantile95(std::size_t degrees_of_freedom) {
  STRETTO_ASSERT(degrees_of_freedom >= 1, "t quantile of {} degrees of freedom", degrees_of_freedom);
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return boost::math::quantile(boost::math::complement(distribution, 0.025));
}

Estimate mean_interval(std::span<const double> values) {
  const double m = mean(values);
  if (values.size() == 1) return {m, m, m};
  const double half =
      t_quantile95(values.size() - 1) * std::sqrt(sample_variance(values) / static_cast<double>(values.size()));
  return {m, m - half, m + half};
}

Estimate paired_gain(std::span<const double> baseline, std::span<const double> times) {
  const std::size_t n = std::max(baseline.size(), times.size());
  const auto fits = [n](std::size_t size) { return size == n || size == 1; };
  STRETTO_ASSERT(n > 0 && fits(baseline.size()) && fits(times.size()), "{} baseline values, {} values", baseline.size(),
                 times.size());
  const double time = mean(times);
  STRETTO_ASSERT(time > 0, "mean step time is {} s", time);
  const double ratio = mean(baseline) / time;
  const double gain = ratio - 1;
  if (n == 1) return {gain, gain, gain};
  const auto at = [](std::span<const double> values, std::size_t i) { return values[values.size() == 1 ? 0 : i]; };
  std::vector<double> difference(n);
  for (std::size_t i = 0; i < n; ++i) difference[i] = at(baseline, i) - ratio * at(times, i);
  const double half = t_quantile95(n - 1) * std::sqrt(sample_variance(difference) / static_cast<double>(n)) / time;
  return {gain, gain - half, gain + half};
}

double trend(std::span<const std::vector<double>> steps) {
  std::vector<double> first;
  std::vector<double> last;
  for (const std::vector<double>& replication : steps) {
    const std::size_t third = replication.size() / 3;
    if (third == 0) continue;
    first.push_back(mean(std::span(replication).first(third)));
    last.push_back(mean(std::span(replication).last(third)));
  }
  if (first.empty()) return 0;
  const double start = mean(first);
  return start > 0 ? mean(last) / start - 1 : 0;
}

StepTime step_time(std::span<const std::vector<double>> steps, std::span<const double> replication_means) {
  STRETTO_ASSERT(!steps.empty(), "no replication");
  STRETTO_ASSERT(replication_means.empty() || replication_means.size() == steps.size(), "{} means of {} replications",
                 replication_means.size(), steps.size());
  StepTime result;
  result.min = std::numeric_limits<double>::infinity();
  result.max = -std::numeric_limits<double>::infinity();
  std::vector<double> means;
  for (const std::vector<double>& replication : steps) {
    means.push_back(mean(replication));
    for (const double step : replication) {
      result.min = std::min(result.min, step);
      result.max = std::max(result.max, step);
    }
    result.steps += static_cast<std::int64_t>(replication.size());
  }
  result.estimate = mean_interval(replication_means.empty() ? std::span<const double>(means) : replication_means);
  result.n = static_cast<std::int64_t>(steps.size());
  result.trend = trend(steps);
  return result;
}

}  // namespace stretto::analysis
