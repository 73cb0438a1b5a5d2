// SPDX-License-Identifier: Apache-2.0
// Spans: messages without a wire, which keep their stream, and their credit, until the program ends them.
#include <gtest/gtest.h>

#include <vector>

#include "sim/program/simulation.hpp"

namespace stretto::program {
namespace {

using channel::HandOver;

Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }

// Spans of 10 us each, on one channel; `ready` says when each may begin.
struct Spans {
  StepProgram program;
  std::vector<ActivityId> begin;

  Spans(std::uint32_t streams, std::uint32_t open_at_a_time, const std::vector<std::int64_t>& ready,
        const std::vector<std::int64_t>& bytes = {}) {
    ProgramBuilder b;
    channel::Channel c;
    c.route = b.wires().add_route({});
    c.spans = true;
    c.streams = streams;
    c.open_at_a_time = open_at_a_time;
    const ChannelId channel = b.add_channel(c);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const ActivityId before = b.add_delay(Duration::us(ready[i]));
      begin.push_back(b.add_message(channel, Bytes(bytes.empty() ? 1 : bytes[i])));
      const ActivityId inside = b.add_delay(Duration::us(10));
      const ActivityId end = b.add_span_end(begin[i]);
      b.add_edge(before, begin[i]);
      b.add_edge(begin[i], inside);
      b.add_edge(inside, end);
      b.add_marker(end);
    }
    program = b.finish();
  }

  // Ends of the spans in a run of one iteration.
  std::vector<Time> run(const OrderTable& order) const {
    Simulation s(program, order, 1);
    EXPECT_EQ(s.run(), Status::Reached);
    std::vector<Time> ends;
    for (std::size_t m = 0; m < program.markers.size(); ++m) ends.push_back(s.marker_times(m).at(0));
    return ends;
  }

  OrderTable ranked(HandOver rule, const std::vector<std::uint32_t>& rank, std::int64_t credit = 0) const {
    OrderTable t;
    t.discipline = {rule};
    t.rank.assign(program.size(), kPassFreely);
    t.ranked = {static_cast<std::uint32_t>(rank.size())};
    t.leader = {0};
    t.credit = {credit};
    for (std::size_t i = 0; i < rank.size(); ++i) t.rank[begin[i].index()] = rank[i];
    return t;
  }
};

using Times = std::vector<Time>;

TEST(Span, KeepsItsStreamUntilItsEnd) {
  EXPECT_EQ(Spans(1, 0, {0, 1, 2}).run({}), (Times{us(10), us(20), us(30)}));
  EXPECT_EQ(Spans(2, 0, {0, 1, 2}).run({}), (Times{us(10), us(11), us(20)}));
  EXPECT_EQ(Spans(0, 0, {0, 1, 2}).run({}), (Times{us(10), us(11), us(12)}));
}

TEST(Span, StrictWaitsForItsTurn) {
  const Spans s(0, 0, {0, 1, 2});
  EXPECT_EQ(s.run(s.ranked(HandOver::Strict, {1, 2, 0})), (Times{us(12), us(12), us(12)}));
}

TEST(Span, PriorityChoosesWhenOneMoreMayBeOpen) {
  const Spans one(0, 1, {0, 1, 2});
  EXPECT_EQ(one.run(one.ranked(HandOver::Priority, {0, 2, 1})), (Times{us(10), us(30), us(20)}));
  const Spans two(0, 2, {0, 1, 2, 3});
  EXPECT_EQ(two.run(two.ranked(HandOver::Priority, {0, 1, 3, 2})), (Times{us(10), us(11), us(21), us(20)}));
}

TEST(Span, CreditComesBackAtTheEnd) {
  const Spans s(1, 0, {0, 0, 0, 0}, {8, 8, 8, 8});
  // 12 bytes of credit let two be handed over; the second waits for the stream. Rank decides who is third.
  EXPECT_EQ(s.run(s.ranked(HandOver::Credit, {0, 1, 3, 2}, 12)), (Times{us(10), us(20), us(40), us(30)}));
}

TEST(Span, FollowsItselfInTheNextIteration) {
  const Spans s(1, 0, {0, 0});
  const OrderTable order;
  Simulation sim(s.program, order, 3);
  EXPECT_EQ(sim.run(), Status::Reached);
  EXPECT_EQ(sim.now(), us(60));
}

TEST(Span, TheBuilderRefusesWhatIsNone) {
  ProgramBuilder b;
  channel::Channel c;
  c.route = b.wires().add_route({});
  const ChannelId plain = b.add_channel(c);
  EXPECT_THROW(b.add_span_end(b.add_message(plain, Bytes(1))), InternalError);
  EXPECT_THROW(b.add_span_end(b.add_delay(Duration())), InternalError);
  c.spans = true;
  c.latency = Duration::us(1);
  EXPECT_THROW(b.add_channel(c), InternalError);
}

}  // namespace
}  // namespace stretto::program
