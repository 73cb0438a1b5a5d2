// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiment/bounds/bounds.hpp"
#include "experiment/bounds/step_facts.hpp"
#include "experiment/check/collectives.hpp"
#include "experiment/check/job.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "io/file/sha256.hpp"
#include "io/import/schedule.hpp"
#include "io/json/writer.hpp"
#include "models/graph/canonical.hpp"
#include "schedulers/check/layout.hpp"
#include "schedulers/check/replay.hpp"
#include "schedulers/check/tasks.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

using Status = VerifyPart::Status;
using Ends = std::vector<std::vector<Time>>;

class Verifier {
 public:
  Verifier(const Experiment& experiment, const std::string& path) : spec_(experiment.points.front().spec), path_(path) {
    if (experiment.points.size() > 1)
      throw UserError(
          fmt::format("the experiment varies over {} points; a schedule is verified at one", experiment.points.size()),
          "leave `vary` out, or set its paths with --set");
    setup_ = make_setup(spec_, workloads_);
  }

  VerifyResult run() {
    if (verify_layout() && verify_timeline() && verify_replay() && verify_bound()) verify_prediction();
    return std::move(result_);
  }

 private:
  bool passed(const char* part, std::string text) {
    result_.parts.push_back({part, Status::Passed, std::move(text)});
    return true;
  }
  bool not_covered(const char* part, std::string text) {
    result_.parts.push_back({part, Status::NotCovered, std::move(text)});
    return true;
  }
  bool violated(const char* part, check::Violation violation) {
    result_.parts.push_back({part, Status::Violated, violation.text});
    result_.violation = std::move(violation);
    return false;
  }

  bool verify_layout() {
    const std::string text = io::read_schedule_text(path_);
    const plan::StatedSchedule stated = io::parse_stated_schedule(text, path_);
    const auto servers = static_cast<std::uint32_t>(setup_.cluster.servers.size());
    const auto workers = static_cast<std::uint32_t>(setup_.cluster.workers.size());
    result_.workload = setup_.graph->name;
    result_.policy = stated.schedule.plan.policy;
    if (stated.schedule.prediction) result_.predicted_s = stated.schedule.prediction->mean_s;
    if (auto v = check::check_layout(stated, *setup_.graph, file::sha256_hex(graph::canonical_text(*setup_.graph)),
                                     servers, workers))
      return violated("schedule", std::move(*v));
    schedule_ = io::parse_schedule(text, path_, *setup_.graph, {servers, workers});
    check_size(setup_, schedule_.plan.layout);
    std::string where = fmt::format("on {} server{}", servers, servers == 1 ? "" : "s");
    if (all_reduce()) {
      collectives_ = make_collective_job(setup_, schedule_.plan);
      const std::size_t n = check::buckets(collectives_).size();
      where = fmt::format("in {} bucket{}", n, n == 1 ? "" : "s");
    } else {
      job_ = make_check_job(setup_, schedule_.plan);
    }
    return passed("schedule",
                  fmt::format("{} slices of {} variables {}, each once; ranks and sizes fit",
                              schedule_.plan.layout.transfers.size(), setup_.graph->parameters.size(), where));
  }

  bool all_reduce() const { return setup_.training.exchange == training::Exchange::AllReduce; }
  bool barrier() const {
    if (all_reduce()) return collectives_.barrier;
    return job_.pace == check::Pace::Barrier || job_.pace == check::Pace::Backup;
  }
  std::uint32_t wanted_steps() const { return barrier() ? 2 : spec_.runs.iterations + 1; }
  std::string stages(std::uint32_t steps) const {
    const std::size_t workers = setup_.cluster.workers.size();
    return fmt::format("{} step{} of {} worker{}", steps, steps == 1 ? "" : "s", workers, workers == 1 ? "" : "s");
  }
  double messages_of_step() const {
    if (all_reduce()) return check::message_count(collectives_);
    return 2 * static_cast<double>(job_.workers.size() * job_.layout.transfers.size());
  }
  double events_of_step() const {
    if (!all_reduce()) return static_cast<double>(check::task_count(job_, 1));
    return messages_of_step() +
           static_cast<double>(setup_.cluster.workers.size() * setup_.training.passes * setup_.graph->ops.size());
  }

  // The engine's timeline, and what is wrong with it.
  struct Audited {
    std::optional<std::string> deadlock;
    std::optional<check::Violation> violation;
    std::size_t events = 0;
    Ends ends;
  };
  template <class Run, class Job>
  static Audited audited(Run run, const Job& job) {
    Audited result{std::move(run.deadlock), {}, run.timeline.events.size(), {}};
    if (!result.deadlock) result.violation = check::audit(job, run.timeline);
    result.ends = std::move(run.timeline.ends);
    return result;
  }

