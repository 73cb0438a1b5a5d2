// SPDX-License-Identifier: Apache-2.0
// What leaves the program and comes back: schedules, orders by names, CSV.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/export/csv.hpp"
#include "io/export/schedule.hpp"
#include "io/export/tictac.hpp"
#include "io/import/order_file.hpp"
#include "io/import/schedule.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "sim/base/random.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::io {
namespace {

using plan::Discipline;

std::string errors(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Case {
  graph::Graph graph;
  plan::Schedule schedule;
};

plan::DirectionOrder random_order(RandomStream& random, std::size_t transfers, bool alternatives) {
  plan::DirectionOrder order;
  order.discipline = static_cast<Discipline>(random.below(8));
  if (plan::has_credit(order.discipline)) order.credit = Bytes(1000 + static_cast<std::int64_t>(random.below(100)));
  if (order.discipline == Discipline::Window || order.discipline == Discipline::ChainWindow)
    order.window = 1 + static_cast<std::uint32_t>(random.below(5));
  const auto ranks = [&] {
    std::vector<std::uint32_t> rank;
    for (std::size_t t = 0; t < transfers; ++t)
      rank.push_back(random.below(4) == 0 ? plan::kUnranked : static_cast<std::uint32_t>(random.below(1000)));
    return rank;
  };
  if (order.discipline == Discipline::Unordered && alternatives) order.alternatives = {ranks(), ranks()};
  if (order.discipline != Discipline::Free && order.discipline != Discipline::Unordered) order.rank = ranks();
  return order;
}

Case random_case(std::uint64_t seed) {
  Case c;
  RandomStream random(seed, "schedules");
  c.graph = test::random_graph({test::kShapes[seed % 4], 6, 5, true, 6, 30}, seed);
  c.graph.name = "random \"graph\"";
  plan::Layout layout;
  layout.servers = 3;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < c.graph.parameters.size(); ++p) {
    layout.transfers.push_back(
        {graph::ParameterId(p), 0, c.graph.parameters[p].bytes, static_cast<std::uint32_t>(random.below(3))});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  c.schedule.plan.policy = "tac";
  c.schedule.plan.layout = plan::partition(layout, Bytes(1 + static_cast<std::int64_t>(random.below(60))));
  const std::size_t n = c.schedule.plan.layout.transfers.size();
  c.schedule.plan.order.pull = random_order(random, n, true);
  c.schedule.plan.order.push = random_order(random, n, false);
  if (random.below(3) == 0)
    for (int w = 0; w < 4; ++w)
      c.schedule.plan.order.start_offsets.push_back(Duration::ps(static_cast<std::int64_t>(random.below(1000))));
  c.schedule.workload = c.graph.name;
  c.schedule.found_by = "a test";
  if (seed % 2 == 0) c.schedule.prediction = plan::Prediction{0.1, 0.05, 0.15, 7, 0.09};
  return c;
}

void expect_equal(const plan::DirectionOrder& a, const plan::DirectionOrder& b) {
  EXPECT_EQ(a.discipline, b.discipline);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.credit, b.credit);
  EXPECT_EQ(a.window, b.window);
  EXPECT_EQ(a.alternatives, b.alternatives);
}

TEST(Schedule, ComesBackAsItWas) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = random_case(seed);
    const std::string text = write_schedule(c.graph, c.schedule);
    const plan::Schedule back = parse_schedule(text, "s.json", c.graph, {3, 4});
    ASSERT_EQ(write_schedule(c.graph, back), text);
    ASSERT_EQ(back.plan.layout.first, c.schedule.plan.layout.first);
    for (std::size_t t = 0; t < back.plan.layout.transfers.size(); ++t) {
      const plan::Transfer& a = back.plan.layout.transfers[t];
      const plan::Transfer& b = c.schedule.plan.layout.transfers[t];
      ASSERT_EQ(std::tie(a.parameter, a.slice, a.bytes, a.server), std::tie(b.parameter, b.slice, b.bytes, b.server));
    }
    EXPECT_EQ(back.plan.order.start_offsets, c.schedule.plan.order.start_offsets);
    expect_equal(back.plan.order.pull, c.schedule.plan.order.pull);
    expect_equal(back.plan.order.push, c.schedule.plan.order.push);
  }
}

