// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/words.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/figures.hpp"
#include "experiment/setup/background.hpp"
#include "experiment/setup/placement_loads.hpp"
#include "experiment/simulate/job_simulation.hpp"

namespace stretto::experiment {

namespace {

using analysis::PolicyResult;

// Steps of all jobs together take at most so many activities a replication.
constexpr double kMostActivities = 4e9;

bool all_own(const Spec& spec) {
  return std::all_of(spec.jobs.begin(), spec.jobs.end(), [](const Spec& job) { return job.job.own_policy; });
}

// A fast job beside a slow one makes many steps while the slow one is measured.
void check_pace(const Spec& spec, const JobSet& set, const std::vector<plan::Plan>& plans,
                const std::vector<const Measured*>& alone) {
  double window = 0;
  std::size_t slowest = 0;
  for (std::size_t j = 0; j < alone.size(); ++j)
    if (const double w = set.starts[j].seconds() + spec.runs.iterations * alone[j]->mean(); w > window) {
      window = w;
      slowest = j;
    }
  for (std::size_t j = 0; j < alone.size(); ++j) {
    const double steps = window / alone[j]->mean();
    const auto each = static_cast<double>(training::most_activities(*set.setups[j].graph, set.setups[j].cluster,
                                                                    plans[j].layout, set.setups[j].training));
    if (steps * each > kMostActivities)
      throw UserError({{Severity::Error, spec.jobs[j].job.place.span(), fmt::format("jobs[{}]", j),
                        fmt::format("job '{}' makes {:.3g} steps of {:.3g} activities while '{}' is measured",
                                    set.names[j], steps, each, set.names[slowest]),
                        "fewer iterations, an earlier start, or jobs of more equal steps"}});
  }
}

// The most used of the links that the job and another one use.
void add_contended(const JobSet& set, std::size_t j, const JobTraffic& traffic, analysis::JobResult& out) {
  for (const auto& [link, bytes] : traffic.bytes) {
    const double use = traffic.utilisation.at(link);
    const auto users = std::count_if(bytes.begin(), bytes.end(), [](double b) { return b > 0; });
    if (bytes[j] <= 0 || users < 2 || use <= out.contended_use) continue;
    out.contended = set.link_name(link);
    out.contended_use = use;
    out.contended_by.clear();
    const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    for (std::size_t o = 0; o < bytes.size(); ++o)
      if (bytes[o] > 0) out.contended_by.push_back({set.names[o], bytes[o] / sum});
  }
}

std::string verdict(const PolicyResult& r) {
  const analysis::JobResult& job = *r.job;
  std::string text = fmt::format("{} takes {} a step, {:.2f} times what it takes alone ({})", job.name,
                                 analysis::seconds_text(r.step_time.estimate.mean), job.slowdown->mean,
                                 analysis::seconds_text(*job.alone_s.value));
  if (job.contended.empty()) return text + "; it shares no link with another job.";
  std::string shares;
  for (const analysis::JobShare& s : job.contended_by)
    shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", s.job, analysis::percent(s.share));
  return text + fmt::format("; of the links that it shares, {} is used most, {} ({}).", job.contended,
                            analysis::percent(job.contended_use), shares);
}

class Jobs {
 public:
  Jobs(const Spec& spec, Workloads& workloads, std::size_t threads)
      : spec_(spec), set_(make_job_set(spec, workloads)), options_(simulate_options(spec.runs, threads)) {}

  JobsOutput run(const std::function<void(const std::string&)>& progress) {
    for (std::size_t j = 0; j < spec_.jobs.size(); ++j) {
      out_.setup += fmt::format("{}{}: {}", j == 0 ? "" : "; ", set_.names[j], describe(spec_.jobs[j], set_.setups[j]));
      if (set_.starts[j] > Duration()) out_.setup += fmt::format(", from {:g} s on", set_.starts[j].seconds());
    }
    out_.setup += topology_text(spec_);
    out_.assumptions.push_back(
        "jobs share links (NICs of hosts that several use, links between switches) and nothing else: each has devices "
        "and service threads of its own");
    if (!set_.bursts.empty()) out_.assumptions.push_back(kBurstAssumption);
    out_.assumptions.push_back("every job goes on making steps until all are measured");
    for (const Setup& setup : set_.setups)
      for (const std::string& text : assumptions(setup))
        if (std::find(out_.assumptions.begin(), out_.assumptions.end(), text) == out_.assumptions.end())
          out_.assumptions.push_back(text);
    for (const PolicySpec& policy : policies_of(spec_)) {
      if (progress) progress(policy.name.empty() ? "the jobs" : label(policy));
      compare(policy);
    }
    add_gains();
    return std::move(out_);
  }

 private:
  const PolicySpec& policy_of(std::size_t j, const PolicySpec& compared) const {
    return spec_.jobs[j].job.own_policy ? spec_.jobs[j].policies.front() : compared;
  }

  const Measured& alone(std::size_t j, const std::string& name, const plan::Plan& plan) {
    const auto [it, fresh] = alone_.try_emplace({j, name});
    if (fresh) {
      const std::size_t which[] = {j};
      it->second = simulate_jobs(set_, which, std::span(&plan, 1), options_).front().measured;
    }
    return it->second;
  }

