// SPDX-License-Identifier: Apache-2.0
#include "validation/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/least_squares.hpp"
#include "analysis/statistics.hpp"
#include "io/json/writer.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"

namespace stretto::validation {

namespace {

struct Wanted {
  std::vector<const Cost*> costs;
  std::vector<analysis::FitParameter> parameters;
};

Wanted wanted(const cluster::Cluster& start, const std::vector<std::string>& names) {
  Wanted w;
  for (const std::string& name : names) {
    const Cost& c = cost(name);
    if (std::find(w.costs.begin(), w.costs.end(), &c) != w.costs.end())
      throw UserError(fmt::format("cost '{}' is asked for twice", name));
    const double value = c.get(start);
    w.costs.push_back(&c);
    w.parameters.push_back({std::clamp(value, c.least, c.most), c.least, c.most, std::max(c.scale, value / 2)});
  }
  return w;
}

// Mean steps in seconds.
std::vector<double> simulate_all(const std::vector<const Case*>& cases, const cluster::Cluster& start,
                                 const Wanted& wanted, std::span<const double> values,
                                 const CalibrationOptions& options) {
  experiment::SimulateOptions one = options.simulate;
  one.threads = 1;
  std::vector<double> means(cases.size());
  parallel_for(cases.size(), options.simulate.threads, [&](std::size_t i) {
    experiment::Setup setup = cases[i]->setup;
    copy_costs(start, setup.cluster);
    for (std::size_t j = 0; j < wanted.costs.size(); ++j) wanted.costs[j]->set(setup.cluster, values[j]);
    const experiment::Measured measured = experiment::simulate(setup, cases[i]->plan, one);
    if (measured.deadlock)
      throw UserError(fmt::format("'{}' cannot be simulated: {}", escape_control(cases[i]->name), *measured.deadlock));
    means[i] = measured.mean();
  });
  return means;
}

std::vector<const Case*> pointers(const std::vector<Case>& cases) {
  std::vector<const Case*> all;
  for (const Case& c : cases) all.push_back(&c);
  return all;
}

struct Outcome {
  std::vector<double> values;  // rounded
  std::vector<std::optional<double>> half_widths;
};

Outcome fit(const std::vector<const Case*>& cases, const cluster::Cluster& start, const Wanted& wanted,
            const CalibrationOptions& options, std::size_t done, std::size_t total) {
  std::size_t rounds = 0;
  const analysis::Residuals residuals = [&](std::span<const double> values) {
    if (options.progress) options.progress(done, total, fmt::format("fits, simulation {} of this one", ++rounds));
    std::vector<double> r = simulate_all(cases, start, wanted, values, options);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::log(r[i] / analysis::mean(cases[i]->steps_s));
    return r;
  };
  analysis::Fit found = analysis::least_squares(residuals, wanted.parameters);
  for (double& v : found.values) v = rounded(v);
  return {std::move(found.values), std::move(found.half_widths)};
}

std::vector<CalibratedCase> rows_of(const std::vector<Case>& cases, const cluster::Cluster& start, const Wanted& wanted,
                                    const std::vector<double>& values, const CalibrationOptions& options) {
  std::vector<double> first;
  for (const Cost* c : wanted.costs) first.push_back(c->get(start));
  const std::vector<const Case*> all = pointers(cases);
  const std::vector<double> before = simulate_all(all, start, wanted, first, options);
  const std::vector<double> after = values == first ? before : simulate_all(all, start, wanted, values, options);
  std::vector<CalibratedCase> rows;
  for (std::size_t i = 0; i < cases.size(); ++i)
    rows.push_back({cases[i].name, cases[i].steps_s.size(), analysis::mean(cases[i].steps_s), before[i], after[i], {}});
  return rows;
}

}  // namespace

void copy_costs(const cluster::Cluster& from, cluster::Cluster& cluster) {
  for (const Cost& c : costs()) c.set(cluster, c.get(from));
  for (auto& worker : cluster.workers) worker.threads = from.workers.front().threads;
  for (auto& server : cluster.servers) server.threads = from.servers.front().threads;
  cluster.network.streams = from.network.streams;
}

void set_costs(const std::vector<FittedCost>& values, cluster::Cluster& cluster) {
  for (const FittedCost& c : values) cost(c.name).set(cluster, c.value);
}

Errors errors(const std::vector<CalibratedCase>& cases, const std::function<double(const CalibratedCase&)>& simulated) {
  Errors e;
  for (const CalibratedCase& c : cases) {
    const double error = std::abs(simulated(c) / c.measured_s - 1);
    e.mean += error / static_cast<double>(cases.size());
    e.worst = std::max(e.worst, error);
  }
  return e;
}

Calibration calibrate(const cluster::Cluster& start, const std::vector<Case>& cases, const std::vector<Case>& held,
                      const CalibrationOptions& options) {
  const Wanted w = wanted(start, options.fit);
  const std::vector<const Case*> all = pointers(cases);
  const std::size_t fits = options.leave_one_out ? cases.size() + 1 : 1;
  Outcome found;
  if (!w.costs.empty()) {
    if (cases.empty()) throw UserError("there is no measured cell to fit to");
    found = fit(all, start, w, options, 0, fits);
  }
  Calibration result;
  for (std::size_t j = 0; j < w.costs.size(); ++j)
    result.costs.push_back(
        {std::string(w.costs[j]->name), w.parameters[j].start, found.values[j], found.half_widths[j]});
  result.fitted = rows_of(cases, start, w, found.values, options);
  result.held = rows_of(held, start, w, found.values, options);
  for (std::size_t i = 0; options.leave_one_out && !w.costs.empty() && i < cases.size(); ++i) {
    std::vector<const Case*> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Outcome without = fit(others, start, w, options, i + 1, fits);
    result.fitted[i].left_out_s = simulate_all({all[i]}, start, w, without.values, options).front();
  }
  return result;
}

std::string write_calibration(const Calibration& calibration) {
  json::Writer w;
  w.begin_object().member("format", "stretto-calibration").member("version", 1);
  w.key("costs").begin_array();
  for (const FittedCost& c : calibration.costs) {
    w.begin_object(json::Writer::Style::Inline);
    w.member("name", c.name)
        .member("start", c.start)
        .member("value", c.value)
        .member("text", cost(c.name).format(c.value));
    w.member("ci95_half", c.half_width);
    w.end_object();
  }
  w.end_array();
  for (const auto& [key, rows] :
       {std::pair{"fitted", &calibration.fitted}, std::pair{"predicted", &calibration.held}}) {
    w.key(key).begin_array();
    for (const CalibratedCase& c : *rows) {
      w.begin_object(json::Writer::Style::Inline);
      w.member("cell", c.name).member("steps", c.steps).member("measured_s", c.measured_s);
      w.member("start_s", c.start_s).member("simulated_s", c.simulated_s);
      w.member("left_out_s", c.left_out_s);
      w.end_object();
    }
    w.end_array();
  }
  w.end_object();
  return w.finish();
}

}  // namespace stretto::validation