TEST(Schedule, OfAllReduceComesBackAsItWas) {
  Case c = random_case(3);
  plan::Layout& layout = c.schedule.plan.layout;
  for (plan::Transfer& t : layout.transfers) t.server = 0;
  layout.servers = 1;
  layout.split = true;
  c.graph.parameters[0].gradient = {};
  plan::fuse(c.graph, layout, Bytes(60));
  c.schedule.plan.order = {};
  const std::string text = write_schedule(c.graph, c.schedule);
  const plan::Schedule back = parse_schedule(text, "s.json", c.graph, {0, 4});
  EXPECT_EQ(back.plan.layout.bucket, layout.bucket);
  EXPECT_TRUE(back.plan.layout.split);
  EXPECT_EQ(write_schedule(c.graph, back), text);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return errors([&] { parse_schedule(changed, "s.json", c.graph, {0, 4}); });
  };
  // The numbers of buckets are names.
  EXPECT_EQ(with("\"bucket\": 0", "\"bucket\": 4000"), "no error");
  EXPECT_TRUE(has(with(", \"bucket\": 0", ""), "is missing: the parameter has a gradient"));
  EXPECT_TRUE(has(with("\"bucket\": 0", "\"server\": 0"), "all-reduce has no servers"));
  EXPECT_TRUE(has(with("\"version\": 3", "\"version\": 2"), "before version 3 there is no all-reduce"));
  EXPECT_TRUE(has(with("\"all_reduce\"", "\"ring\""), "must be \"all_reduce\""));
  EXPECT_TRUE(has(with("\"exchange\": \"all_reduce\",", ""), "the number of servers"));
  EXPECT_TRUE(has(errors([&] { parse_schedule(text, "s.json", c.graph, {1, 4}); }), "training.exchange: all_reduce"));
  EXPECT_TRUE(has(errors([&] { parse_schedule_alone(text, "s.json"); }), "without its workload"));
  const plan::StatedSchedule stated = parse_stated_schedule(text, "s.json");
  EXPECT_TRUE(stated.all_reduce);
  for (std::size_t p = 0; p < stated.parameters.size(); ++p)
    for (std::size_t k = 0; k < stated.parameters[p].slices.size(); ++k)
      EXPECT_EQ(stated.parameters[p].slices[k].bucket, layout.bucket[layout.first[p] + k]);
}

TEST(Schedule, AnotherWorkloadIsRefusedWithItsDifferences) {
  const Case c = random_case(1);
  const std::string text = write_schedule(c.graph, c.schedule);
  graph::Graph other = c.graph;
  other.parameters[0].bytes = Bytes(1000);
  other.parameters[1].name = "new";
  const std::string found = errors([&] { parse_schedule(text, "s.json", other, {3, 4}); });
  EXPECT_TRUE(has(found, fmt::format("'{}' has {} bytes there and 1000 here", c.graph.parameters[0].name,
                                     c.graph.parameters[0].bytes.count())))
      << found;
  EXPECT_TRUE(has(found, "the schedule lacks 'new'")) << found;
  EXPECT_TRUE(has(found, fmt::format("the workload lacks '{}'", c.graph.parameters[1].name))) << found;
  for (int i = 0; i < 20; ++i) other.parameters.push_back({fmt::format("more{}", i), Bytes(4), true, {}, -1});
  EXPECT_TRUE(has(errors([&] { parse_schedule(text, "s.json", other, {3, 4}); }), "and 13 more"));
  graph::Graph ops = c.graph;
  ops.ops[0].name = "renamed";
  EXPECT_TRUE(has(errors([&] { parse_schedule(text, "s.json", ops, {3, 4}); }), "the parameters are the same"));
  EXPECT_TRUE(has(errors([&] { parse_schedule(text, "s.json", c.graph, {2, 4}); }), "set cluster.servers.count to 3"));
  graph::Graph slower = c.graph;
  for (graph::Op& op : slower.ops) op.time = Duration::ms(1000);
  EXPECT_EQ(errors([&] { parse_schedule(text, "s.json", slower, {3, 4}); }), "no error");
}