  bool verify_timeline() {
    const double of_step = events_of_step();
    const double fit = std::floor(kMostEvents / of_step);
    if (fit < 1)
      return not_covered("timeline", fmt::format("a step has {:.3g} events, more than the {:.0e} that are audited",
                                                 of_step, kMostEvents));
    steps_ = static_cast<std::uint32_t>(std::min<double>(wanted_steps(), fit));
    const std::uint64_t seed = spec_.runs.seed;
    Audited run = all_reduce() ? audited(run_collectives_for_check(setup_, schedule_.plan, steps_, seed), collectives_)
                               : audited(run_for_check(setup_, schedule_.plan, steps_, seed), job_);
    if (run.deadlock) return violated("timeline", {"end", "a step never ends: " + *run.deadlock});
    if (run.violation) return violated("timeline", std::move(*run.violation));
    ends_ = std::move(run.ends);
    result_.engine_s = step_time(ends_);
    std::string text = fmt::format("{} events in {}: order, devices, threads, wires and links as they can be",
                                   run.events, stages(steps_));
    if (!setup_.variation.noiseless()) text += "; noise left out";
    if (!setup_.variation.bursts.empty()) text += "; bursts of background traffic left out";
    if (!all_reduce() && job_.pace == check::Pace::Backup) text += "; not which steps backup workers skip";
    return passed("timeline", std::move(text));
  }

  // A step after the warm-up.
  double step_time(const Ends& ends) const {
    const std::size_t steps = ends.front().size();
    const std::size_t from = barrier() ? steps - 1 : std::min<std::size_t>(spec_.runs.warm_up, steps - 1);
    const std::size_t until = barrier() || steps < wanted_steps() ? steps : spec_.runs.iterations;
    double sum = 0;
    for (const std::vector<Time>& list : ends)
      sum += (list[until - 1] - (from == 0 ? Time() : list[from - 1])).seconds() / static_cast<double>(until - from);
    return sum / static_cast<double>(ends.size());
  }

  double replay_work(std::uint32_t steps) const {
    const double messages = messages_of_step();
    const auto workers = static_cast<double>(setup_.cluster.workers.size());
    if (all_reduce())
      return messages * steps * (2 * workers * collectives_.streams + static_cast<double>(collectives_.links.size()));
    const double channels = workers * static_cast<double>(job_.servers.size());
    const double under_way = job_.streams == 0 ? messages / 2 : std::min(messages / 2, 2 * channels * job_.streams);
    return messages * steps * (under_way + static_cast<double>(job_.links.size()));
  }

  check::Replay replayed(std::uint32_t steps, check::Variant variant) const {
    if (!all_reduce()) return check::replay(job_, steps, variant);
    const check::Machine machine{&collectives_.pools, &collectives_.links, {}};
    return check::replay(machine, check::unroll(collectives_, steps), variant);
  }

  bool verify_replay() {
    if (ends_.empty()) return not_covered("replay", "there is no timeline to compare with");
    if (std::string reason = all_reduce() ? check::why_no_replay(collectives_) : check::why_no_replay(job_);
        !reason.empty())
      return not_covered("replay", std::move(reason));
    std::uint32_t steps = steps_;
    while (steps > 1 && replay_work(steps) > kMostReplayWork) --steps;
    if (replay_work(steps) > kMostReplayWork)
      return not_covered("replay", fmt::format("a step takes {:.1e} operations, more than the {:.0e} that are tried",
                                               replay_work(steps), kMostReplayWork));
    const check::Replay replay = replayed(steps, check::Variant::Plain);
    if (!replay.finished) return violated("replay", {"replay", "the replay never ends, and the engine's steps do"});
    const Duration slack = Duration::ps(static_cast<std::int64_t>(slack_ps()));
    const double most = check::difference(replay.ends, ends_, slack);
    double tolerance = kExact;
    if (most > tolerance) {
      const auto again = [&](check::Variant variant) { return replayed(steps, variant); };
      tolerance = std::max(tolerance, kSpreads * check::spread(replay, again));
      if (replay.ties > 0) tolerance = std::max(tolerance, kTies);
    }
    if (most > tolerance) return violated("replay", {"replay", first_difference(replay.ends, tolerance, slack)});
    if (steps == steps_) result_.replay_s = step_time(replay.ends);
    std::string text = fmt::format("{}: ends differ by {:.1e} at most, {:.0e} allowed", stages(steps), most, tolerance);
    if (most > kExact && replay.ties > 0)
      text += fmt::format(" since threads are asked for several services at one time ({} times)", replay.ties);
    else if (most > kExact)
      text += " since rounding moves the replay itself by a tenth of that";
    if (steps < steps_) text += fmt::format("; more than {} steps would take too long", steps);
    return passed("replay", std::move(text));
  }
  std::string first_difference(const Ends& ours, double tolerance, Duration slack) const {
    for (std::size_t m = 0; m < ours.size(); ++m)
      for (std::size_t i = 0; i < ours[m].size(); ++i)
        if (check::difference({{ours[m][i]}}, {{ends_[m][i]}}, slack) > tolerance)
          return fmt::format("step {}{} ends at {:.12g} s, and by the replay at {:.12g} s", i,
                             barrier() ? "" : fmt::format(" of worker {}", m), ends_[m][i].seconds(),
                             ours[m][i].seconds());
    return "";
  }
  // A picosecond for each message of a step.
  double slack_ps() const { return 50 + messages_of_step(); }

