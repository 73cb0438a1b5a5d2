// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/verdict.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/figures.hpp"
#include "experiment/run/jobs.hpp"
#include "experiment/run/what_if.hpp"
#include "experiment/setup/placement_loads.hpp"
#include "experiment/spec/input_files.hpp"
#include "sim/base/parallel.hpp"

namespace stretto::experiment {

namespace {

using analysis::PolicyResult;

analysis::Gain gain(const Measured& baseline, const Measured& measured) {
  if (baseline.deadlock) return {std::nullopt, "the baseline ends in a deadlock"};
  return {paired_gain(baseline.means, measured.means), ""};
}

// The first worker alone; servers on the hosts of the others have hosts of their own with such a NIC.
Setup one_worker(const Setup& setup) {
  Setup alone = setup;
  alone.training.backups = 0;
  for (cluster::Server& server : alone.cluster.servers)
    if (server.on_worker.value_or(0) > 0) {
      server.nic = setup.cluster.workers[*server.on_worker].nic;
      server.port = setup.cluster.workers[*server.on_worker].port;
      server.on_worker.reset();
    }
  alone.cluster.workers.resize(1);
  return alone;
}

class Runner {
 public:
  Runner(const Experiment& experiment, const RunOptions& options, const Progress& progress)
      : experiment_(experiment),
        options_(options),
        progress_(progress),
        workloads_(options.workloads != nullptr ? *options.workloads : own_workloads_) {
    for (const Point& point : experiment.points) total_ += policies_of(point.spec).size();
  }

  RunOutput run() {
    const Spec& first = experiment_.points.front().spec;
    out_.result.name = first.name;
    out_.result.seed = first.runs.seed;
    for (const Point& point : experiment_.points) run_point(point);
    out_.input_files = input_files(experiment_);
    return std::move(out_);
  }

 private:
  void run_point(const Point& point) {
    const bool first_point = &point == &experiment_.points.front();
    if (!point.spec.jobs.empty()) return add_jobs(point, first_point);
    const Setup setup = make_setup(point.spec, workloads_);
    if (first_point) {
      out_.result.setup = describe(point.spec, setup);
      out_.result.assumptions = assumptions(setup);
    }
    const SimulateOptions options =
        simulate_options(point.spec.runs, options_.threads > 0 ? options_.threads : available_threads());
    const std::vector<PolicySpec> policies = with_baselines(point.spec.policies);
    std::vector<plan::Plan> plans;
    for (const PolicySpec& policy : policies) plans.push_back(make_plan(setup, policy, options.seed));
    const double single = single_worker_rate(setup, options);
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      if (progress_) progress_(done_, total_, label(policies[i]));
      measured.push_back(simulate(setup, plans[i], options));
      ++done_;
    }
    const auto gain_over = [&](const char* name, std::size_t i) {
      const auto b = std::find_if(policies.begin(), policies.end(),
                                  [&](const PolicySpec& p) { return p.name == name && p.options.empty(); });
      STRETTO_ASSERT(b != policies.end(), "no baseline {}", name);
      const auto index = static_cast<std::size_t>(b - policies.begin());
      return index == i ? analysis::Gain{std::nullopt, "the baseline itself"} : gain(measured[index], measured[i]);
    };
    Shared shared{point_bounds(setup), single, {}};
    std::vector<PolicyResult> results;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      PolicyResult r;
      r.policy = label(policies[i]);
      r.all_reduce = setup.training.exchange == training::Exchange::AllReduce;
      r.vary = point.vary;
      r.servers = server_loads(setup, plans[i].layout);
      if (measured[i].deadlock) {
        fill_deadlock(*measured[i].deadlock, r);
      } else {
        fill(setup, policies[i], plans[i], measured[i], options, shared, r);
        r.gain_over_random = gain_over("random", i);
        r.gain_over_fifo = gain_over("fifo", i);
      }
      results.push_back(std::move(r));
      if (!options_.details) continue;
      out_.steps.push_back(
          {point.vary, label(policies[i]), measured[i].steps, measured[i].efficiencies, measured[i].pull_orders});
      if (first_point && !measured[i].deadlock)
        out_.timelines.push_back({label(policies[i]), i, setup, plans[i], record_step(setup, plans[i], options)});
    }
    if (options_.advice)
      for (PolicyResult& r : results) r.verdict = analysis::verdict(r, results);
    for (PolicyResult& r : results) out_.result.results.push_back(std::move(r));
  }

  void add_jobs(const Point& point, bool first_point) {
    const auto progress = [&](const std::string& what) {
      if (progress_) progress_(done_, total_, what);
      ++done_;
    };
    JobsOutput jobs =
        run_jobs(point.spec, workloads_, options_.threads > 0 ? options_.threads : available_threads(), progress);
    if (first_point) {
      out_.result.setup = jobs.setup;
      out_.result.assumptions = jobs.assumptions;
    }
    for (std::size_t i = 0; i < jobs.results.size(); ++i) {
      PolicyResult& r = jobs.results[i];
      r.vary = point.vary;
      if (Measured& m = jobs.measured[i]; options_.details)
        out_.steps.push_back({point.vary, r.job->name + ": " + r.policy, std::move(m.steps), std::move(m.efficiencies),
                              std::move(m.pull_orders)});
      out_.result.results.push_back(std::move(r));
    }
  }

  // Samples/s of a single worker in the order of first use: the base of every policy's scaling efficiency. 0 if it ends
  // in a deadlock.
  static double single_worker_rate(const Setup& setup, const SimulateOptions& options) {
    const Setup alone = one_worker(setup);
    const Measured one = simulate(alone, make_plan(alone, {"fifo", {}, {}}, options.seed), options);
    return one.deadlock ? 0 : samples_per_step(alone) / one.mean();
  }

  // What the policies of a point have in common.
  struct Shared {
    PointBounds bounds;
    double single_worker_rate = 0;
    OwnPolicyTimes own_policy_times;
  };

  void fill(const Setup& setup, const PolicySpec& policy, const plan::Plan& plan, const Measured& measured,
            const SimulateOptions& options, Shared& shared, PolicyResult& r) const {
    fill_figures(setup, shared.bounds, plan, measured, true, r);
    if (shared.single_worker_rate > 0)
      r.scaling_efficiency.value = samples_per_step(setup) / r.step_time.estimate.mean /
                                   (static_cast<double>(setup.cluster.workers.size()) * shared.single_worker_rate);
    else
      r.scaling_efficiency.reason = "one worker ends in a deadlock";
    if (options_.advice) what_if(setup, policy, r.step_time.estimate.mean, options, shared.own_policy_times, r);
  }

  const Experiment& experiment_;
  const RunOptions options_;
  const Progress& progress_;
  Workloads own_workloads_;
  Workloads& workloads_;
  RunOutput out_;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

RunOutput run(const Experiment& experiment, const RunOptions& options, const Progress& progress) {
  STRETTO_ASSERT(!experiment.points.empty(), "experiment of {} points", experiment.points.size());
  return Runner(experiment, options, progress).run();
}

}  // namespace stretto::experiment
