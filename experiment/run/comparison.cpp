// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/statistics.hpp"

namespace stretto::experiment {

std::string label(const PolicySpec& policy) {
  std::string text;
  for (const PolicyOption& option : policy.options)
    text += fmt::format("{}{}={}", text.empty() ? "(" : ", ", option.key, option.text);
  return policy.name + (text.empty() ? "" : text + ")");
}

std::vector<PolicySpec> with_baselines(const std::vector<PolicySpec>& asked) {
  std::vector<PolicySpec> policies;
  for (const char* name : {"random", "fifo"})
    if (std::none_of(asked.begin(), asked.end(),
                     [&](const PolicySpec& p) { return p.name == name && p.options.empty(); }))
      policies.push_back({name, {}, {}});
  policies.insert(policies.end(), asked.begin(), asked.end());
  return policies;
}

SimulateOptions simulate_options(const RunsSpec& runs, std::size_t threads) {
  return {runs.iterations, runs.warm_up, runs.min_replications, runs.max_replications, runs.precision,
          runs.seed,       threads};
}

analysis::Estimate paired_gain(const std::vector<double>& baseline, const std::vector<double>& measured) {
  std::size_t n = std::max(baseline.size(), measured.size());
  if (baseline.size() > 1 && measured.size() > 1) n = std::min(baseline.size(), measured.size());
  const auto fit = [n](std::vector<double> means) {
    if (means.size() == 1) means.assign(n, means.front());
    means.resize(n);
    return means;
  };
  return analysis::paired_gain(fit(baseline), fit(measured));
}

}  // namespace stretto::experiment
