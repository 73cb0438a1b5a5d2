// SPDX-License-Identifier: Apache-2.0
// Tiny scheduling problems with proven optima: the cases of schedules/cases.json in the reference data, and our own
// copies of facts, which need no file. Every order is enumerated; policies, closed form and bounds must give the stated
// figures.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "models/graph/order.hpp"
#include "schedulers/bounds/forward.hpp"
#include "schedulers/bounds/machine.hpp"
#include "schedulers/bounds/step.hpp"
#include "schedulers/policies/registry.hpp"
#include "schedulers/policies/tic.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/schedule_cases.hpp"

namespace stretto {
namespace {

using graph::Graph;
using graph::ParameterId;
using graph::Phase;
using Order = std::vector<std::uint32_t>;
namespace dom = simdjson::dom;

double in_units(Duration d) { return static_cast<double>(d.ps()) / 1e6; }

plan::Layout whole(const Graph& g) {
  plan::Layout layout;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < g.parameters.size(); ++p) {
    layout.transfers.push_back({ParameterId(p), 0, g.parameters[p].bytes, 0});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  return layout;
}

Order order_of(const std::string& policy, const Graph& g, const std::vector<Duration>& m) {
  const auto plan = policies::make_order(policy, {g, whole(g), m});
  Order order(plan.pull.rank.size());
  for (std::uint32_t t = 0; t < order.size(); ++t) order[plan.pull.rank[t]] = t;
  return order;
}

struct Enumerated {
  double best = 1e9;
  double worst = 0;
  double mean = 0;
  std::vector<Order> optimal;
};

Enumerated enumerate(const bounds::ForwardProblem& problem) {
  Enumerated result;
  Order order(problem.transfer.size());
  std::iota(order.begin(), order.end(), 0u);
  double sum = 0;
  double count = 0;
  do {
    const double value = in_units(bounds::makespan(problem, order));
    if (value < result.best) result.optimal.clear();
    result.best = std::min(result.best, value);
    result.worst = std::max(result.worst, value);
    if (value == result.best) result.optimal.push_back(order);
    sum += value;
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  result.mean = sum / count;
  return result;
}

std::vector<std::string> names_of(const Graph& g, const Order& order) {
  std::vector<std::string> names;
  for (const auto t : order) names.push_back(g.parameters[t].name);
  return names;
}

std::vector<std::string> strings(dom::element list) {
  std::vector<std::string> result;
  for (const auto s : list.get_array()) result.emplace_back(s.get_string().value());
  return result;
}

void check_forward(dom::element source) {
  SCOPED_TRACE(std::string(source["name"].get_string().value()));
  const auto c = test::read_forward(source);
  const auto problem = bounds::forward_problem(c.graph, c.times);
  const auto all = enumerate(problem);
  EXPECT_EQ(all.best, source["optimal_makespan"].get_double().value());
  EXPECT_EQ(all.worst, source["worst_order_makespan"].get_double().value());
  EXPECT_NEAR(all.mean, source["random_order_mean"].get_double().value(), 1e-4);
  std::vector<std::vector<std::string>> optimal;
  for (const auto& order : all.optimal) optimal.push_back(names_of(c.graph, order));
  std::vector<std::vector<std::string>> expected;
  for (const auto list : source["optimal_transfer_orders"].get_array()) expected.push_back(strings(list));
  std::sort(optimal.begin(), optimal.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(optimal, expected);
  for (const std::string policy : {"tic", "tac", "fifo"}) {
    SCOPED_TRACE(policy);
    const auto order = order_of(policy, c.graph, c.times);
    EXPECT_EQ(names_of(c.graph, order), strings(source[policy]["order"]));
    EXPECT_EQ(in_units(bounds::makespan(problem, order)), source[policy]["makespan"].get_double().value());
  }
  const auto m_plus = policies::tic_m_plus(c.graph);
  std::size_t p = 0;
  for (const auto value : source["tic"]["m_plus"].get_array())
    EXPECT_EQ(m_plus[p++],
              value.is_null() ? policies::kNoSharedOp : static_cast<std::uint32_t>(value.get_uint64().value()));
  const auto bound = source["lower_bounds"];
  EXPECT_EQ(in_units(bounds::load_bound(problem)), bound["load"].get_double().value());
  EXPECT_EQ(in_units(bounds::head_bound(problem)), bound["head"].get_double().value());
  EXPECT_EQ(in_units(bounds::tail_bound(problem)), bound["tail"].get_double().value());
  EXPECT_LE(in_units(graph::critical_path(c.graph)), all.best);
}

void check_steady(dom::element source) {
  SCOPED_TRACE(std::string(source["name"].get_string().value()));
  const std::vector<test::Layer> layers = test::read_layers(source);
  const Duration update = test::units(source["update_time"].get_double().value());
  ASSERT_EQ(update, Duration());
  std::vector<bounds::Job> up;
  std::vector<bounds::Job> down;
  std::vector<bounds::TwoStageJob> both;
  Duration cycle;
  for (std::size_t v = 0; v < layers.size(); ++v) {
    Duration head;
    Duration tail;
    for (std::size_t i = v; i < layers.size(); ++i) {
      head += test::units(layers[i].backward);
      tail += test::units(layers[i].forward);
    }
    const auto m = test::units(static_cast<double>(layers[v].tensor));
    up.push_back({head, m, m + tail});
    down.push_back({head + m, m, tail});
    both.push_back({head, m, Duration(), m, tail});
    cycle = std::max(cycle, head + m + m + tail);
  }
  const auto expected = source["lower_bounds_whole_tensors"];
  EXPECT_EQ(in_units(cycle), expected["cyc"].get_double().value());
  EXPECT_EQ(in_units(bounds::one_machine_bound(up)), expected["up"].get_double().value());
  EXPECT_EQ(in_units(bounds::one_machine_bound(down)), expected["down"].get_double().value());
  EXPECT_EQ(in_units(bounds::two_machine_bound(both)), expected["f2"].get_double().value());
  const auto g = test::chain(layers);
  const auto steady = bounds::step_lower_bound(g, test::one_to_one(), whole(g), true, false);
  EXPECT_EQ(in_units(*steady.value), expected["comb"].get_double().value()) << steady.name;
  EXPECT_LE(in_units(*steady.value), source["optimal_period_whole_tensors"].get_double().value());
  const auto sliced = bounds::any_layout_lower_bound(g, test::one_to_one(), true, false);
  EXPECT_EQ(in_units(*sliced.value), source["fluid_period_infinitesimal_slices"].get_double().value()) << sliced.name;
  const auto barrier = bounds::step_lower_bound(g, test::one_to_one(), whole(g), true, true);
  EXPECT_EQ(in_units(*barrier.value), source["barrier_period"].get_double().value()) << barrier.name;
}

TEST(ScheduleCases, ReferenceData) {
  const auto path = data_path("schedules/cases.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  EXPECT_GE(test::read_cases(path, check_forward, check_steady), 8U);
}

struct OwnOp {
  double time;
  std::vector<std::size_t> needs;
  std::vector<std::size_t> after;
};

struct Own {
  const char* name;
  std::vector<double> transfers;  // named a, b, c, ...
  std::vector<OwnOp> ops;
  double optimum;
  double worst;
  double tic;
  double tac;
  double fifo;
  double head;
  double tail;
};

// Each stands for a fact about one policy or bound.
const std::vector<Own> kOwn{
    {"tac takes the worst order", {6, 1, 2}, {{6, {1, 2}, {}}, {1, {0}, {}}}, 10, 15, 10, 15, 10, 10, 10},
    {"tic cannot see sizes", {5, 1}, {{5, {1}, {}}, {0, {0}, {}}}, 6, 11, 11, 6, 6, 6, 6},
    {"fifo is optimal on a chain", {2, 3, 1}, {{2, {0}, {}}, {2, {1}, {0}}, {2, {2}, {1}}}, 9, 12, 9, 9, 9, 9, 9},
    {"no bound reaches the optimum",
     {1, 3, 6, 2},
     {{1, {0}, {}}, {3, {1}, {}}, {0, {0, 3}, {1}}, {6, {2}, {}}},
     16,
     18,
     18,
     16,
     18,
     12,
     12},
};

TEST(ScheduleCases, OurOwn) {
  for (const Own& own : kOwn) {
    SCOPED_TRACE(own.name);
    test::ForwardCase c;
    for (const double t : own.transfers) {
      c.graph.parameters.push_back({std::string(1, static_cast<char>('a' + c.times.size())), Bytes(4), true, {}});
      c.times.push_back(test::units(t));
    }
    for (const OwnOp& op : own.ops) {
      graph::Op made{fmt::format("op{}", c.graph.ops.size()), Phase::Forward, test::units(op.time), {}, {}};
      for (const auto a : op.after) made.inputs.emplace_back(a);
      for (const auto r : op.needs) made.reads.emplace_back(r);
      c.graph.ops.push_back(std::move(made));
    }
    const auto problem = bounds::forward_problem(c.graph, c.times);
    const auto all = enumerate(problem);
    EXPECT_EQ(all.best, own.optimum);
    EXPECT_EQ(all.worst, own.worst);
    const auto value = [&](const char* policy) {
      return in_units(bounds::makespan(problem, order_of(policy, c.graph, c.times)));
    };
    EXPECT_EQ(value("tic"), own.tic);
    EXPECT_EQ(value("tac"), own.tac);
    EXPECT_EQ(value("fifo"), own.fifo);
    EXPECT_EQ(in_units(bounds::head_bound(problem)), own.head);
    EXPECT_EQ(in_units(bounds::tail_bound(problem)), own.tail);
  }
}

// Three layers (forward, backward, tensor): 1 1 2, 2 2 1, 1 2 6. Heads 5 4 2, tails 4 3 1.
// cycle 5+4+4 = 13, 4+2+3 = 9, 2+12+1 = 15. Up: heads, tails m + tail: all three 2 + 9 + min(6, 4, 7) = 15.
// Two machines: all three 2 + 9 + 6 + 1 = 18. Sliced: 2 + 9 + 1 = 12, first two 4 + 3 + 3 = 10, first 5 + 2 + 4 = 11.
// Barrier: forward 9 + 1, against 2 + 4 and 3 + 3; backward: 2 + 9, against 4 + 3 and 5 + 2.
TEST(ScheduleCases, OurOwnSteady) {
  const auto g = test::chain({{1, 1, 2}, {2, 2, 1}, {1, 2, 6}});
  EXPECT_EQ(in_units(*bounds::step_lower_bound(g, test::one_to_one(), whole(g), true, false).value), 18);
  EXPECT_EQ(in_units(*bounds::any_layout_lower_bound(g, test::one_to_one(), true, false).value), 12);
  EXPECT_EQ(in_units(*bounds::step_lower_bound(g, test::one_to_one(), whole(g), true, true).value), 21);
}

}  // namespace
}  // namespace stretto
