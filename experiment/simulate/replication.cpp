// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/replication.hpp"

#include <algorithm>

#include "analysis/metrics.hpp"
#include "analysis/statistics.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

// A worker at its own pace may do many times its share of the steps that are measured.
constexpr std::uint32_t kMostOwnShare = 64;
constexpr std::uint64_t kMostIterations = 1U << 30;

// Time of each W arrivals of W workers at their own pace, whoever they are of.
std::vector<double> own_pace_steps(const training::Compiled& compiled, const program::View& sim,
                                   const SimulateOptions& options, Time origin) {
  std::vector<Time> ends;
  for (std::uint32_t w = 0; w < compiled.workers; ++w) {
    const std::vector<Time>& times = sim.marker_times(compiled.worker_marker(w));
    ends.insert(ends.end(), times.begin(), times.end());
  }
  std::sort(ends.begin(), ends.end());
  std::vector<double> steps;
  for (std::size_t i = options.warm_up; i < options.iterations; ++i) {
    const Time before = i == 0 ? origin : ends[i * compiled.workers - 1];
    steps.push_back((ends[(i + 1) * compiled.workers - 1] - before).seconds());
  }
  return steps;
}

}  // namespace

std::uint32_t iterations_to_run(const training::Compiled& compiled, const SimulateOptions& options) {
  if (!compiled.own_pace()) return options.iterations + (compiled.barrier ? 0 : 1);
  const std::uint64_t most = std::uint64_t{options.iterations} * std::min(compiled.workers, kMostOwnShare) + 1;
  return static_cast<std::uint32_t>(std::min(most, kMostIterations));
}

std::vector<double> step_times(const training::Compiled& compiled, const program::View& sim,
                               const SimulateOptions& options, Time origin) {
  if (compiled.own_pace()) return own_pace_steps(compiled, sim, options, origin);
  std::vector<double> steps(options.iterations - options.warm_up);
  const std::size_t markers = compiled.barrier ? 1 : compiled.workers;
  for (std::size_t m = 0; m < markers; ++m) {
    const std::vector<Time>& times = sim.marker_times(m);
    for (std::uint32_t i = options.warm_up; i < options.iterations; ++i) {
      const Time before = i == 0 ? origin : times[i - 1];
      steps[i - options.warm_up] += (times[i] - before).seconds() / static_cast<double>(markers);
    }
  }
  return steps;
}

namespace {

double straggler_sum(const training::Compiled& compiled, const program::View& sim, const SimulateOptions& options,
                     const std::vector<double>& steps) {
  double sum = 0;
  std::vector<double> arrivals(compiled.workers);
  for (std::uint32_t i = options.warm_up; i < options.iterations; ++i) {
    for (std::uint32_t w = 0; w < compiled.workers; ++w)
      arrivals[w] = sim.marker_times(compiled.worker_marker(w))[i].seconds();
    sum += analysis::straggler_effect(arrivals, steps[i - options.warm_up]);
  }
  return sum;
}

// Ordering efficiency of the paper in each measured step, mean over workers; none where a single resource is used.
std::vector<std::optional<double>> ordering_efficiencies(const Setup& setup, const plan::Plan& plan,
                                                         const analysis::StepObserver& observer,
                                                         const std::vector<double>& steps) {
  std::vector<double> sum(steps.size());
  std::vector<std::size_t> count(steps.size());
  for (std::size_t w = 0; w < setup.cluster.workers.size(); ++w) {
    analysis::OpSums sums = transfer_sums(setup, plan.layout, w);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      sums.compute = observer.compute(w, i);
      if (const auto e = analysis::ordering_efficiency(sums, steps[i])) {
        sum[i] += *e;
        ++count[i];
      }
    }
  }
  std::vector<std::optional<double>> means(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (count[i] > 0) means[i] = sum[i] / static_cast<double>(count[i]);
  return means;
}

}  // namespace

void measure(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled, const program::View& sim,
             const analysis::StepObserver& observer, const SimulateOptions& options, Time origin, Replication& result) {
  result.steps = step_times(compiled, sim, options, origin);
  if (compiled.all_meet()) {
    result.straggler = straggler_sum(compiled, sim, options, result.steps);
    result.efficiency = ordering_efficiencies(setup, plan, observer, result.steps);
  }
  for (std::size_t i = 0; i < result.steps.size(); ++i) result.pull_order.push_back(observer.pull_order(i));
  if (observer.staleness() != nullptr) result.staleness = observer.staleness()->counts();
  result.pulls = observer.pulls();
  result.pushes = observer.pushes();
}

bool Accumulated::add(const Replication& r, std::uint32_t least, double precision) {
  m_.steps.push_back(r.steps);
  m_.efficiencies.push_back(r.efficiency);
  m_.pull_orders.push_back(r.pull_order);
  m_.means.push_back(analysis::mean(r.steps));
  if (m_.means.back() <= 0)
    throw UserError("a step takes no time at all", "the op times, scaled by speed and noise, round to 0 ps");
  m_.straggler_effect += r.straggler;
  add_use(m_.resources, r.use);
  m_.pull_waits += r.pulls;
  m_.push_waits += r.pushes;
  if (ages_.size() < r.staleness.size()) ages_.resize(r.staleness.size(), 0);
  for (std::size_t age = 0; age < r.staleness.size(); ++age) ages_[age] += r.staleness[age];
  gradients_ += r.gradients;
  dropped_ += r.dropped;
  for (const auto& e : r.efficiency)
    if (e) {
      efficiency_ += *e;
      ++efficiencies_;
    }
  if (m_.means.size() < std::max(least, 2U)) return false;
  const analysis::Estimate e = analysis::mean_interval(m_.means);
  return e.ci95_high - e.mean <= precision * e.mean;
}

Measured Accumulated::finish(const training::Compiled& compiled, const SimulateOptions& options) {
  const double runs = static_cast<double>(m_.means.size());
  m_.straggler_effect /= runs * (options.iterations - options.warm_up);
  for (analysis::ResourceUse& use : m_.resources) {
    use.utilisation /= runs;
    use.bytes_per_step /= runs;
  }
  m_.pull_waits *= 1 / runs;
  m_.push_waits *= 1 / runs;
  if (compiled.own_pace()) m_.staleness = analysis::staleness(ages_);
  if (gradients_ > 0) m_.dropped_gradients = static_cast<double>(dropped_) / static_cast<double>(gradients_);
  if (efficiencies_ > 0) m_.ordering_efficiency = efficiency_ / static_cast<double>(efficiencies_);
  return std::move(m_);
}

}  // namespace stretto::experiment
