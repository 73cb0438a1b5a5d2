// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics.hpp"
#include "analysis/staleness.hpp"
#include "analysis/statistics.hpp"
#include "analysis/step_observer.hpp"
#include "experiment/simulate/replication.hpp"
#include "experiment/simulate/traffic.hpp"
#include "models/plan/drawn.hpp"
#include "models/plan/fusion.hpp"
#include "models/training/deadlock.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"
#include "sim/record/recorder.hpp"

namespace stretto::experiment {

namespace {

// Until `steps` steps are done: by every worker, or on average where workers go at their own pace.
program::Status run_steps(const training::Compiled& compiled, program::Simulation& sim, std::uint32_t steps) {
  return compiled.own_pace() ? sim.run_until_total(std::uint64_t{steps} * compiled.workers) : sim.run_until(steps);
}

program::Variation variation_of(const Setup& setup, const training::Compiled& compiled, const SimulateOptions& options,
                                std::uint32_t replication) {
  return training::compile_variation(compiled, setup.variation, noise_stream(options.seed, replication));
}

Replication replicate(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                      program::OrderTable order, const SimulateOptions& options, std::uint32_t number) {
  Replication result;
  order.stream = order_stream(options.seed, number);
  const program::Variation variation = variation_of(setup, compiled, options, number);
  const std::uint32_t run = iterations_to_run(compiled, options);
  program::Simulation sim(compiled.program, order, run, &variation);
  analysis::StepObserver observer(compiled, options.warm_up, options.iterations);
  // Where others use its links, the job's own messages are counted apart.
  std::vector<network::LinkId> links;
  for (std::uint32_t l = 0; l < compiled.program.wires.links.size(); ++l) links.emplace_back(l);
  Traffic traffic(compiled.program, links, links.size(), observer);
  const bool others = !setup.training.bursts.empty();
  sim.observe(others ? static_cast<program::Observer*>(&traffic) : &observer);
  const bool warm = run_steps(compiled, sim, options.warm_up) == program::Status::Reached;
  const Counters begin = read_counters(compiled, sim);
  const std::vector<double> sent = traffic.bytes();
  observer.restart_staleness();
  const std::uint64_t gradients = observer.gradients();
  const std::uint64_t dropped = sim.late_arrivals();
  if (!warm || run_steps(compiled, sim, options.iterations) != program::Status::Reached) {
    result.deadlock = training::explain_deadlock(compiled, *setup.graph, plan.layout, sim);
    return result;
  }
  result.use = resource_use(compiled, begin, read_counters(compiled, sim), options.iterations - options.warm_up);
  if (others)
    own_bytes(compiled.program.wires, links, sent, traffic.bytes(), options.iterations - options.warm_up, result.use);
  measure(setup, plan, compiled, sim, observer, options, Time(), result);
  result.gradients = observer.gradients() - gradients;
  result.dropped = sim.late_arrivals() - dropped;
  return result;
}

}  // namespace

std::uint64_t order_stream(std::uint64_t seed, std::uint32_t replication) {
  return stream_key(seed, fmt::format("orders/replication {}", replication));
}

std::uint64_t noise_stream(std::uint64_t seed, std::uint32_t replication) {
  return stream_key(seed, fmt::format("noise/replication {}", replication));
}

double Measured::mean() const { return analysis::mean(means); }

analysis::OpSums transfer_sums(const Setup& setup, const plan::Layout& layout, std::size_t worker) {
  analysis::OpSums sums;
  if (setup.training.exchange == training::Exchange::AllReduce) {
    for (const Bytes bytes : plan::bucket_bytes(layout))
      sums.push +=
          training::collective_time(setup.cluster, setup.training.all_reduce, training::Part::Whole, bytes).seconds();
    return sums;
  }
  for (const plan::Transfer& t : layout.transfers) {
    sums.pull += cluster::pull_time(setup.cluster, worker, t.server, t.bytes).seconds();
    if (setup.training.mode == training::Mode::Training &&
        setup.graph->parameters[t.parameter.index()].gradient.valid())
      sums.push += cluster::push_time(setup.cluster, worker, t.server, t.bytes).seconds();
  }
  return sums;
}

bool is_random(const Setup& setup, const plan::Plan& plan) { return plan::drawn(plan.order) || setup.drawn(); }

void check_size(const Setup& setup, const plan::Layout& layout) {
  constexpr double kMost = 20e6;
  const auto activities =
      static_cast<double>(training::most_activities(*setup.graph, setup.cluster, layout, setup.training));
  if (activities > kMost && setup.training.exchange == training::Exchange::AllReduce)
    throw UserError(fmt::format("a step would have {:.3g} activities (ops of every worker and messages of the "
                                "collectives), more than {:.0f} million",
                                activities, kMost / 1e6),
                    setup.training.all_reduce.aggregate ? "larger buckets or fewer workers"
                                                        : "all_reduce.detail: auto, larger buckets or fewer workers");
  if (activities > kMost)
    throw UserError(fmt::format("a step would have {:.3g} activities (ops, transfers, what servers do with them, for "
                                "every worker and pass), more than {:.0f} million",
                                activities, kMost / 1e6),
                    "larger slices, or fewer workers, servers, local steps or accumulated batches");
  const cluster::Network& network = setup.cluster.network;
  if (network.model != cluster::LinkModel::Fifo || network.chunk.count() == 0) return;
  double chunks = 0;
  for (const plan::Transfer& t : layout.transfers)
    chunks += static_cast<double>(setup.cluster.workers.size()) * 2 * static_cast<double>(t.bytes.count()) /
              static_cast<double>(network.chunk.count());
  if (chunks > kMost)
    throw UserError(fmt::format("a step would send {:.3g} chunks, more than {:.0f} million", chunks, kMost / 1e6),
                    "a larger cluster.network.chunk");
}

Measured simulate(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options) {
  STRETTO_ASSERT(options.warm_up < options.iterations, "warm-up {} of {}", options.warm_up, options.iterations);
  check_size(setup, plan.layout);
  const training::Compiled compiled = training::compile(*setup.graph, setup.cluster, plan.layout, setup.training);
  const program::OrderTable order = training::compile_order(compiled, plan.layout, plan.order, 0);
  Accumulated sum;
  std::optional<std::string> deadlock;
  in_rounds(
      is_random(setup, plan), options,
      [&](std::uint32_t number) { return replicate(setup, plan, compiled, order, options, number); },
      [&](const Replication& r, std::uint32_t least) {
        deadlock = r.deadlock;
        return deadlock || sum.add(r, least, options.precision);
      });
  if (deadlock) {
    Measured stuck;
    stuck.deadlock = deadlock;
    return stuck;
  }
  return sum.finish(compiled, options);
}

Replay replay(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
              const SimulateOptions& options, std::uint32_t replication) {
  const program::OrderTable order =
      training::compile_order(compiled, plan.layout, plan.order, order_stream(options.seed, replication));
  const program::Variation variation = variation_of(setup, compiled, options, replication);
  program::Simulation sim(compiled.program, order, iterations_to_run(compiled, options), &variation);
  if (run_steps(compiled, sim, options.warm_up) != program::Status::Reached ||
      run_steps(compiled, sim, options.iterations) != program::Status::Reached)
    return {0, training::explain_deadlock(compiled, *setup.graph, plan.layout, sim)};
  return {analysis::mean(step_times(compiled, sim, options)), std::nullopt};
}

analysis::CriticalPath step_path(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                                 const SimulateOptions& options) {
  const program::OrderTable order =
      training::compile_order(compiled, plan.layout, plan.order, order_stream(options.seed, 0));
  const program::Variation variation = variation_of(setup, compiled, options, 0);
  program::Simulation sim(compiled.program, order, iterations_to_run(compiled, options), &variation);
  // What is under way when the step begins must have been seen from its start, or from before the step.
  sim.run_until(std::max(options.warm_up, 1U) - 1);
  const Time seen = sim.now();
  record::Recorder recorder;
  sim.observe(&recorder);
  const bool reached = sim.run_until(options.warm_up + 1) == program::Status::Reached;
  STRETTO_ASSERT(reached, "no step {}", options.warm_up);
  const std::size_t markers = compiled.barrier ? 1 : compiled.workers;
  const auto begin = [&](std::size_t m) {
    return options.warm_up == 0 ? Time() : sim.marker_times(m)[options.warm_up - 1];
  };
  // Not a worker that was a step ahead by then. The last to do the step before cannot have been.
  std::size_t last = markers;
  for (std::size_t m = 0; m < markers; ++m)
    if (begin(m) >= seen &&
        (last == markers || sim.marker_times(m)[options.warm_up] > sim.marker_times(last)[options.warm_up]))
      last = m;
  STRETTO_ASSERT(last < markers, "no worker begins step {} after {} ps", options.warm_up, seen.ps());
  return analysis::critical_path(compiled, order, recorder.records(), compiled.program.markers[last], options.warm_up,
                                 begin(last));
}

StepRecords record_step(const Setup& setup, const plan::Plan& plan, const SimulateOptions& options) {
  StepRecords result;
  result.compiled = training::compile(*setup.graph, setup.cluster, plan.layout, setup.training);
  const program::OrderTable order =
      training::compile_order(result.compiled, plan.layout, plan.order, order_stream(options.seed, 0));
  const program::Variation variation = variation_of(setup, result.compiled, options, 0);
  program::Simulation sim(result.compiled.program, order, iterations_to_run(result.compiled, options), &variation);
  record::IterationRecorder recorder(options.warm_up);
  sim.observe(&recorder);
  run_steps(result.compiled, sim, options.iterations);
  result.records = recorder.records();
  result.path = step_path(setup, plan, result.compiled, options);
  return result;
}

std::vector<Counters> sample_use(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                                 const SimulateOptions& options, Time begin, Time end, std::uint32_t parts) {
  STRETTO_ASSERT(begin <= end && parts > 0, "{} parts of {} ps to {} ps", parts, begin.ps(), end.ps());
  const program::OrderTable order =
      training::compile_order(compiled, plan.layout, plan.order, order_stream(options.seed, 0));
  const program::Variation variation = variation_of(setup, compiled, options, 0);
  const std::uint32_t run = iterations_to_run(compiled, options);
  program::Simulation sim(compiled.program, order, run, &variation);
  std::vector<Counters> samples;
  for (std::uint32_t i = 0; i <= parts; ++i) {
    const Time until = i == parts ? end : begin + (end - begin).scaled(static_cast<double>(i) / parts);
    sim.run_until(run, until);
    if (samples.empty() || sim.now() > samples.back().now) samples.push_back(read_counters(compiled, sim));
  }
  return samples;
}

}  // namespace stretto::experiment
