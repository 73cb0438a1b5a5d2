// SPDX-License-Identifier: Apache-2.0
// Evaluations of orders per second: full on one worker, and a late change on a large program, full against resumed from
// a snapshot. The answers are compared before anything is timed. Models are PipeDream's profiles of the reference data;
// without them the rows are skipped.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>

#include "experiment/search/evaluator.hpp"
#include "experiment/search/starts.hpp"
#include "io/import/import.hpp"
#include "tests/support/paths.hpp"

namespace stretto {
namespace {

bool failed = false;

experiment::Setup setup_of(const std::string& model, std::size_t workers) {
  experiment::Setup s;
  s.graph = std::make_shared<const graph::Graph>(io::import_any(data_path("pipedream/" + model + ".graph.txt")).graph);
  s.training = {training::Mode::Training, true, {}};
  double bits = 0;
  double forward = 0;
  for (const auto& p : s.graph->parameters) bits += 8.0 * static_cast<double>(p.bytes.count());
  for (const auto& op : s.graph->ops)
    if (op.phase == graph::Phase::Forward) forward += op.time.seconds();
  const Bandwidth rate(static_cast<std::int64_t>(bits / forward));
  const cluster::Nic nic{rate, rate};
  for (std::size_t w = 0; w < workers; ++w) s.cluster.workers.push_back({"worker", {}, nic, 0, {}, {}});
  const cluster::Nic fast{rate.scaled(static_cast<double>(workers)), rate.scaled(static_cast<double>(workers))};
  s.cluster.servers.push_back({"server", fast, 0, {}, {}, Bandwidth::unlimited()});
  s.placement = "round_robin";
  experiment::place(s);
  return s;
}

plan::Order in_order(const experiment::Setup& s) {
  plan::Order order;
  order.pull.discipline = plan::Discipline::Strict;
  order.pull.rank.resize(s.layout.transfers.size());
  std::iota(order.pull.rank.begin(), order.pull.rank.end(), 0U);
  order.push.discipline = plan::Discipline::Strict;  // in the order of the backward pass
  order.push.rank.assign(order.pull.rank.rbegin(), order.pull.rank.rend());
  return order;
}

// The last two pushes of the backward pass change places.
plan::Order late_change(plan::Order order) {
  std::swap(order.push.rank[0], order.push.rank[1]);
  return order;
}

bool same(benchmark::State& state, search::Evaluator& a, search::Evaluator& b, const plan::Order& order) {
  if (a.evaluate(order) == b.evaluate(order)) return true;
  failed = true;
  state.SkipWithError("evaluators differ");
  return false;
}

void full(benchmark::State& state, const std::string& model, bool reduce) {
  const experiment::Setup whole = setup_of(model, 1);
  const experiment::Setup s = reduce ? experiment::reduced(whole) : whole;
  experiment::EvaluatorOptions options;
  options.snapshots = 0;
  const auto evaluator = experiment::make_engine_evaluator(s, options);
  const auto unreduced = experiment::make_engine_evaluator(whole, options);
  plan::Order order = in_order(s);
  if (!same(state, *evaluator, *unreduced, order)) return;
  std::size_t at = 0;
  for (auto _ : state) {
    std::swap(order.pull.rank[at], order.pull.rank[at + 1]);
    at = (at + 1) % (order.pull.rank.size() - 1);
    benchmark::DoNotOptimize(evaluator->evaluate(order));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["ops"] = static_cast<double>(s.graph->ops.size());
  state.counters["transfers"] = static_cast<double>(s.layout.transfers.size());
}

void late(benchmark::State& state, bool resume) {
  const experiment::Setup s = setup_of("resnet101", 32);
  experiment::EvaluatorOptions options;
  options.snapshots = resume ? 48 : 0;
  const auto evaluator = experiment::make_engine_evaluator(s, options);
  options.snapshots = 0;
  const auto plain = experiment::make_engine_evaluator(s, options);
  const plan::Order base = in_order(s);
  const plan::Order orders[] = {late_change(base), base};
  evaluator->expect_near(base);
  for (const plan::Order& order : orders)
    if (!same(state, *evaluator, *plain, order)) return;
  std::size_t i = 0;
  const std::uint64_t before = evaluator->counters().activities;
  for (auto _ : state) benchmark::DoNotOptimize(evaluator->evaluate(orders[i++ % 2]));
  state.SetItemsProcessed(state.iterations());
  state.counters["activities"] =
      static_cast<double>(evaluator->counters().activities - before) / static_cast<double>(state.iterations());
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  using namespace stretto;
  if (std::filesystem::exists(data_path("pipedream/resnet101.graph.txt"))) {
    benchmark::RegisterBenchmark("full/resnet101/reduced", [](benchmark::State& s) { full(s, "resnet101", true); });
    benchmark::RegisterBenchmark("full/resnet101/whole", [](benchmark::State& s) { full(s, "resnet101", false); });
    benchmark::RegisterBenchmark("late_change/full", [](benchmark::State& s) {
      late(s, false);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("late_change/resumed", [](benchmark::State& s) {
      late(s, true);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return failed ? 1 : 0;
}
