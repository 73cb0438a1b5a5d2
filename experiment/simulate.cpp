// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics.hpp"
#include "analysis/statistics.hpp"
#include "analysis/waits.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"
#include "sim/record/recorder.hpp"

namespace stretto::experiment {

namespace {

using analysis::ResourceKind;
using analysis::ResourceUse;

// Without a barrier the last measured step needs the traffic of the step after it around itself.
std::uint32_t iterations_to_run(const training::Compiled& compiled, const SimulateOptions& options) {
  return options.iterations + (compiled.barrier ? 0 : 1);
}

std::uint64_t stream_of(const SimulateOptions& options, std::uint32_t replication) {
  return stream_key(options.seed, fmt::format("orders/replication {}", replication));
}

// Busy times and bytes of all resources at one moment of a simulation.
struct Counters {
  Time now;
  std::vector<double> device, worker_threads, server_threads;  // s
  std::vector<double> worker_up, worker_down, server_up, server_down;  // bytes
};

Counters read_counters(const training::Compiled& c, const program::Simulation& sim) {
  Counters k;
  k.now = sim.now();
  const auto bytes = [&](network::LinkId link) { return static_cast<double>(sim.bytes_carried(link)); };
  for (std::uint32_t w = 0; w < c.workers; ++w) {
    k.device.push_back(sim.busy_time(c.device[w]).seconds());
    k.worker_threads.push_back(sim.busy_time(c.worker_threads[w]).seconds());
    k.worker_up.push_back(bytes(c.worker_links[w].up));
    k.worker_down.push_back(bytes(c.worker_links[w].down));
  }
  for (std::uint32_t s = 0; s < c.servers; ++s) {
    k.server_threads.push_back(sim.busy_time(c.server_threads[s]).seconds());
    k.server_up.push_back(bytes(c.server_links[s].up));
    k.server_down.push_back(bytes(c.server_links[s].down));
  }
  return k;
}

// Adds the use of every resource between two moments, over `runs` replications in all.
class UseSum {
 public:
  explicit UseSum(const training::Compiled& compiled) : compiled_(compiled) {}

  void add(const Counters& a, const Counters& b, std::uint32_t steps) {
    const double time = (b.now - a.now).seconds();
    std::size_t next = 0;
    const auto put = [&](const std::string& name, ResourceKind kind, double share, double bytes) {
      if (next == uses_.size()) uses_.push_back({name, kind, 0, 0});
      uses_[next].utilisation += share;
      uses_[next].bytes_per_step += bytes / steps;
      ++next;
    };
    const auto pools = [&](const std::vector<double>& from, const std::vector<double>& to,
                           const std::vector<program::PoolId>& ids, ResourceKind kind) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        const program::PoolSpec& pool = compiled_.program.pools[ids[i].index()];
        if (pool.units == 0) continue;
        put(pool.name, kind, (to[i] - from[i]) / (time * pool.units), 0);
      }
    };
    const auto links = [&](const std::vector<double>& from, const std::vector<double>& to,
                           const std::vector<training::HostLinks>& hosts, bool up, ResourceKind kind) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        const network::Link& link =
            compiled_.program.wires.links[(up ? hosts[i].up : hosts[i].down).index()];
        const double bytes = to[i] - from[i];
        put(link.name, kind, link.capacity.is_unlimited() ? 0 : bytes / (link.capacity.bytes_per_ps() * 1e12 * time),
            bytes);
      }
    };
    pools(a.device, b.device, compiled_.device, ResourceKind::Device);
    links(a.worker_down, b.worker_down, compiled_.worker_links, false, ResourceKind::WorkerNicDown);
    links(a.worker_up, b.worker_up, compiled_.worker_links, true, ResourceKind::WorkerNicUp);
    links(a.server_up, b.server_up, compiled_.server_links, true, ResourceKind::ServerNicUp);
    links(a.server_down, b.server_down, compiled_.server_links, false, ResourceKind::ServerNicDown);
    pools(a.server_threads, b.server_threads, compiled_.server_threads, ResourceKind::ServerThreads);
    pools(a.worker_threads, b.worker_threads, compiled_.worker_threads, ResourceKind::WorkerThreads);
    ++runs_;
  }

  std::vector<ResourceUse> mean() const {
    std::vector<ResourceUse> result = uses_;
    for (ResourceUse& use : result) {
      use.utilisation /= runs_;
      use.bytes_per_step /= runs_;
    }
    return result;
  }

 private:
  const training::Compiled& compiled_;
  std::vector<ResourceUse> uses_;
  double runs_ = 0;
};