  const PointBounds& point_bounds_of(std::size_t j) {
    const auto [it, fresh] = bounds_.try_emplace(j);
    if (fresh) it->second = point_bounds(set_.setups[j]);
    return it->second;
  }

  void compare(const PolicySpec& compared) {
    const std::size_t jobs = set_.setups.size();
    std::vector<plan::Plan> plans;
    std::vector<const Measured*> alone_of;
    std::vector<std::size_t> all(jobs);
    std::iota(all.begin(), all.end(), 0U);
    std::size_t recorded = 0;
    for (std::size_t j = 0; j < jobs; ++j) {
      const PolicySpec& policy = policy_of(j, compared);
      plans.push_back(make_plan(set_.setups[j], policy, options_.seed));
      if (!plans[j].order.pull.alternatives.empty() || !plans[j].order.push.alternatives.empty()) ++recorded;
      if (recorded > 1)
        throw UserError({{Severity::Error, policy.place.span(), "policies." + policy.name,
                          "two jobs would draw from recorded orders", "one job of several may"}});
      alone_of.push_back(&alone(j, label(policy), plans[j]));
    }
    const bool stuck =
        std::any_of(alone_of.begin(), alone_of.end(), [](const auto* m) { return m->deadlock.has_value(); });
    std::vector<JobMeasured> together;
    if (!stuck) {
      check_pace(spec_, set_, plans, alone_of);
      together = simulate_jobs(set_, all, plans, options_);
    }
    for (std::size_t j = 0; j < jobs; ++j) {
      PolicyResult r;
      r.policy = label(policy_of(j, compared));
      r.all_reduce = set_.setups[j].training.exchange == training::Exchange::AllReduce;
      r.job.emplace();
      r.job->name = set_.names[j];
      r.job->compared = compared.name.empty() ? "" : label(compared);
      r.job->start = set_.starts[j].seconds();
      r.servers = server_loads(set_.setups[j], plans[j].layout);
      if (stuck) {
        fill_deadlock(alone_of[j]->deadlock.value_or("another job ends in a deadlock"), r);
        out_.measured.emplace_back();
      } else {
        fill(j, plans[j], together[j], *alone_of[j], r);
        Measured& m = out_.measured.emplace_back(std::move(together[j].measured));
        m.efficiencies.assign(m.steps.size(), {});
      }
      out_.results.push_back(std::move(r));
    }
  }

  void fill(std::size_t j, const plan::Plan& plan, const JobMeasured& together, const Measured& alone_one,
            PolicyResult& r) {
    fill_figures(set_.setups[j], point_bounds_of(j), plan, together.measured, false, r);
    r.scaling_efficiency.reason = "not simulated for several jobs";
    r.ordering_efficiency = {std::nullopt, "defined for a job that has its network alone"};
    if (set_.setups[j].training.synchronization == training::Synchronization::Backup)
      r.dropped_gradients = {std::nullopt, "not counted for several jobs"};
    r.job->alone_s.value = alone_one.mean();
    analysis::Estimate ratio = paired_gain(together.measured.means, alone_one.means);
    ratio.mean += 1;
    ratio.ci95_low += 1;
    ratio.ci95_high += 1;
    r.job->slowdown = ratio;
    add_contended(set_, j, together.traffic, *r.job);
    r.verdict = verdict(r);
  }

  // Gains of a job over itself when the compared policy is a baseline.
  void add_gains() {
    const std::size_t jobs = set_.setups.size();
    for (std::size_t i = 0; i < out_.results.size(); ++i) {
      PolicyResult& r = out_.results[i];
      if (r.deadlock) continue;
      for (const auto& [name, gain] :
           {std::pair("random", &r.gain_over_random), std::pair("fifo", &r.gain_over_fifo)}) {
        gain->reason = "every job has a policy of its own";
        for (std::size_t b = i % jobs; b < out_.results.size(); b += jobs) {
          if (out_.results[b].job->compared != name) continue;
          if (b == i)
            gain->reason = "the baseline itself";
          else if (out_.results[b].deadlock)
            gain->reason = "the baseline ends in a deadlock";
          else
            *gain = {paired_gain(out_.measured[b].means, out_.measured[i].means), ""};
        }
      }
    }
  }

  const Spec& spec_;
  const JobSet set_;
  const SimulateOptions options_;
  std::map<std::pair<std::size_t, std::string>, Measured> alone_;
  std::map<std::size_t, PointBounds> bounds_;
  JobsOutput out_;
};

}  // namespace

std::vector<PolicySpec> policies_of(const Spec& spec) {
  if (!spec.jobs.empty() && all_own(spec)) return {PolicySpec()};
  return with_baselines(spec.policies);
}

JobsOutput run_jobs(const Spec& spec, Workloads& workloads, std::size_t threads,
                    const std::function<void(const std::string& what)>& progress) {
  return Jobs(spec, workloads, threads).run(progress);
}

}  // namespace stretto::experiment
