// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "experiment/search/order_ranks.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/simulate/waits.hpp"
#include "models/plan/drawn.hpp"
#include "schedulers/bounds/forward.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

using plan::Discipline;
using program::Simulation;
using program::Status;
using search::kAbove;

// What all copies share.
struct Shared {
  Setup setup;
  EvaluatorOptions options;
  training::Compiled compiled;
  std::uint32_t iterations = 1;
  std::uint32_t warm_up = 0;
  std::vector<program::Variation> variations;  // per replication
};

// Most that `count` steps may take together for a mean that rounds to `limit` at most; kAbove where there is no limit.
std::int64_t times(Duration limit, std::int64_t count) {
  std::int64_t most = 0;
  if (__builtin_mul_overflow(limit.ps(), count, &most) || __builtin_add_overflow(most, count, &most))
    return kAbove.ps();
  return most;
}

Time after(Time start, std::int64_t ps) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(start.ps(), ps, &sum)) return Time::never();
  return Time::ps(sum);
}

class EngineEvaluator : public search::Evaluator {
 public:
  explicit EngineEvaluator(std::shared_ptr<const Shared> shared)
      : shared_(std::move(shared)),
        ranks_(shared_->compiled, shared_->setup.layout),
        turns_(ranks_.table()),
        work_(shared_->compiled.program, turns_, runs()) {}

  Duration evaluate(const plan::Order& order, Duration stop_above) override {
    ++counters_.evaluations;
    const Duration cost = cost_of(order, stop_above);
    if (cost > stop_above) {
      ++counters_.stopped;
      return kAbove;
    }
    return cost;
  }

  void expect_near(const plan::Order& order) override {
    if (shared_->options.snapshots == 0 || !repeatable(order)) return;
    next_base_ = order;
  }

  std::vector<search::Wait> waits(const plan::Order& order) override {
    ++counters_.evaluations;
    if (all_reduce()) return {};
    ranks_.set(order);
    Simulation observed(shared_->compiled.program, ranks_.table(), runs(), &shared_->variations.front());
    WaitObserver observer(shared_->compiled, shared_->iterations - 1);
    observed.observe(&observer);
    observed.run_until(shared_->iterations);
    counters_.activities += observed.finished();
    return observer.waits();
  }

  std::unique_ptr<Evaluator> clone() const override { return std::make_unique<EngineEvaluator>(shared_); }

 private:
  struct Base {
    OrderRanks ranks;
    MessageLog log;
    std::vector<Simulation> snapshots;
    std::uint64_t activities = 0;  // of a full run
  };

  // Ranks are turns of collectives then, which OrderRanks does not know.
  bool all_reduce() const { return shared_->setup.training.exchange == training::Exchange::AllReduce; }

  // The table of `order` with the draws of a stream.
  const program::OrderTable& table_of(const plan::Order& order, std::uint64_t stream) {
    if (all_reduce()) {
      turns_ = training::compile_order(shared_->compiled, shared_->setup.layout, order, stream);
      return turns_;
    }
    ranks_.set(order);
    ranks_.set_stream(stream);
    return ranks_.table();
  }

  std::uint32_t runs() const { return shared_->iterations + (shared_->compiled.barrier ? 0 : 1); }

  bool repeatable(const plan::Order& order) const {
    return !all_reduce() && shared_->setup.variation.none() && !plan::drawn(order) &&
           !plan::has_window(order.pull.discipline) && !plan::has_window(order.push.discipline);
  }

  Duration cost_of(const plan::Order& order, Duration stop_above) {
    if (plan::drawn(order) || shared_->setup.drawn()) return mean_of_replications(order, stop_above);
    if (next_base_ && (!base_ || activities_since_base_ >= 2 * base_->activities)) make_base();
    if (all_reduce()) {
      work_.reset(table_of(order, 0), runs(), &shared_->variations.front());
      return run(stop_above, 0);
    }
    ranks_.set(order);
    if (base_ && repeatable(order) && ranks_.same_frame(base_->ranks)) {
      const Time first = first_difference(base_->log, shared_->compiled, base_->ranks, ranks_);
      const auto resume = std::partition_point(base_->snapshots.begin(), base_->snapshots.end(),
                                               [&](const Simulation& s) { return s.now() < first; });
      if (resume != base_->snapshots.begin()) {
        const Simulation& from = *std::prev(resume);
        work_ = from;
        work_.reorder(ranks_.table());
        ++counters_.resumed;
        return run(stop_above, from.finished());
      }
    }
    work_.reset(ranks_.table(), runs(), &shared_->variations.front());
    return run(stop_above, 0);
  }

  Duration run(Duration stop_above, std::uint64_t already) {
    const std::optional<Duration> cost = measure(stop_above);
    counters_.activities += work_.finished() - already;
    activities_since_base_ += work_.finished() - already;
    return cost.value_or(kAbove);
  }

