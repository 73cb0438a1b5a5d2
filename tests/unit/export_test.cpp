// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "io/export/chrome_trace.hpp"
#include "io/export/step_trace.hpp"
#include "io/export/tictac.hpp"
#include "io/json/reader.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"

namespace stretto::io {
namespace {

Span span(std::string process, std::string track, std::string name, std::int64_t start, std::int64_t end) {
  return {std::move(process), std::move(track), std::move(name), Time::ps(start), Time::ps(end), {}};
}

TEST(ChromeTrace, ExactTextOfASmallTrace) {
  std::vector<Span> spans = {span("worker 0", "gpu", "conv\n\"1\"", 0, 1'500'000),
                             span("server", "nic", "w", 1, 2'000'002)};
  spans[0].args = {{"bytes", "12"}};
  EXPECT_EQ(write_chrome_trace(spans), R"({
 "displayTimeUnit": "ns",
 "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "worker 0"}},
  {"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 0, "args": {"sort_index": 0}},
  {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "server"}},
  {"ph": "M", "name": "process_sort_index", "pid": 2, "tid": 0, "args": {"sort_index": 1}},
  {"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "gpu"}},
  {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 3, "args": {"sort_index": 0}},
  {"ph": "M", "name": "thread_name", "pid": 2, "tid": 4, "args": {"name": "nic"}},
  {"ph": "M", "name": "thread_sort_index", "pid": 2, "tid": 4, "args": {"sort_index": 1}},
  {"ph": "X", "name": "conv\n\"1\"", "pid": 1, "tid": 3, "ts": 0.000000, "dur": 1.500000, "args": {"bytes": "12"}},
  {"ph": "X", "name": "w", "pid": 2, "tid": 4, "ts": 0.000001, "dur": 2.000001}
 ]
}
)");
}

TEST(ChromeTrace, EmptyTraceIsValid) {
  EXPECT_EQ(write_chrome_trace({}), "{\n \"displayTimeUnit\": \"ns\",\n \"traceEvents\": []\n}\n");
}

TEST(ChromeTrace, SpanThatEndsBeforeItStartsIsOurFault) {
  EXPECT_THROW(write_chrome_trace({span("p", "t", "n", 2, 1)}), InternalError);
}

// Server and NIC bars of one pull, from its record: 4 us of sending service after 1 us in its queue, then the wire.
TEST(StepTrace, ServersShowServicesAndTheirNics) {
  graph::Graph g;
  g.parameters.push_back({"v", Bytes(10), true, {}});
  g.ops.push_back({"f", graph::Phase::Forward, Duration::us(3), {}, {graph::ParameterId(0)}});
  cluster::Cluster c;
  c.workers.resize(1);
  c.servers.resize(1);
  c.workers[0].name = "worker 0";
  c.servers[0].name = "server 0";
  c.servers[0].send.per_message = Duration::us(4);
  const plan::Layout layout{1, {{graph::ParameterId(0), 0, Bytes(10), 0}}, {0, 1}};
  training::Options options;
  options.mode = training::Mode::Inference;
  const training::Compiled compiled = training::compile(g, c, layout, options);
  const auto us = [](std::int64_t v) { return Time::ps(v * 1'000'000); };
  program::ActivityRecord r;
  r.activity = compiled.pull[0].index();
  r.ready = r.handed = us(100);
  r.on_wire = us(105);
  r.begin = us(107);
  r.arrived = r.end = us(109);
  const std::vector<Span> spans = server_spans(g, c, layout, compiled, {r});
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].track, "NIC up");
  EXPECT_EQ(spans[0].name, "v to worker 0");
  EXPECT_EQ(spans[0].process, "server 0");
  EXPECT_EQ(spans[0].start, us(7));
  EXPECT_EQ(spans[0].end, us(9));
  EXPECT_EQ(spans[1].track, "messages");
  EXPECT_EQ(spans[1].start, us(1));
  EXPECT_EQ(spans[1].end, us(5));
}

struct Event {
  std::string phase;
  std::string name;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  double ts = 0;
  double dur = 0;
};

