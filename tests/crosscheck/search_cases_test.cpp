// SPDX-License-Identifier: Apache-2.0
// Search on the tiny problems with proven optima of schedules/cases.json in the reference data: forward cases by exact
// search, steady cases (whole tensors, one worker, no barrier) by the whole search on the engine.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>

#include "experiment/bounds/step_facts.hpp"
#include "experiment/search/evaluator.hpp"
#include "experiment/search/starts.hpp"
#include "models/graph/order.hpp"
#include "schedulers/bounds/split.hpp"
#include "schedulers/policies/registry.hpp"
#include "schedulers/search/forward.hpp"
#include "schedulers/search/search.hpp"
#include "schedulers/search/shop.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/schedule_cases.hpp"

namespace stretto {
namespace {

namespace dom = simdjson::dom;

double in_units(Duration d) { return d.seconds() * 1e6; }

experiment::Setup one_to_one(graph::Graph graph, training::Options training) {
  experiment::Setup s;
  s.graph = std::make_shared<const graph::Graph>(std::move(graph));
  s.training = training;
  s.cluster = test::one_to_one();
  s.placement = "round_robin";
  experiment::place(s);
  return s;
}

search::State search_all(const experiment::Setup& setup, bool* optimal) {
  search::Problem problem;
  problem.starts = experiment::make_starts(setup, {}, {Bytes(1)}, 1);
  const auto evaluator = experiment::make_engine_evaluator(setup);
  const auto bound = experiment::lower_bound(setup);
  const auto relaxation = experiment::make_relaxation(setup);
  problem.evaluator = evaluator.get();
  problem.layout = &setup.layout;
  problem.bound = bound.value;
  problem.bound_name = bound.name;
  problem.rounding = Duration::ps(100);
  problem.relaxation = relaxation ? &*relaxation : nullptr;
  search::Options options;
  options.evaluations = 3'000;
  const search::State state = search::search(problem, options);
  *optimal = search::is_optimal(problem, state);
  return state;
}

void check_forward(dom::element source) {
  SCOPED_TRACE(std::string(source["name"].get_string().value()));
  test::ForwardCase c = test::read_forward(source);
  const auto result = search::best_first(bounds::forward_problem(c.graph, c.times), 1'000'000);
  const double optimum = source["optimal_makespan"].get_double().value();
  EXPECT_TRUE(result.proven);
  EXPECT_NEAR(in_units(result.cost), optimum, 1e-9);
  bool optimal = false;
  const auto state = search_all(one_to_one(std::move(c.graph), {training::Mode::Inference, true, {}}), &optimal);
  EXPECT_TRUE(optimal);
  EXPECT_NEAR(in_units(state.cost), optimum, 1e-4);
}

void check_steady(dom::element source) {
  SCOPED_TRACE(std::string(source["name"].get_string().value()));
  const graph::Graph g = test::chain(test::read_layers(source));
  bool optimal = false;
  const auto steady = search_all(one_to_one(g, {training::Mode::Training, false, {}}), &optimal);
  EXPECT_NEAR(in_units(steady.cost), source["optimal_period_whole_tensors"].get_double().value(), 1e-3)
      << steady.found_by;
  EXPECT_TRUE(optimal) << steady.bound_name;
  const auto barrier = search_all(one_to_one(g, {training::Mode::Training, true, {}}), &optimal);
  EXPECT_TRUE(optimal);
  EXPECT_NEAR(in_units(barrier.cost), source["barrier_period"].get_double().value(), 1e-3) << barrier.found_by;
}

TEST(SearchCases, EveryOptimumIsFound) {
  const auto path = data_path("schedules/cases.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  EXPECT_GE(test::read_cases(path, check_forward, check_steady), 8U);
}

// TAC's order is the worst of all, half as long again as the optimum; the search proves that it found better.
TEST(SearchCases, TacAtItsWorst) {
  graph::Graph g;
  for (const auto& [name, bytes] : {std::pair("a", 6000), std::pair("b", 1000), std::pair("c", 2000)})
    g.parameters.push_back({name, Bytes(bytes), true, {}});
  g.ops.push_back({"x", graph::Phase::Forward, test::units(6), {}, {graph::ParameterId(1), graph::ParameterId(2)}});
  g.ops.push_back({"y", graph::Phase::Forward, test::units(1), {}, {graph::ParameterId(0)}});
  const auto setup = one_to_one(std::move(g), {training::Mode::Inference, true, {}});
  std::vector<Duration> times;
  for (const auto& p : setup.graph->parameters) times.push_back(cluster::pull_time(setup.cluster, 0, 0, p.bytes));
  const auto tac = policies::make_order("tac", {*setup.graph, setup.layout, times});
  EXPECT_EQ(in_units(experiment::make_engine_evaluator(setup)->evaluate(tac)), 15);
  bool optimal = false;
  EXPECT_EQ(in_units(search_all(setup, &optimal).cost), 10);
  EXPECT_TRUE(optimal);
}

// Two gradients of one loss: the device does the second one after the first, whatever the transfers do.
TEST(SearchCases, GradientsAreReadyOneAfterTheOther) {
  graph::Graph g;
  for (const char* name : {"p", "q"}) g.parameters.push_back({name, Bytes(1000), true, {}});
  g.ops.push_back(
      {"forward", graph::Phase::Forward, test::units(1), {}, {graph::ParameterId(0), graph::ParameterId(1)}});
  g.ops.push_back({"loss", graph::Phase::Forward, test::units(1), {graph::OpId(0)}, {}});
  g.ops.push_back({"decay", graph::Phase::Backward, test::units(5), {}, {graph::ParameterId(1)}});
  g.ops.push_back({"p_grad", graph::Phase::Backward, test::units(1), {graph::OpId(1)}, {}});
  g.ops.push_back({"q_grad", graph::Phase::Backward, test::units(2), {graph::OpId(1), graph::OpId(2)}, {}});
  g.parameters[0].gradient = graph::OpId(3);
  g.parameters[1].gradient = graph::OpId(4);
  const training::Options steady{training::Mode::Training, false, {}};
  EXPECT_EQ(experiment::step_facts(one_to_one(g, steady)).gradients,
            (std::vector<Duration>{test::units(1), test::units(3)}));
  auto any = one_to_one(g, steady);
  any.cluster.workers[0].device.order = cluster::OpOrder::Random;
  EXPECT_TRUE(experiment::step_facts(any).gradients.empty());
  // The decay may be behind the loss in the queue, and the other gradient then comes first.
  graph::Graph late = g;
  late.ops[1].reads = {graph::ParameterId(1)};
  late.ops[0].reads = {graph::ParameterId(0)};
  EXPECT_TRUE(experiment::step_facts(one_to_one(late, steady)).gradients.empty());
  g.ops[2].inputs = {graph::OpId(0)};
  EXPECT_TRUE(experiment::step_facts(one_to_one(g, steady)).gradients.empty());
}

// Ends of ops by iteration.
class Ends : public program::Observer {
 public:
  Ends(const training::Compiled& compiled, std::size_t ops, std::uint32_t steps)
      : compiled_(compiled), end(steps, std::vector<Time>(ops)) {}
  void on_end(const program::ActivityRecord& r) override {
    const training::Label& label = compiled_.labels[r.activity];
    if (label.role == training::Role::Op && label.worker == 0) end[r.iteration][label.item] = r.end;
  }

 private:
  const training::Compiled& compiled_;

 public:
  std::vector<std::vector<Time>> end;
};

// Decay of some variables: ops that read them, of which the last is a part of the gradient or of nothing.
void add_decay(graph::Graph& g, RandomStream& random) {
  for (std::size_t p = 0; p < g.parameters.size(); ++p) {
    if (random.below(2) == 0) continue;
    for (std::uint64_t n = 1 + random.below(2), k = 0; k < n; ++k) {
      graph::Op op{fmt::format("decay {} {}", p, k),
                   graph::Phase::Backward,
                   test::units(static_cast<double>(random.below(4))),
                   {},
                   {}};
      if (k == 0)
        op.reads.emplace_back(p);
      else
        op.inputs.emplace_back(g.ops.size() - 1);
      if (random.below(4) == 0) op.inputs.emplace_back(0U);
      g.ops.push_back(std::move(op));
    }
    if (g.parameters[p].gradient.valid() && random.below(3) != 0)
      g.ops[g.parameters[p].gradient.index()].inputs.emplace_back(g.ops.size() - 1);
  }
}

TEST(SearchCases, GradientsAndDecayKeepTheirTimes) {
  constexpr std::uint32_t kSteps = 6;
  std::size_t checked = 0;
  std::size_t delayed = 0;
  std::size_t done = 0;
  std::size_t open = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "tests/crosscheck/gradients");
    const test::Shape shape = test::kShapes[random.below(3)];
    graph::Graph g = test::random_graph({shape, 2 + random.below(7), 2 + random.below(5), true, 3, 4000}, seed);
    if (random.below(2) == 0) add_decay(g, random);
    auto setup = one_to_one(g, {training::Mode::Training, random.below(4) == 0, {}});
    if (random.below(2) == 0) setup.cluster.workers.push_back(setup.cluster.workers.front());
    const auto facts = experiment::step_facts(setup);
    const std::vector<Duration>& times = facts.gradients;
    if (facts.by_loss.empty()) continue;
    if (!times.empty()) ++checked;
    const auto split = bounds::split_at_loss(g, graph::needs(g), bounds::feeds(g));
    const auto compiled = training::compile(g, setup.cluster, setup.layout, setup.training);
    for (const search::Start& start : experiment::make_starts(setup, {}, {Bytes(1)}, 1)) {
      const auto table = training::compile_order(compiled, setup.layout, start.order, seed);
      program::Simulation simulation(compiled.program, table, kSteps);
      Ends ends(compiled, g.ops.size(), kSteps);
      simulation.observe(&ends);
      ASSERT_EQ(simulation.run_until(kSteps), program::Status::Reached);
      for (std::uint32_t i = 0; i < kSteps; ++i) {
        Time loss;
        for (std::size_t o = 0; o < g.ops.size(); ++o)
          if (split.before[o]) loss = std::max(loss, ends.end[i][o]);
        for (std::size_t o = 0; o < g.ops.size(); ++o) {
          if (!facts.by_loss[o]) {
            open += ends.end[i][o] > loss && !split.after[o] ? 1 : 0;
            continue;
          }
          ASSERT_LE(ends.end[i][o], loss) << "step " << i << ", " << g.ops[o].name << ", " << start.name;
          ++done;
        }
        for (std::size_t p = 0; p < g.parameters.size() && !times.empty(); ++p) {
          if (!g.parameters[p].gradient.valid()) continue;
          const Duration after = ends.end[i][g.parameters[p].gradient.index()] - loss;
          ASSERT_GE(after, times[p]) << "step " << i << ", " << g.parameters[p].name << ", " << start.name;
          delayed += after > times[p] ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(checked, 50U);
  EXPECT_GT(delayed, 0U);  // by ops of the next step
  EXPECT_GT(done, 1000U);
  EXPECT_GT(open, 100U);
}

TEST(SearchCases, PullsComeTogetherOnlyWhereNothingIsDrawnOrChanges) {
  const graph::Graph g = test::random_graph({test::Shape::Chain, 3, 3, true, 6, 4000}, 1);
  auto setup = one_to_one(g, {training::Mode::Training, false, {}});
  setup.cluster.workers.push_back(setup.cluster.workers.front());
  plan::Order order;
  EXPECT_TRUE(experiment::step_facts(setup, order).one_order);
  EXPECT_TRUE(experiment::step_facts(setup, order).alike);
  order.start_offsets = {Duration(), test::units(1)};
  EXPECT_TRUE(experiment::step_facts(setup, order).one_order);
  EXPECT_FALSE(experiment::step_facts(setup, order).alike);
  for (const auto drawn : {plan::Discipline::Unordered, plan::Discipline::Window}) {
    order.pull.discipline = drawn;
    EXPECT_FALSE(experiment::step_facts(setup, order).one_order);
  }
  order = {};
  setup.variation.nics.push_back({});
  EXPECT_FALSE(experiment::step_facts(setup, order).one_order);
  EXPECT_FALSE(experiment::step_facts(setup, order).alike);
}

// Workers that differ in nothing, pulls in one order: no order is faster than the bound that takes it into account.
TEST(SearchCases, NoOrderOfEqualWorkersBeatsTheBoundOfPullsTogether) {
  experiment::EvaluatorOptions options;
  options.steady_warm_up = 20;
  options.steady_steps = 100;
  std::size_t checked = 0;
  std::size_t higher = 0;  // than the bound of any order
  double gap = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "tests/crosscheck/together");
    graph::Graph g = test::random_graph(
        {test::kShapes[random.below(4)], 2 + random.below(5), 2 + random.below(5), true, 6, 4000}, seed);
    if (random.below(2) == 0) add_decay(g, random);
    auto setup = one_to_one(std::move(g), {training::Mode::Training, false, {}});
    auto& c = setup.cluster;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) c.workers.push_back(c.workers.front());
    if (random.below(2) == 0) c.servers.push_back(c.servers.front());
    if (random.below(2) == 0) c.servers[0].update_rate = Bandwidth(16'000'000'000);
    if (random.below(2) == 0) c.network.latency = Duration::us(1);
    if (random.below(3) == 0) c.network.streams = 0;
    setup.placement = random.below(2) == 0 ? "round_robin" : "partitioned";
    experiment::place(setup);
    if (random.below(3) == 0) {
      graph::Graph frozen = *setup.graph;
      frozen.parameters.front().gradient = {};
      setup.graph = std::make_shared<const graph::Graph>(std::move(frozen));
    }
    const bool offsets = random.below(3) == 0;
    auto facts = experiment::step_facts(setup);
    const Duration any = experiment::lower_bound(setup, facts).value.value();
    facts.one_order = true;
    facts.alike = !offsets;
    const Duration bound = experiment::lower_bound(setup, facts).value.value();
    ASSERT_GE(bound, any);
    if (bound == any) continue;
    ++checked;
    const auto evaluator = experiment::make_engine_evaluator(setup, options);
    Duration best = search::kAbove;
    for (search::Start& start : experiment::make_starts(setup, {}, {Bytes(1), Bytes(4000)}, 1)) {
      ASSERT_TRUE(experiment::pulls_in_one_order(start.order));
      if (offsets && random.below(2) == 0)
        for (std::size_t w = 0; w < c.workers.size(); ++w)
          start.order.start_offsets.push_back(test::units(static_cast<double>(random.below(20))));
      const Duration cost = evaluator->evaluate(start.order);
      // At most two steps' worth of work is on its way at the ends of the measured window.
      ASSERT_GE(cost, bound.scaled(1 - 2.0 / 100)) << start.name;
      best = std::min(best, cost);
    }
    gap += best.seconds() / bound.seconds() - 1;
    higher += bound > any.scaled(1.01) ? 1 : 0;
  }
  EXPECT_GT(checked, 40U);
  EXPECT_GT(higher, 20U);
  EXPECT_LT(gap / static_cast<double>(checked), 0.25);
}

// The flow shop of a steady step: no order of any kind beats its optimum on the engine, which often attains it.
TEST(SearchCases, TheFlowShopBoundsSteadySteps) {
  std::size_t problems = 0;
  std::size_t attained = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "tests/crosscheck/shop");
    const test::Shape shape = test::kShapes[random.below(3)];
    graph::Graph g = test::random_graph({shape, 2 + random.below(5), 2 + random.below(5), true, 6, 6000}, seed);
    auto setup = one_to_one(std::move(g), {training::Mode::Training, false, {}});
    if (random.below(2) == 0) setup.cluster.servers[0].update_rate = Bandwidth(16'000'000'000);
    if (random.below(2) == 0) setup.cluster.network.latency = Duration::us(1);
    const auto relaxation = experiment::make_relaxation(setup);
    if (!relaxation) continue;
    ASSERT_FALSE(relaxation->trips.empty());
    const search::ShopResult shop = search::flow_shop(relaxation->trips, 20'000);
    ASSERT_TRUE(shop.proven);
    const auto evaluator = experiment::make_engine_evaluator(setup);
    Duration best = search::kAbove;
    for (const search::Start& start : experiment::make_starts(setup, {}, {Bytes(1), Bytes(4000)}, 1))
      best = std::min(best, evaluator->evaluate(start.order));
    ASSERT_GE(best + Duration::ns(1), shop.bound);
    bool optimal = false;
    const search::State state = search_all(setup, &optimal);
    ASSERT_GE(state.cost + Duration::ns(1), shop.bound);
    ++problems;
    attained += optimal ? 1 : 0;
  }
  EXPECT_GT(problems, 30U);
  EXPECT_GT(attained, problems / 2);
}

}  // namespace
}  // namespace stretto