  Duration mean_of_replications(const plan::Order& order, Duration stop_above) {
    const auto n = static_cast<std::int64_t>(shared_->variations.size());
    std::int64_t total = 0;
    for (std::int64_t r = 0; r < n; ++r) {
      const std::uint64_t stream = order_stream(shared_->options.seed, static_cast<std::uint32_t>(r));
      work_.reset(table_of(order, stream), runs(), &shared_->variations[static_cast<std::size_t>(r)]);
      // What the others leave to this one in a mean that may not exceed the limit, rounded.
      const std::int64_t all = times(stop_above, n);
      const Duration left = all == kAbove.ps() ? kAbove : Duration::ps(all - total);
      const std::optional<Duration> cost = left < Duration() ? std::nullopt : measure(left);
      counters_.activities += work_.finished();
      if (!cost) return kAbove;
      total += cost->ps();
    }
    return mean(total, n);
  }

  static Duration mean(std::int64_t sum, std::int64_t count) { return Duration::ps((sum + count / 2) / count); }

  // Mean of the measured steps of the run that work_ is ready to go on with; nothing if it deadlocks, or is stopped
  // since the mean will be above the limit.
  std::optional<Duration> measure(Duration limit) {
    if (shared_->compiled.barrier) {
      const std::uint32_t warm = shared_->warm_up;
      if (warm > 0 && work_.run_until(warm) != Status::Reached) return std::nullopt;
      const Time start = warm > 0 ? work_.marker_times(0)[warm - 1] : Time();
      const std::int64_t steps = shared_->iterations - warm;
      if (work_.run_until(shared_->iterations, after(start, times(limit, steps))) != Status::Reached)
        return std::nullopt;
      return mean((work_.marker_times(0)[shared_->iterations - 1] - start).ps(), steps);
    }
    return measure_steady(limit);
  }

  std::optional<Duration> measure_steady(Duration limit) {
    const std::uint32_t warm = shared_->warm_up;
    const auto workers = shared_->compiled.workers;
    const auto at = [&](std::uint32_t w, std::uint32_t i) {
      return i == 0 ? Time() : work_.marker_times(shared_->compiled.worker_marker(w))[i - 1];
    };
    const auto step = [&](std::uint32_t w, std::uint32_t i) { return (at(w, i) - at(w, i - 1)).ps(); };
    if (work_.run_until(warm) != Status::Reached) return std::nullopt;
    const auto measured = static_cast<std::int64_t>(shared_->iterations - warm) * workers;
    Time last;
    for (std::uint32_t w = 0; w < workers; ++w) last = std::max(last, at(w, warm));
    const Time end = after(last, times(limit, measured));
    const bool repeats = workers == 1 && shared_->setup.variation.bursts.empty();
    const std::uint32_t first = repeats ? warm + kEqualSteps : shared_->iterations;
    for (std::uint32_t i = std::min(first, shared_->iterations); i <= shared_->iterations; ++i) {
      if (work_.run_until(i, end) != Status::Reached) return std::nullopt;
      // If all goes on as it is, the rest of the window is known.
      bool equal = true;
      std::int64_t sum = 0;
      for (std::uint32_t w = 0; w < workers; ++w) {
        for (std::uint32_t k = 1; k < kEqualSteps && i < shared_->iterations; ++k)
          equal = equal && std::abs(step(w, i) - step(w, i - k)) <= kSteadyRounding.ps();
        sum += (at(w, i) - at(w, warm)).ps() + (shared_->iterations - i) * step(w, i);
      }
      if (equal) return mean(sum, measured);
    }
    STRETTO_ASSERT(false, "no step measured after {} of {}", warm, shared_->iterations);
    return std::nullopt;
  }

  void make_base() {
    ranks_.set(*next_base_);
    next_base_.reset();
    activities_since_base_ = 0;
    base_.emplace(Base{ranks_, MessageLog(shared_->compiled, runs()), {}, 0});
    Base& base = *base_;
    const program::Variation* variation = &shared_->variations.front();
    {
      Simulation logged(shared_->compiled.program, base.ranks.table(), runs(), variation);
      logged.observe(&base.log);
      const bool whole = logged.run() == Status::Reached;
      base.activities = logged.finished();
      counters_.activities += logged.finished();
      if (!whole) return base_.reset();
    }
    const std::vector<Time> cuts = base.log.cuts(shared_->options.snapshots);
    work_.reset(base.ranks.table(), runs(), variation);
    for (const Time cut : cuts) {
      if (work_.run_until(shared_->iterations, cut) != Status::Stopped) break;
      if (base.snapshots.empty() || base.snapshots.back().now() < work_.now()) base.snapshots.push_back(work_);
    }
    counters_.activities += work_.finished();
  }