TEST(Schedule, RefusesWhatNoPlanCanSay) {
  Case c = random_case(2);
  c.schedule.plan.order.pull = {};
  c.schedule.plan.order.push = {};
  const std::string good = write_schedule(c.graph, c.schedule);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return errors([&] { parse_schedule(text, "s.json", c.graph, {3, 4}); });
  };
  EXPECT_TRUE(has(with("\"version\": 2", "\"version\": 4"), "newer than this program"));
  EXPECT_TRUE(has(with("stretto-schedule", "stretto-workload"), "must be \"stretto-schedule\""));
  EXPECT_TRUE(has(with("\"discipline\": \"free\"", "\"discipline\": \"stricter\""), "did you mean 'strict'?"));
  EXPECT_TRUE(has(with("\"discipline\": \"free\"", "\"discipline\": \"credit\""), "credit_bytes belongs"));
  EXPECT_TRUE(has(with("\"discipline\": \"free\"", "\"discipline\": \"strict\", \"window\": 3"), "window belongs"));
  EXPECT_TRUE(
      has(with("\"discipline\": \"free\"", "\"discipline\": \"unordered\", \"alternatives\": [[1]]"), "1 ranks for"));
  EXPECT_TRUE(
      has(with("\"servers\": 3", "\"servers\": 3, \"start_offsets_ps\": [1, 2]"), "for 2 workers, and there are 4"));
  EXPECT_TRUE(has(with("\"servers\": 3", "\"servers\": 3, \"start_offsets_ps\": []"), "names no worker"));
  EXPECT_TRUE(has(with("\"servers\": 3", "\"servers\": 3, \"start_offsets_ps\": [-1]"), "start_offsets_ps[0]"));
  EXPECT_TRUE(has(with("\"server\": ", "\"pull\": 1, \"server\": "), "knows none"));
  EXPECT_TRUE(has(with("\"server\": ", "\"server\": 1"), "no server 1"));
  EXPECT_TRUE(has(with("\"slices\": [{\"bytes\": ", "\"slices\": [{\"bytes\": 9"), "do not add up"));
  EXPECT_TRUE(has(with("\"servers\": 3", "\"severs\": 3"), "did you mean"));
}

TEST(Schedule, VersionOneIsReadAndKnowsNothingNewer) {
  Case c = random_case(2);
  c.schedule.plan.order = {};
  const auto of_version_1 = [&] {
    std::string text = write_schedule(c.graph, c.schedule);
    text.replace(text.find("\"version\": 2"), 12, "\"version\": 1");
    return errors([&] { parse_schedule(text, "s.json", c.graph, {3, 4}); });
  };
  EXPECT_EQ(of_version_1(), "no error");
  c.schedule.plan.order.start_offsets.assign(4, Duration::us(3));
  EXPECT_TRUE(has(of_version_1(), "knows neither"));
  c.schedule.plan.order.start_offsets.clear();
  auto& pull = c.schedule.plan.order.pull;
  pull.discipline = Discipline::CreditSkip;
  pull.credit = Bytes(1000);
  pull.rank.assign(c.schedule.plan.layout.transfers.size(), 5);
  EXPECT_TRUE(has(of_version_1(), "knows neither"));
  pull.credit = Bytes(1);
  EXPECT_TRUE(has(errors([&] {
                    parse_schedule(write_schedule(c.graph, c.schedule), "s.json", c.graph, {3, 4});
                  }),
                  "could never go"));
}

TEST(Schedule, CutAnywhereIsAnErrorNotACrash) {
  const Case c = random_case(3);
  const std::string text = write_schedule(c.graph, c.schedule);
  for (std::size_t n = 0; n + 2 < text.size(); n += 7)
    ASSERT_NE(errors([&] { parse_schedule(text.substr(0, n), "s.json", c.graph, {3, 4}); }), "no error") << n;
}

TEST(Schedule, RandomDamageIsReadOrRefused) {
  const std::string with = "{}[]\",:0123456789-.eE\\ \n\xff";
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = random_case(seed % 7);
    std::string text = write_schedule(c.graph, c.schedule);
    RandomStream random(seed, "damage");
    for (std::size_t k = 0; k < 1 + random.below(3); ++k)
      text[random.below(text.size())] = with[random.below(with.size())];
    try {
      const plan::Schedule read = parse_schedule(text, "s.json", c.graph, {3, 4});
      ASSERT_EQ(read.plan.layout.first.back(), read.plan.layout.transfers.size());
      ++accepted;
    } catch (const UserError& e) {
      ASSERT_FALSE(render(e.diagnostics()).empty());
    }
  }
  EXPECT_GT(accepted, 0);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random(seed, "lines");
    std::string text;
    for (std::size_t k = 0; k < random.below(40); ++k) text += "ab\t12\n\r -\xff"[random.below(10)];
    errors([&] { parse_order_file(text, "o"); });
    errors([&] { parse_arrivals("{\"format\": \"stretto-arrivals\", \"version\": 1, \"orders\": " + text, "r"); });
  }
}