  bool verify_bound() {
    if (ends_.empty()) return not_covered("bound", "there is no step to compare with");
    Setup noiseless = setup_;
    set_variation(noiseless, {});
    const bounds::Bound bound =
        layout_bound(noiseless, schedule_.plan.layout, step_facts(noiseless, schedule_.plan.order));
    if (!bound.value) return not_covered("bound", bound.reason);
    result_.bound_s = bound.value->seconds();
    const double step = result_.replay_s.value_or(*result_.engine_s);
    // Without a barrier the bound is of the long run, and a few steps may be shorter by parts of one.
    const double steps = static_cast<double>(ends_.front().size());
    const double tolerance = barrier() ? kExact : 1 / steps;
    if (step < *result_.bound_s * (1 - tolerance) - slack_ps() * 1e-12)
      return violated("bound", {"bound", fmt::format("a step takes {:.12g} s, less than the lower bound of {:.12g} s "
                                                     "({})",
                                                     step, *result_.bound_s, bound.name)});
    return passed("bound", fmt::format("the step of {:.6g} s is not below {:.6g} s, {}{}", step, *result_.bound_s,
                                       bound.name, barrier() ? "" : " of the long run"));
  }

  bool verify_prediction() {
    if (!schedule_.prediction) return not_covered("prediction", "the file predicts nothing");
    const plan::Prediction& p = *schedule_.prediction;
    if (p.lower_bound_s && p.mean_s < *p.lower_bound_s * (1 - 1e-6))
      return violated("prediction", {"prediction", fmt::format("the file predicts {:.12g} s, less than its own lower "
                                                               "bound of {:.12g} s",
                                                               p.mean_s, *p.lower_bound_s)});
    if (p.ci95_low_s > p.mean_s || p.ci95_high_s < p.mean_s)
      return violated("prediction", {"prediction", "the mean that the file predicts is outside of its interval"});
    if (is_random(setup_, schedule_.plan))
      return not_covered("prediction", "orders or times are drawn anew in each step, so that a prediction is a mean");
    SimulateOptions options;
    options.iterations = spec_.runs.iterations;
    options.warm_up = spec_.runs.warm_up;
    options.seed = spec_.runs.seed;
    const Measured measured = simulate(setup_, schedule_.plan, options);
    if (measured.deadlock) return violated("prediction", {"end", "a step never ends: " + *measured.deadlock});
    const double step = measured.mean();
    if (std::abs(step - p.mean_s) > 1e-6 * step)
      return violated("prediction",
                      {"prediction", fmt::format("the file predicts {:.12g} s, and the step takes {:.12g} "
                                                 "s",
                                                 p.mean_s, step)});
    return passed("prediction",
                  fmt::format("{:.6g} s as the file says, off by {:.1e}", p.mean_s, std::abs(step - p.mean_s) / step));
  }

  const Spec& spec_;
  const std::string& path_;
  Workloads workloads_;
  Setup setup_;
  plan::Schedule schedule_;
  check::Job job_;  // or, with all-reduce:
  check::CollectiveJob collectives_;
  std::uint32_t steps_ = 0;
  Ends ends_;
  VerifyResult result_;
};

const char* status_name(Status status) {
  switch (status) {
    case Status::Passed:
      return "passed";
    case Status::Violated:
      return "violated";
    case Status::NotCovered:
      return "not covered";
  }
  return "";
}

}  // namespace

VerifyResult verify_schedule(const Experiment& experiment, const std::string& path) {
  return Verifier(experiment, path).run();
}

std::string verify_json(const VerifyResult& r) {
  json::Writer w;
  w.begin_object();
  w.member("workload", r.workload).member("policy", r.policy).member("verified", !r.violation.has_value());
  w.key("violation");
  if (r.violation) {
    w.begin_object(json::Writer::Style::Inline).member("rule", r.violation->rule).member("text", r.violation->text);
    w.end_object();
  } else {
    w.value(nullptr);
  }
  w.key("parts").begin_array();
  for (const VerifyPart& p : r.parts) {
    w.begin_object(json::Writer::Style::Inline);
    w.member("part", p.name).member("status", status_name(p.status)).member("text", p.text);
    w.end_object();
  }
  w.end_array();
  w.member("predicted_s", r.predicted_s);
  w.member("engine_s", r.engine_s);
  w.member("replay_s", r.replay_s);
  w.member("lower_bound_s", r.bound_s);
  w.end_object();
  return w.finish();
}

}  // namespace stretto::experiment