  std::shared_ptr<const Shared> shared_;
  OrderRanks ranks_;
  program::OrderTable turns_;  // of the order under way, all-reduce only
  Simulation work_;
  std::optional<plan::Order> next_base_;
  std::optional<Base> base_;
  std::uint64_t activities_since_base_ = 0;
};

// The order of a direction's transfers by rank.
std::vector<std::uint32_t> sequence(const plan::DirectionOrder& order) {
  std::vector<std::uint32_t> list(order.rank.size());
  std::iota(list.begin(), list.end(), 0U);
  std::stable_sort(list.begin(), list.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return order.rank[a] < order.rank[b]; });
  return list;
}

class ClosedForm : public search::Evaluator {
 public:
  explicit ClosedForm(std::shared_ptr<const bounds::ForwardProblem> problem) : problem_(std::move(problem)) {}

  Duration evaluate(const plan::Order& order, Duration stop_above) override {
    STRETTO_ASSERT(order.pull.discipline == Discipline::Strict, "the closed form needs a strict order");
    ++counters_.evaluations;
    const Duration cost = bounds::makespan(*problem_, sequence(order.pull));
    if (cost <= stop_above) return cost;
    ++counters_.stopped;
    return kAbove;
  }
  std::unique_ptr<Evaluator> clone() const override { return std::make_unique<ClosedForm>(problem_); }

 private:
  std::shared_ptr<const bounds::ForwardProblem> problem_;
};

}  // namespace

std::unique_ptr<search::Evaluator> make_engine_evaluator(const Setup& setup, const EvaluatorOptions& options) {
  check_size(setup, setup.layout);
  auto shared = std::make_shared<Shared>();
  shared->setup = setup;
  shared->options = options;
  shared->compiled = training::compile(*setup.graph, setup.cluster, setup.layout, setup.training);
  const bool changes = !setup.variation.slow_workers.empty() || !setup.variation.nics.empty() ||
                       setup.variation.stragglers || !setup.variation.bursts.empty();
  if (!setup.training.barrier) {
    shared->warm_up = options.steady_warm_up;
    shared->iterations = options.steady_warm_up + options.steady_steps;
  }
  if (changes || (setup.training.barrier && setup.training.input_time > Duration())) {
    shared->warm_up = options.warm_up;
    shared->iterations = options.iterations;
  }
  for (std::uint32_t r = 0; r < std::max(1U, options.replications); ++r)
    shared->variations.push_back(
        training::compile_variation(shared->compiled, setup.variation, noise_stream(options.seed, r)));
  return std::make_unique<EngineEvaluator>(std::move(shared));
}

std::unique_ptr<search::Evaluator> make_closed_form_evaluator(const Setup& setup) {
  const cluster::Cluster& c = setup.cluster;
  if (setup.training.mode != training::Mode::Inference || c.workers.size() != 1 || c.servers.size() != 1)
    return nullptr;
  const cluster::Worker& worker = c.workers.front();
  const cluster::Server& server = c.servers.front();
  if (worker.device.cores != 1 || worker.device.copies_in() || setup.drawn() || !worker.receive.is_zero() ||
      !server.send.is_zero() || c.network.latency > Duration() || c.network.streams != 1 ||
      c.step_overhead > Duration() || setup.training.input_time > Duration() || !setup.variation.none() ||
      server.on_worker || c.network.fabric.kind != cluster::FabricKind::Star || !worker.pcie.is_unlimited())
    return nullptr;
  if (c.network.model == cluster::LinkModel::Fifo && server.nic.up != worker.nic.down) return nullptr;
  if (c.network.model == cluster::LinkModel::Fifo && !server.nic.up.is_unlimited()) return nullptr;
  auto problem = std::make_shared<bounds::ForwardProblem>();
  const bounds::ForwardProblem whole =
      bounds::forward_problem(*setup.graph, std::vector<Duration>(setup.graph->parameters.size()));
  const auto& transfers = setup.layout.transfers;
  problem->needs = graph::BitMatrix(whole.needs.rows(), transfers.size());
  for (const plan::Transfer& t : transfers) problem->transfer.push_back(cluster::pull_time(c, 0, 0, t.bytes));
  for (std::size_t o = 0; o < whole.compute.size(); ++o) {
    problem->compute.push_back(whole.compute[o].scaled(1.0 / worker.device.speed));
    graph::for_each_bit(whole.needs.row(o), [&](std::size_t p) {
      for (std::uint32_t t = setup.layout.first[p]; t < setup.layout.first[p + 1]; ++t) problem->needs.set(o, t);
    });
  }
  return std::make_unique<ClosedForm>(std::move(problem));
}

}  // namespace stretto::experiment
