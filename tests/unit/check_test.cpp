// SPDX-License-Identifier: Apache-2.0
// The independent checker by hand: violations of schedules, closed forms of the replay, fair shares.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "schedulers/check/fair.hpp"
#include "schedulers/check/layout.hpp"
#include "schedulers/check/replay.hpp"

namespace stretto::check {
namespace {

using plan::Discipline;

graph::Graph chain(std::size_t n, bool training) {
  graph::Graph g;
  g.name = "chain";
  for (std::size_t i = 0; i < n; ++i) {
    graph::Op op{fmt::format("op{}", i), graph::Phase::Forward, Duration::us(10), {}, {graph::ParameterId(i)}};
    if (i > 0) op.inputs = {graph::OpId(i - 1)};
    g.ops.push_back(op);
    g.parameters.push_back({fmt::format("w{}", i), Bytes(1000), true, {}});
  }
  for (std::size_t i = n; training && i-- > 0;) {
    g.ops.push_back({fmt::format("back{}", i), graph::Phase::Backward, Duration::us(20), {}, {}});
    g.ops.back().inputs = {graph::OpId(g.ops.size() - 2)};
    g.parameters[i].gradient = graph::OpId(g.ops.size() - 1);
  }
  return g;
}

plan::StatedSchedule stated(const graph::Graph& g) {
  plan::StatedSchedule s;
  s.schedule.workload = g.name;
  s.sha256 = "hash";
  s.servers = 2;
  s.schedule.plan.order.pull.discipline = Discipline::Strict;
  s.schedule.plan.order.push.discipline = Discipline::Credit;
  s.schedule.plan.order.push.credit = Bytes(500);
  std::uint32_t rank = 0;
  for (const graph::Parameter& p : g.parameters) {
    plan::StatedParameter& out = s.parameters.emplace_back();
    out.name = p.name;
    out.bytes = p.bytes.count();
    out.slices = {{600, 0, rank, rank}, {400, 1, rank + 1, rank + 1}};
    rank += 2;
  }
  return s;
}

TEST(Layout, AcceptsASoundSchedule) {
  const graph::Graph g = chain(3, true);
  EXPECT_FALSE(check_layout(stated(g), g, "hash", 2, 4).has_value());
}

TEST(Layout, NamesEveryFault) {
  const graph::Graph g = chain(3, true);
  struct Fault {
    const char* rule;
    const char* text;  // part of it
    std::function<void(plan::StatedSchedule&)> plant;
  };
  const std::vector<Fault> faults{
      {"workload", "other ops", [](auto& s) { s.sha256 = "other"; }},
      {"workload", "1001 bytes", [](auto& s) { s.parameters[1].bytes = 1001; }},
      {"workload", "no variable 'new'",
       [](auto& s) {
         s.parameters.push_back({"new", 4, {{4, 0}}});
       }},
      {"each transfer once", "'w2' is missing", [](auto& s) { s.parameters.pop_back(); }},
      {"each transfer once", "'w0' stands twice", [](auto& s) { s.parameters.push_back(s.parameters[0]); }},
      {"slices add up", "leave 400", [](auto& s) { s.parameters[1].slices.pop_back(); }},
      {"slices add up", "slice 1 has 401", [](auto& s) { s.parameters[0].slices[1].bytes = 401; }},
      {"slices add up", "slice 0 has 0", [](auto& s) { s.parameters[0].slices[0].bytes = 0; }},
      {"servers", "for 3 servers", [](auto& s) { s.servers = 3; }},
      {"servers", "server 2 of 0 to 1", [](auto& s) { s.parameters[2].slices[0].server = 2; }},
      {"ranks", "knows none", [](auto& s) { s.schedule.plan.order.pull.discipline = Discipline::Free; }},
      {"credit", "is 0 bytes", [](auto& s) { s.schedule.plan.order.push.credit = Bytes(); }},
      {"credit", "could never go", [](auto& s) { s.schedule.plan.order.push.discipline = Discipline::CreditSkip; }},
      {"workers", "offsets of 2", [](auto& s) { s.schedule.plan.order.start_offsets.resize(2); }},
      {"window", "is 0", [](auto& s) { s.schedule.plan.order.pull.discipline = Discipline::ChainWindow; }},
  };
  for (const Fault& fault : faults) {
    plan::StatedSchedule s = stated(g);
    fault.plant(s);
    const auto violation = check_layout(s, g, "hash", 2, 4);
    ASSERT_TRUE(violation.has_value()) << fault.text;
    EXPECT_EQ(violation->rule, fault.rule) << violation->text;
    EXPECT_NE(violation->text.find(fault.text), std::string::npos) << violation->text;
  }
}

// As `run` takes them: whether the queue is a server's or, with a credit, that of all servers.
TEST(Layout, RanksMayBeEqual) {
  const graph::Graph g = chain(3, true);
  plan::StatedSchedule s = stated(g);
  for (plan::StatedParameter& p : s.parameters)
    for (auto& slice : p.slices) slice.pull = slice.push = 7;
  EXPECT_FALSE(check_layout(s, g, "hash", 2, 4).has_value());
}

TEST(Layout, BucketsHoldGradientsAndNothingElse) {
  graph::Graph g = chain(3, true);
  g.parameters[2].gradient = {};
  plan::StatedSchedule s = stated(g);
  EXPECT_EQ(check_layout(s, g, "hash", 0, 4)->rule, "exchange");
  s.all_reduce = true;
  EXPECT_EQ(check_layout(s, g, "hash", 2, 4)->rule, "exchange");
  EXPECT_EQ(check_layout(s, g, "hash", 0, 4)->rule, "buckets");
  for (std::size_t p = 0; p < 2; ++p)
    for (auto& slice : s.parameters[p].slices) slice.bucket = 0;
  EXPECT_FALSE(check_layout(s, g, "hash", 0, 4).has_value());
  s.parameters[2].slices[0].bucket = 1;
  const auto violation = check_layout(s, g, "hash", 0, 4);
  EXPECT_EQ(violation->rule, "buckets");
  EXPECT_NE(violation->text.find("has no gradient"), std::string::npos) << violation->text;
}

// One server, `workers` workers, 1 byte/ns everywhere, no latency.
Job job(const graph::Graph& g, std::uint32_t workers) {
  Job j;
  j.graph = g;
  j.training = g.ops.back().phase == graph::Phase::Backward;
  const Bandwidth rate(8'000'000'000);
  j.layout.servers = 1;
  j.layout.first.push_back(0);
  for (std::size_t p = 0; p < g.parameters.size(); ++p) {
    j.layout.transfers.push_back({graph::ParameterId(p), 0, g.parameters[p].bytes, 0});
    j.layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  j.order.pull.discipline = Discipline::Strict;
  for (std::uint32_t t = 0; t < g.parameters.size(); ++t) j.order.pull.rank.push_back(t);
  j.pools.push_back({"server threads", 0});
  j.links = {{"server up", rate}, {"server down", rate}};
  j.servers.push_back({0});
  for (std::uint32_t w = 0; w < workers; ++w) {
    j.pools.push_back({fmt::format("device {}", w), 1});
    j.workers.push_back({w + 1, 1});
    j.links.push_back({fmt::format("up {}", w), rate});
    j.links.push_back({fmt::format("down {}", w), rate});
    Channel pull, push;
    pull.links = {0, 3 + 2 * w};
    push.links = {2 + 2 * w, 1};
    j.pulls.push_back(pull);
    j.pushes.push_back(push);
  }
  return j;
}

std::vector<std::int64_t> ends_ns(const Job& j, std::uint32_t steps) {
  const Replay r = replay(j, steps);
  EXPECT_TRUE(r.finished);
  std::vector<std::int64_t> ns;
  for (const Time t : r.ends.front()) ns.push_back(t.ps() / 1000);
  return ns;
}

TEST(Replay, AChainIsPulledAndComputed) {
  // Pulls of 1 us each behind ops of 10 us: the first pull, then compute.
  EXPECT_EQ(ends_ns(job(chain(3, false), 1), 2), (std::vector<std::int64_t>{31'000, 62'000}));
  // Four workers share the server: each pull takes 4 us.
  EXPECT_EQ(ends_ns(job(chain(3, false), 4), 1), (std::vector<std::int64_t>{34'000}));
}

TEST(Replay, TrainingEndsWithTheLastPush) {
  // 1 us pull, 3 x 10 us forward, 3 x 20 us backward, the last gradient's push of 1 us.
  EXPECT_EQ(ends_ns(job(chain(3, true), 1), 2), (std::vector<std::int64_t>{92'000, 184'000}));
  // With updates of 1 us on the server behind the last push.
  Job j = job(chain(3, true), 1);
  j.servers[0].update_rate = Bandwidth(8'000'000'000);
  EXPECT_EQ(ends_ns(j, 1), (std::vector<std::int64_t>{93'000}));
  // Without a barrier the ops follow each other but for push, update and pull of the variable used first.
  j.pace = Pace::Overlapped;
  EXPECT_EQ(ends_ns(j, 3), (std::vector<std::int64_t>{91'000, 184'000, 277'000}));
}

TEST(Replay, LatencyStreamsAndServices) {
  Job j = job(chain(2, false), 1);
  j.pulls[0].latency = j.pulls[0].request = Duration::us(100);
  EXPECT_EQ(ends_ns(j, 1), (std::vector<std::int64_t>{221'000}));  // request, latency, 1 us, two ops
  j.pulls[0].send = {0, Duration::us(30), 0};
  j.pools[0].units = 1;
  // The second message leaves the sender 30 us after the first, while op 0 runs: it is there 20 us later.
  EXPECT_EQ(ends_ns(j, 1), (std::vector<std::int64_t>{100'000 + 60'000 + 100'000 + 1'000 + 10'000}));
}

TEST(Replay, CopiesLieBehindPullsAndBeforePushes) {
  Job j = job(chain(2, true), 1);
  j.pools.push_back({"copies in", 1});
  j.pools.push_back({"copies out", 1});
  j.workers[0].copy_in = CopyEngine{2, Duration::us(4), Bandwidth(8'000'000'000)};
  j.workers[0].copy_out = CopyEngine{3, Duration::us(6), Bandwidth::unlimited()};
  // Pull 1, copy 4 + 1, two ops forward and two back, copy out 6, push 1 us.
  EXPECT_EQ(ends_ns(j, 1), (std::vector<std::int64_t>{1'000 + 5'000 + 20'000 + 40'000 + 6'000 + 1'000}));
}

TEST(Replay, SaysWhatItDoesNotCover) {
  Job j = job(chain(2, true), 1);
  EXPECT_EQ(why_no_replay(j), "");
  j.order.push.discipline = Discipline::Unordered;
  EXPECT_NE(why_no_replay(j), "");
  j = job(chain(2, true), 1);
  j.pace = Pace::Backup;
  EXPECT_NE(why_no_replay(j), "");
  j = job(chain(2, true), 1);
  j.fluid = false;
  EXPECT_NE(why_no_replay(j), "");
  j = job(chain(2, true), 1);
  j.in_turn = false;
  EXPECT_NE(why_no_replay(j), "");
}

TEST(Fair, RatesGrowTogetherUntilALinkIsFull) {
  const std::vector<double> capacity{10, 4, std::numeric_limits<double>::infinity()};
  const std::vector<std::uint32_t> both{0, 1};
  const std::vector<std::uint32_t> first{0};
  const std::vector<std::uint32_t> free{2};
  const double none = std::numeric_limits<double>::infinity();
  std::vector<FairFlow> flows{{&both, none}, {&both, none}, {&first, none}, {&first, 1}, {&free, none}, {&free, 7}};
  share_fairly(capacity, flows);
  EXPECT_DOUBLE_EQ(flows[0].rate, 2);
  EXPECT_DOUBLE_EQ(flows[1].rate, 2);
  EXPECT_DOUBLE_EQ(flows[2].rate, 5);
  EXPECT_DOUBLE_EQ(flows[3].rate, 1);
  EXPECT_EQ(flows[4].rate, none);
  EXPECT_DOUBLE_EQ(flows[5].rate, 7);
}

}  // namespace
}  // namespace stretto::check
