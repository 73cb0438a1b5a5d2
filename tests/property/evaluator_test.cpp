// SPDX-License-Identifier: Apache-2.0
// The evaluators of the search against plain runs of the engine: incremental = full, bit for bit, with and without a
// limit; the first step of a barrier = the mean of the runner; closed form = engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "experiment/search/evaluator.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/graph/reduce.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/random_setup.hpp"
#include "tests/support/trials.hpp"

namespace stretto {
namespace {

using Cell = experiment::Setup;
using plan::Discipline;
using search::kAbove;

// Transfers of more than 8 bytes are cut.
plan::Layout sliced(const plan::Layout& layout) {
  plan::Layout cut;
  cut.servers = layout.servers;
  cut.first.push_back(0);
  for (std::size_t p = 0; p + 1 < layout.first.size(); ++p) {
    std::uint32_t slice = 0;
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t)
      for (std::int64_t left = layout.transfers[t].bytes.count(); left > 0; left -= 8)
        cut.transfers.push_back({layout.transfers[t].parameter, slice++, Bytes(std::min<std::int64_t>(left, 8)),
                                 layout.transfers[t].server});
    cut.first.push_back(static_cast<std::uint32_t>(cut.transfers.size()));
  }
  return cut;
}

// Half of them cut.
Cell random_cell(RandomStream& random) {
  Cell s = test::random_setup(random);
  if (random.below(2) == 0) s.layout = sliced(s.layout);
  return s;
}

// Moves a block of one direction's places, or nothing.
void change(plan::DirectionOrder& order, RandomStream& random) {
  const std::size_t n = order.rank.size();
  if (n < 2) return;
  const auto from = random.below(n);
  const auto to = random.below(n);
  for (std::uint32_t& rank : order.rank)
    rank = rank == from                             ? static_cast<std::uint32_t>(to)
           : from < to && rank > from && rank <= to ? rank - 1
           : to < from && rank >= to && rank < from ? rank + 1
                                                    : rank;
}

// The same as the evaluators measure, by the engine alone.
Duration plain(const Cell& s, const plan::Order& order, const experiment::EvaluatorOptions& options) {
  const auto compiled = training::compile(*s.graph, s.cluster, s.layout, s.training);
  const auto table = training::compile_order(compiled, s.layout, order, 0);
  if (s.training.barrier) {
    program::Simulation sim(compiled.program, table, 1);
    if (sim.run_until(1) != program::Status::Reached) return kAbove;
    return sim.marker_times(0)[0] - Time();
  }
  const std::uint32_t iterations = options.steady_warm_up + options.steady_steps;
  program::Simulation sim(compiled.program, table, iterations + 1);
  if (sim.run_until(iterations) != program::Status::Reached) return kAbove;
  double sum = 0;
  for (std::uint32_t w = 0; w < compiled.workers; ++w) {
    const auto& times = sim.marker_times(compiled.worker_marker(w));
    sum += static_cast<double>((times[iterations - 1] - times[options.steady_warm_up - 1]).ps());
  }
  return Duration::ps(std::llround(sum / compiled.workers / options.steady_steps));
}

TEST(Evaluator, IncrementalIsFullBitForBit) {
  constexpr std::array kDisciplines{Discipline::Strict, Discipline::Priority, Discipline::Credit,
                                    Discipline::CreditSkip, Discipline::Free};
  RandomStream random(1, "evaluator/incremental");
  std::uint64_t resumed = 0;
  std::uint64_t evaluations = 0;
  for (const test::Trial trial : test::Trials(400)) {
    const Cell setup = random_cell(random);
    experiment::EvaluatorOptions options;
    options.snapshots = static_cast<std::uint32_t>(1 + random.below(40));
    const auto incremental = experiment::make_engine_evaluator(setup, options);
    options.snapshots = 0;
    const auto full = experiment::make_engine_evaluator(setup, options);
    plan::Order order;
    order.pull = test::random_order(setup.layout, kDisciplines[random.below(4)], random);
    order.push = test::random_order(setup.layout, kDisciplines[random.below(5)], random);
    if (random.below(4) == 0)
      for (std::size_t w = 0; w < setup.cluster.workers.size(); ++w)
        order.start_offsets.push_back(Duration::us(static_cast<std::int64_t>(random.below(20))));
    incremental->expect_near(order);
    for (int k = 0; k < 12; ++k) {
      const Duration expected = full->evaluate(order);
      ASSERT_EQ(incremental->evaluate(order), expected) << "evaluation " << k;
      const Duration check = plain(setup, order, options);
      const std::int64_t rounding = setup.training.barrier || check == kAbove ? 0 : experiment::kSteadyRounding.ps();
      ASSERT_LE(std::abs(check.ps() - expected.ps()), rounding) << "evaluation " << k;
      const Duration limit = expected == kAbove ? kAbove : expected.scaled(0.5 + 0.25 * static_cast<double>(k % 4));
      const Duration limited = expected <= limit ? expected : kAbove;
      ASSERT_EQ(incremental->evaluate(order, limit), limited) << "evaluation " << k;
      ASSERT_EQ(full->evaluate(order, limit), limited) << "evaluation " << k;
      if (random.below(3) == 0) incremental->expect_near(order);
      change(random.below(2) == 0 ? order.pull : order.push, random);
    }
    resumed += incremental->counters().resumed;
    evaluations += incremental->counters().evaluations;
  }
  EXPECT_GT(resumed, evaluations / 4);
}

TEST(Evaluator, OneStepOfABarrierIsTheRunnersMean) {
  RandomStream random(1, "evaluator/runner");
  for (const test::Trial trial : test::Trials(60)) {
    Cell setup = random_cell(random);
    setup.training.barrier = true;
    plan::Plan plan;
    plan.layout = setup.layout;
    plan.order.pull = test::random_order(setup.layout, Discipline::Strict, random);
    const auto measured = experiment::simulate(setup, plan, {});
    const Duration cost = experiment::make_engine_evaluator(setup)->evaluate(plan.order);
    EXPECT_NEAR(cost.seconds(), measured.mean(), 1e-10 + 1e-9 * measured.mean());
  }
}

TEST(Evaluator, SteadyStepsAreTheRunnersMean) {
  RandomStream random(1, "evaluator/steady");
  for (const test::Trial trial : test::Trials(60)) {
    Cell setup = random_cell(random);
    setup.training.barrier = false;
    setup.cluster.workers.resize(1);
    plan::Plan plan;
    plan.layout = setup.layout;
    plan.order.pull = test::random_order(setup.layout, Discipline::Strict, random);
    experiment::SimulateOptions options;
    options.iterations = 60;
    options.warm_up = 10;
    const auto measured = experiment::simulate(setup, plan, options);
    if (measured.deadlock) continue;
    const Duration cost = experiment::make_engine_evaluator(setup)->evaluate(plan.order);
    EXPECT_NEAR(cost.seconds() / measured.mean(), 1, 0.01);
  }
}

TEST(Evaluator, NoiseIsTheSameForEveryOrderAndTheLimitIsExact) {
  RandomStream random(1, "evaluator/noise");
  for (const test::Trial trial : test::Trials(40)) {
    Cell setup = random_cell(random);
    setup.variation.compute_cv = 0.1;
    plan::Order order;
    order.pull = test::random_order(setup.layout, Discipline::Strict, random);
    const auto evaluator = experiment::make_engine_evaluator(setup);
    const Duration cost = evaluator->evaluate(order);
    plan::Order other = order;
    change(other.pull, random);
    evaluator->evaluate(other, cost);
    EXPECT_EQ(evaluator->evaluate(order, cost), cost);
    EXPECT_EQ(evaluator->evaluate(order, cost - Duration::ps(1)), kAbove);
    EXPECT_EQ(evaluator->clone()->evaluate(order), cost);
  }
}

TEST(Evaluator, ClosedFormIsTheEngine) {
  RandomStream random(1, "evaluator/closed form");
  std::uint64_t held = 0;
  for (const test::Trial trial : test::Trials(400)) {
    Cell setup = random_cell(random);
    setup.graph = std::make_shared<const graph::Graph>(graph::forward_only(*setup.graph));
    setup.training = {training::Mode::Inference, true};
    if (trial % 2 == 0) {
      setup.cluster.workers.resize(1);
      setup.cluster.servers.resize(1);
      setup.cluster.workers[0].device.cores = 1;
      setup.cluster.workers[0].device.copy_in = Bandwidth::unlimited();
      setup.cluster.workers[0].receive = setup.cluster.servers[0].send = {};
      setup.cluster.network = {};
      experiment::place(setup);
      if (random.below(2) == 0) setup.layout = sliced(setup.layout);
    }
    const auto closed = experiment::make_closed_form_evaluator(setup);
    ASSERT_TRUE(closed != nullptr || trial % 2 != 0);
    if (!closed) continue;
    ++held;
    plan::Order order;
    order.pull = test::random_order(setup.layout, Discipline::Strict, random);
    const Duration engine = experiment::make_engine_evaluator(setup)->evaluate(order);
    const Duration form = closed->evaluate(order);
    EXPECT_LE(std::abs((form - engine).ps()), static_cast<std::int64_t>(setup.layout.transfers.size()));
    EXPECT_EQ(closed->evaluate(order, form - Duration::ps(1)), kAbove);
  }
  EXPECT_GE(held, test::trials(400) / 2);
}

TEST(Evaluator, BatchesDoNotDependOnThreads) {
  RandomStream random(1, "evaluator/threads");
  const Cell setup = random_cell(random);
  std::vector<plan::Order> orders(20);
  for (plan::Order& order : orders) order.pull = test::random_order(setup.layout, Discipline::Strict, random);
  std::vector<std::unique_ptr<search::Evaluator>> evaluators;
  evaluators.push_back(experiment::make_engine_evaluator(setup));
  const auto one = search::evaluate_all(evaluators, orders);
  while (evaluators.size() < 3) evaluators.push_back(evaluators.front()->clone());
  EXPECT_EQ(search::evaluate_all(evaluators, orders), one);
}

}  // namespace
}  // namespace stretto