TEST(OrderFile, ReadsWhatIsWritten) {
  Case c = random_case(4);
  plan::Plan& plan = c.schedule.plan;
  plan.layout = {};
  plan.layout.first.push_back(0);
  plan.order.pull = {};
  plan.order.pull.discipline = Discipline::Strict;
  for (std::size_t p = 0; p < 5; ++p) {
    plan.layout.transfers.push_back({graph::ParameterId(p), 0, c.graph.parameters[p].bytes, 0});
    plan.layout.first.push_back(static_cast<std::uint32_t>(p + 1));
    plan.order.pull.rank.push_back(p == 2 ? plan::kUnranked : static_cast<std::uint32_t>((3 * p + 1) % 5));
  }
  const plan::NamedOrder order = parse_order_file(write_tictac_order(c.graph, plan.layout, plan.order), "o.txt");
  ASSERT_EQ(order.size(), 4U);
  const auto ranks = plan::ranks_of(order, c.graph, plan.layout, plan::Slices::Adjacent);
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b)
      EXPECT_EQ(ranks[a] < ranks[b], plan.order.pull.rank[a] < plan.order.pull.rank[b]);
}

TEST(OrderFile, SaysWhereALineIsWrong) {
  EXPECT_EQ(parse_order_file("a b\t3\r\n\n\tb\t10\n", "o").at(1).name, "\tb");
  const std::string found = errors([] { parse_order_file("a\t1\nb 2\nc\t-1\nd\t1.5\n\t3\ne\t2000000001\n", "o.txt"); });
  EXPECT_TRUE(has(found, "o.txt:2:1: error: no tab")) << found;
  EXPECT_TRUE(has(found, "o.txt:3:3: error: '-1' is no priority")) << found;
  EXPECT_TRUE(has(found, "o.txt:4:3")) << found;
  EXPECT_TRUE(has(found, "o.txt:5:1: error: there is no name")) << found;
  EXPECT_TRUE(has(found, "o.txt:6:3")) << found;
  EXPECT_TRUE(has(errors([] { parse_order_file("\n\n", "o.txt"); }), "ranks nothing"));
}

TEST(Arrivals, ReadsListsOfNames) {
  const auto orders = parse_arrivals(
      R"({"format": "stretto-arrivals", "version": 1, "orders": [["b", "a"],
 ["a"]]})",
      "r.json");
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0][1].name, "a");
  EXPECT_EQ(orders[0][1].rank, 1U);
  EXPECT_EQ(orders[1][0].span.line, 2);
  EXPECT_EQ(orders[1][0].span.column, 3);
  EXPECT_TRUE(
      has(errors([] { parse_arrivals(R"({"format": "stretto-arrivals", "version": 1, "orders": [[]]})", "r"); }),
          "an order of nothing"));
  EXPECT_TRUE(has(errors([] { parse_arrivals(R"({"format": "stretto-arrivals", "version": 1, "orders": []})", "r"); }),
                  "no order to draw from"));
  EXPECT_TRUE(has(errors([] { parse_arrivals("[[\"a\"]]", "r"); }), "r:1:1: error"));
}

TEST(Csv, CellsAreQuotedAndNoFormulas) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
  EXPECT_EQ(csv_cell("+1"), "'+1");
  EXPECT_EQ(csv_cell("-1"), "'-1");
  EXPECT_EQ(csv_cell("@x,y"), "\"'@x,y\"");
  EXPECT_EQ(csv_cell(""), "");
}

TEST(Csv, OneRowPerStep) {
  EXPECT_EQ(write_steps_csv({{{{"cluster.workers.count", "2"}},
                              "tic(a, b)",
                              {{0.5, 0.25}, {1}},
                              {{0.75, std::nullopt}},
                              {{0x1f, 0}, {0xfedcba9876543210}}}},
                            3),
            "cluster.workers.count,policy,replication,step,time_s,ordering_efficiency,pull_order\n"
            "2,\"tic(a, b)\",0,3,0.5,0.75,000000000000001f\n2,\"tic(a, b)\",0,4,0.25,,\n"
            "2,\"tic(a, b)\",1,3,1,,fedcba9876543210\n");
  EXPECT_EQ(write_steps_csv({}, 0), "policy,replication,step,time_s,ordering_efficiency,pull_order\n");
}

}  // namespace
}  // namespace stretto::io
