// SPDX-License-Identifier: Apache-2.0
#include "validation/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.hpp"
#include "io/json/writer.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::validation {

namespace {

bool enforces(const plan::DirectionOrder& order) { return plan::has_window(order.discipline); }

bool enforces(const plan::Plan& plan) { return enforces(plan.order.pull) || enforces(plan.order.push); }

std::vector<double> step_seconds(const Cell& cell, bool barrier) {
  std::vector<double> seconds;
  for (const auto& step : cell.steps) {
    double most = 0;
    double sum = 0;
    for (const WorkerStep& w : step) {
      most = std::max(most, w.step_ms);
      sum += w.step_ms;
    }
    seconds.push_back((barrier ? most : sum / static_cast<double>(step.size())) * 1e-3);
  }
  return seconds;
}

double inversions(const Cell& cell) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& step : cell.steps)
    for (const WorkerStep& w : step) {
      sum += static_cast<double>(w.inversions);
      ++count;
    }
  return sum / static_cast<double>(count);
}

}  // namespace

Comparison compare(const std::string& name, bool barrier, std::size_t workers, const std::vector<NamedPlan>& plans,
                   const std::vector<experiment::Measured>& predicted, const Measurement& measurement) {
  STRETTO_ASSERT(plans.size() == predicted.size() && !plans.empty(), "{} plans, {} predictions", plans.size(),
                 predicted.size());
  Comparison result;
  result.name = name;
  if (measurement.cells.size() != plans.size())
    throw UserError(
        fmt::format("the measurement has {} policies, the experiment {}", measurement.cells.size(), plans.size()));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Cell& cell = measurement.cells[i];
    if (cell.policy != plans[i].name)
      throw UserError(fmt::format("policy {} of the measurement is '{}', that of the experiment '{}'", i,
                                  escape_control(cell.policy), plans[i].name));
    if (cell.steps.front().size() != workers)
      throw UserError(
          fmt::format("the measurement has {} workers, the experiment {}", cell.steps.front().size(), workers));
    if (predicted[i].deadlock)
      throw UserError(fmt::format("policy {} cannot be predicted: {}", plans[i].name, *predicted[i].deadlock));
    const std::vector<double> seconds = step_seconds(cell, barrier);
    Row row;
    row.policy = plans[i].name;
    row.predicted_s = analysis::mean_interval(predicted[i].means);
    row.measured_s = analysis::mean_interval(seconds);
    if (!(row.measured_s.mean > 0)) throw UserError(fmt::format("policy {}: measured steps of 0 s", row.policy));
    row.measured_sd_s = std::sqrt(analysis::sample_variance(seconds));
    row.steps = seconds.size();
    row.error = row.predicted_s.mean / row.measured_s.mean - 1;
    row.inversions = inversions(cell);
    row.pairs = cell.pairs;
    row.enforced = enforces(plans[i].plan);
    row.other_cores = cell.other_cores;
    result.mean_error += std::abs(row.error) / static_cast<double>(plans.size());
    result.worst_error = std::max(result.worst_error, std::abs(row.error));
    result.rows.push_back(std::move(row));
  }
  auto baseline = std::find_if(result.rows.begin(), result.rows.end(), [](const Row& r) { return !r.enforced; });
  if (baseline == result.rows.end()) baseline = result.rows.begin();
  result.baseline = baseline->policy;
  for (Row& row : result.rows) {
    if (&row == &*baseline) continue;
    row.gain_predicted = baseline->predicted_s.mean / row.predicted_s.mean - 1;
    row.gain_measured = baseline->measured_s.mean / row.measured_s.mean - 1;
  }
  return result;
}

std::string write_comparison(const Comparison& comparison, const Measurement& measurement) {
  json::Writer w;
  const auto estimate = [&](const char* key, const analysis::Estimate& e) {
    w.key(key).begin_object(json::Writer::Style::Inline);
    w.member("mean", e.mean).member("ci95_low", e.ci95_low).member("ci95_high", e.ci95_high).end_object();
  };
  w.begin_object();
  w.member("format", "stretto-validation").member("version", 1).member("name", comparison.name);
  w.member("tensorflow", measurement.tensorflow).member("network", measurement.network);
  if (!measurement.reason.empty()) w.member("network_reason", measurement.reason);
  w.member("baseline", comparison.baseline);
  w.member("mean_error", comparison.mean_error).member("worst_error", comparison.worst_error);
  w.key("policies").begin_array();
  for (const Row& r : comparison.rows) {
    w.begin_object().member("policy", r.policy).member("enforced", r.enforced);
    estimate("predicted_s", r.predicted_s);
    estimate("measured_s", r.measured_s);
    w.member("measured_sd_s", r.measured_sd_s).member("steps", r.steps).member("error", r.error);
    w.member("gain_predicted", r.gain_predicted);
    w.member("gain_measured", r.gain_measured);
    w.member("inversions", r.inversions).member("pairs", r.pairs).member("other_cores", r.other_cores);
    w.end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::validation