std::vector<Event> events_of(const std::string& text) {
  std::vector<Event> out;
  json::Document(text, "trace").read([&](const json::Value& root) {
    root.members([&](std::string_view key, const json::Value& list) {
      if (key != "traceEvents") return;
      list.elements([&](const json::Value& event) {
        Event e;
        event.members([&](std::string_view k, const json::Value& v) {
          if (k == "ph") e.phase = v.string().value();
          if (k == "name") e.name = v.string().value();
          if (k == "pid") e.pid = v.integer().value();
          if (k == "tid") e.tid = v.integer().value();
          if (k == "ts") e.ts = v.number().value();
          if (k == "dur") e.dur = v.number().value();
        });
        out.push_back(e);
      });
    });
  });
  return out;
}

TEST(ChromeTrace, NoLaneHoldsTwoSpansAtOnceAndLanesAreFew) {
  RandomStream random(3, "chrome trace");
  for (int round = 0; round < 50; ++round) {
    std::vector<Span> spans;
    const std::uint64_t n = 1 + random.below(40);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto start = static_cast<std::int64_t>(random.below(30)) * 1'000'000;
      const auto length = static_cast<std::int64_t>(random.below(10)) * 1'000'000;
      spans.push_back(span("p", "t", std::to_string(i), start, start + length));
    }
    std::map<std::int64_t, std::vector<std::pair<double, double>>> lanes;
    std::set<std::string> names;
    for (const Event& e : events_of(write_chrome_trace(spans))) {
      if (e.phase != "X") continue;
      EXPECT_NE(e.pid, e.tid);
      lanes[e.tid].emplace_back(e.ts, e.ts + e.dur);
      names.insert(e.name);
    }
    EXPECT_EQ(names.size(), n);
    std::size_t most = 1;  // spans that are open at one instant
    for (int t = 0; t < 40; ++t)
      most = std::max(most, static_cast<std::size_t>(std::count_if(spans.begin(), spans.end(), [&](const Span& s) {
                        return s.start.ps() <= t * 1'000'000 && t * 1'000'000 < s.end.ps();
                      })));
    EXPECT_LE(lanes.size(), most + 1);  // a span of no length may need a lane of its own
    for (auto& [tid, list] : lanes) {
      std::sort(list.begin(), list.end());
      for (std::size_t i = 1; i < list.size(); ++i) EXPECT_LE(list[i - 1].second, list[i].first);
    }
  }
}

struct Planned {
  graph::Graph graph;
  plan::Layout layout;
  plan::Order order;
};

Planned planned(std::vector<std::string> names, std::vector<std::uint32_t> ranks) {
  Planned p;
  for (std::size_t i = 0; i < names.size(); ++i) {
    p.graph.parameters.push_back({names[i], Bytes(8), true, {}});
    p.layout.transfers.push_back({graph::ParameterId(i), 0, Bytes(8), 0});
    p.layout.first.push_back(static_cast<std::uint32_t>(i));
  }
  p.layout.first.push_back(static_cast<std::uint32_t>(names.size()));
  p.order.pull.discipline = plan::Discipline::Strict;
  p.order.pull.rank = std::move(ranks);
  return p;
}

TEST(TicTacOrder, ListsParametersByPriorityWithoutGaps) {
  const Planned p = planned({"a", "b", "c", "d"}, {7, 2, plan::kUnranked, 2});
  EXPECT_EQ(write_tictac_order(p.graph, p.layout, p.order), "b\t0\nd\t0\na\t1\n");
}

TEST(TicTacOrder, RefusesWhatTheFormatCannotSay) {
  Planned p = planned({"a", "b"}, {});
  EXPECT_THROW(write_tictac_order(p.graph, p.layout, p.order), UserError);
  p = planned({"a\tb"}, {0});
  EXPECT_THROW(write_tictac_order(p.graph, p.layout, p.order), UserError);
  p = planned({"a"}, {0, 1});
  p.layout.transfers.push_back({graph::ParameterId(0), 1, Bytes(8), 0});
  p.layout.first = {0, 2};
  EXPECT_THROW(write_tictac_order(p.graph, p.layout, p.order), UserError);
}

}  // namespace
}  // namespace stretto::io