std::string explain_deadlock(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                             const program::Simulation& sim) {
  const auto name = [&](program::ActivityId a) { return training::describe(compiled, *setup.graph, plan.layout, a); };
  std::string text = fmt::format("deadlock at {:.6f} s", sim.now().seconds());
  for (const program::Blocked& b : sim.blocked(5)) {
    text += fmt::format("; {} (step {}) ", name(b.activity), b.iteration);
    text += b.wait == program::Blocked::Wait::Turn ? std::string("waits for its turn")
                                                   : fmt::format("has {} of {} that it waits for", b.have, b.need);
    for (std::size_t i = 0; i < b.missing.size() && i < 3; ++i)
      text += (i == 0 ? " after " : ", ") + name(b.missing[i]);
    if (b.missing.size() > 3) text += ", ...";
  }
  return text;
}

// Step times of one replication: from barrier to barrier, or the mean of the workers' steps.
std::vector<double> step_times(const training::Compiled& compiled, const program::Simulation& sim,
                               const SimulateOptions& options) {
  std::vector<double> steps(options.iterations - options.warm_up);
  const std::size_t markers = compiled.barrier ? 1 : compiled.workers;
  for (std::size_t m = 0; m < markers; ++m) {
    const std::vector<Time>& times = sim.marker_times(m);
    for (std::uint32_t i = options.warm_up; i < options.iterations; ++i) {
      const Time before = i == 0 ? Time() : times[i - 1];
      steps[i - options.warm_up] += (times[i] - before).seconds() / static_cast<double>(markers);
    }
  }
  return steps;
}

double straggler_sum(const training::Compiled& compiled, const program::Simulation& sim,
                     const SimulateOptions& options, const std::vector<double>& steps) {
  double sum = 0;
  std::vector<double> arrivals(compiled.workers);
  for (std::uint32_t i = options.warm_up; i < options.iterations; ++i) {
    for (std::uint32_t w = 0; w < compiled.workers; ++w)
      arrivals[w] = sim.marker_times(compiled.worker_marker(w))[i].seconds();
    sum += analysis::straggler_effect(arrivals, steps[i - options.warm_up]);
  }
  return sum;
}

}  // namespace

double Measured::mean() const { return analysis::mean(means); }

bool is_random(const plan::Plan& plan) {
  return plan.order.pull.discipline == plan::Discipline::Unordered ||
         plan.order.push.discipline == plan::Discipline::Unordered;
}

Measured simulate(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options) {
  STRETTO_ASSERT(options.warm_up < options.iterations, "warm-up {} of {}", options.warm_up, options.iterations);
  const training::Compiled compiled =
      training::compile(*setup.graph, setup.cluster, plan.layout, setup.training);
  const std::uint32_t run = iterations_to_run(compiled, options);
  const bool random = is_random(plan);
  const std::uint32_t least = random ? options.min_replications : 1;
  const std::uint32_t most = random ? options.max_replications : 1;
  Measured m;
  UseSum use(compiled);
  analysis::WaitsObserver waits(compiled, options.warm_up, options.iterations);
  program::OrderTable order = training::compile_order(compiled, plan.layout, plan.order, 0);
  program::Simulation sim(compiled.program, order, run);
  double straggler = 0;
  for (std::uint32_t r = 0; r < most; ++r) {
    order.stream = stream_of(options, r);
    sim.reset(order, run);
    sim.observe(&waits);
    const bool warm = sim.run_until(options.warm_up) == program::Status::Reached;
    const Counters begin = read_counters(compiled, sim);
    if (!warm || sim.run_until(options.iterations) != program::Status::Reached) {
      Measured stuck;
      stuck.deadlock = explain_deadlock(setup, plan, compiled, sim);
      return stuck;
    }
    use.add(begin, read_counters(compiled, sim), options.iterations - options.warm_up);
    m.steps.push_back(step_times(compiled, sim, options));
    m.means.push_back(analysis::mean(m.steps.back()));
    if (compiled.barrier) straggler += straggler_sum(compiled, sim, options, m.steps.back());
    if (r + 1 >= least) {
      const analysis::Estimate e = analysis::mean_interval(m.means);
      if (e.ci95_high - e.mean <= options.precision * e.mean && m.means.size() > 1) break;
    }
  }
  const auto runs = static_cast<std::int64_t>(m.means.size());
  m.straggler_effect =
      straggler / (static_cast<double>(runs) * (options.iterations - options.warm_up));
  m.resources = use.mean();
  m.pull_waits = waits.pulls(runs);
  m.push_waits = waits.pushes(runs);
  return m;
}

StepRecords record_step(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options) {
  StepRecords result;
  result.compiled = training::compile(*setup.graph, setup.cluster, plan.layout, setup.training);
  const program::OrderTable order =
      training::compile_order(result.compiled, plan.layout, plan.order, stream_of(options, 0));
  program::Simulation sim(result.compiled.program, order, iterations_to_run(result.compiled, options));
  record::IterationRecorder recorder(options.warm_up);
  sim.observe(&recorder);
  sim.run_until(options.iterations);
  result.records = recorder.records();
  return result;
}

}  // namespace stretto::experiment
