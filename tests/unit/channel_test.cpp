// SPDX-License-Identifier: Apache-2.0
// The stages of a message, seen through one-channel programs on a link of 1 byte per us.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/recorder.hpp"

namespace stretto::channel {
namespace {

using program::ActivityId;
using program::ChannelId;
using program::OrderTable;
using program::PoolId;
using testing::Recorder;

Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }

TEST(TurnQueue, StrictReleasesOnlyTheNextKey) {
  TurnQueue q;
  std::uint32_t a = 0;
  q.push({1, 10});
  EXPECT_FALSE(q.pop(HandOver::Strict, a));
  q.push({0, 11});
  ASSERT_TRUE(q.pop(HandOver::Strict, a));
  EXPECT_EQ(a, 11U);
  ASSERT_TRUE(q.pop(HandOver::Strict, a));
  EXPECT_EQ(a, 10U);
  EXPECT_FALSE(q.pop(HandOver::Strict, a));
  q.push({3, 12});
  EXPECT_FALSE(q.pop(HandOver::Strict, a));
  EXPECT_TRUE(q.pop(HandOver::Priority, a));
}

TEST(WireQueue, IsFirstInFirstOut) {
  WireQueue q;
  q.push(1, us(5));
  q.push(2, us(3));
  EXPECT_EQ(q.earliest(), us(5));
  EXPECT_EQ(q.pop(), 1U);
  q.push(3, us(4));
  EXPECT_EQ(q.pop(), 2U);
  EXPECT_EQ(q.pop(), 3U);
  EXPECT_TRUE(q.empty());
  q.push(4, us(1));
  EXPECT_EQ(q.pop(), 4U);
}

TEST(Service, CostsPerMessageAndPerByte) {
  const Service s{0, Duration::us(3), 1500.0};
  EXPECT_EQ(s.of(0), Duration::us(3));
  EXPECT_EQ(s.of(2000), Duration::us(6));
}

// Messages of one channel, each ready at its time, with its bytes and rank.
struct Message {
  std::int64_t ready_us = 0;
  std::int64_t bytes = 10;
  std::uint32_t rank = program::kPassFreely;
};

class OneChannel : public ::testing::Test {
 protected:
  OneChannel() {
    const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
    channel.route = b.wires().add_route(std::array{link});
  }
  // Records of the messages, in their order here.
  std::vector<program::ActivityRecord> run(const std::vector<Message>& messages, HandOver rule = HandOver::Free,
                                           std::uint64_t stream = 0) {
    const ChannelId c = b.add_channel(channel);
    std::vector<ActivityId> ids;
    std::vector<std::uint32_t> rank;
    for (const Message& m : messages) {
      const ActivityId ready = b.add_delay(Duration::us(m.ready_us));
      ids.push_back(b.add_message(c, Bytes(m.bytes)));
      b.add_edge(ready, ids.back());
      rank.push_back(program::kPassFreely);
      rank.push_back(m.rank);
    }
    const program::StepProgram p = b.finish();
    OrderTable order;
    order.discipline = {rule};
    order.rank = rank;
    order.ranked = {0};
    for (const Message& m : messages) order.ranked[0] += m.rank != program::kPassFreely ? 1 : 0;
    order.stream = stream;
    order.leader = {0};
    order.credit = {credit};
    program::Simulation s(p, order, 1);
    Recorder recorder;
    s.observe(&recorder);
    EXPECT_EQ(s.run(), program::Status::Reached);
    std::vector<program::ActivityRecord> result;
    for (const ActivityId id : ids) result.push_back(recorder.of(id.index()));
    return result;
  }
  program::ProgramBuilder b;
  Channel channel;
  std::int64_t credit = 0;
};

TEST_F(OneChannel, LatencyThenBytes) {
  channel.latency = Duration::us(7);
  const auto r = run({{2, 10}});
  EXPECT_EQ(r[0].ready, us(2));
  EXPECT_EQ(r[0].on_wire, us(2));
  EXPECT_EQ(r[0].begin, us(9));
  EXPECT_EQ(r[0].arrived, us(19));
  EXPECT_EQ(r[0].end, us(19));
}

TEST_F(OneChannel, BackToBackMessagesHaveNoBubble) {
  channel.latency = Duration::us(7);
  const auto r = run({{0, 10}, {0, 20}, {5, 10}});
  EXPECT_EQ(r[0].begin, us(7));
  EXPECT_EQ(r[1].begin, us(17));
  EXPECT_EQ(r[2].begin, us(37));
  EXPECT_EQ(r[2].end, us(47));
}

TEST_F(OneChannel, SenderServiceKeepsTheOrderOfHandOver) {
  const program::PoolId thread = b.add_pool({"thread", 1, program::PoolRule::Fifo});
  channel.send = {thread.index(), Duration::us(1), 0};
  channel.receive = {thread.index(), Duration::us(1), 0};
  const auto r = run({{0, 10, 2}, {0, 10, 0}, {0, 10, 1}}, HandOver::Strict);
  EXPECT_LT(r[1].end, r[2].end);
  EXPECT_LT(r[2].end, r[0].end);
}

TEST_F(OneChannel, ALateMessageWaitsForItsOwnLatency) {
  channel.latency = Duration::us(7);
  const auto r = run({{0, 10}, {15, 10}});
  EXPECT_EQ(r[0].end, us(17));
  EXPECT_EQ(r[1].begin, us(22));
}

TEST_F(OneChannel, StreamsShareTheWire) {
  channel.streams = 2;
  const auto r = run({{0, 10}, {0, 10}, {0, 10}});
  EXPECT_EQ(r[0].end, us(20));
  EXPECT_EQ(r[1].end, us(20));
  EXPECT_EQ(r[2].begin, us(20));
  EXPECT_EQ(r[2].end, us(30));
}

TEST_F(OneChannel, UnlimitedStreamsAllMoveAtOnce) {
  channel.streams = 0;
  channel.latency = Duration::us(1);
  const auto r = run({{0, 10}, {0, 10}, {0, 20}});
  EXPECT_EQ(r[0].end, us(31));
  EXPECT_EQ(r[1].end, us(31));
  EXPECT_EQ(r[2].end, us(41));
  EXPECT_EQ(r[2].begin, us(1));
}

TEST_F(OneChannel, SenderServiceIsReleasedBeforeTheWire) {
  channel.send.pool = b.add_pool({"sender", 1, program::PoolRule::Fifo}).index();
  channel.send.per_message = Duration::us(2);
  channel.send.per_byte_ps = 100'000;  // 1 us per 10 bytes
  const auto r = run({{0, 10}, {0, 10}, {0, 10}});
  EXPECT_EQ(r[0].on_wire, us(3));
  EXPECT_EQ(r[1].on_wire, us(6));
  EXPECT_EQ(r[2].on_wire, us(9));
  EXPECT_EQ(r[0].begin, us(3));
  EXPECT_EQ(r[1].begin, us(13));
  EXPECT_EQ(r[2].end, us(33));
}

TEST_F(OneChannel, ReceiverServiceOnTwoThreads) {
  channel.receive.pool = b.add_pool({"receiver", 2, program::PoolRule::Fifo}).index();
  channel.receive.per_message = Duration::us(25);
  const auto r = run({{0, 10}, {0, 10}, {0, 10}, {0, 10}});
  EXPECT_EQ(r[0].arrived, us(10));
  EXPECT_EQ(r[0].end, us(35));
  EXPECT_EQ(r[1].end, us(45));
  EXPECT_EQ(r[2].arrived, us(30));
  EXPECT_EQ(r[2].end, us(60));
  EXPECT_EQ(r[3].end, us(70));
}

TEST_F(OneChannel, AShortServiceOvertakesOnTheWireAfterHandOver) {
  channel.send.pool = b.add_pool({"sender", 2, program::PoolRule::Fifo}).index();
  channel.send.per_byte_ps = 1'000'000;
  const auto r = run({{0, 20, 0}, {0, 5, 1}}, HandOver::Strict);
  EXPECT_EQ(r[0].handed, us(0));
  EXPECT_EQ(r[1].on_wire, us(5));
  EXPECT_EQ(r[1].end, us(10));
  EXPECT_EQ(r[0].begin, us(20));
}

TEST_F(OneChannel, StrictWaitsForEveryLowerRank) {
  const auto r = run({{0, 10, 1}, {30, 10, 0}, {0, 10}}, HandOver::Strict);
  EXPECT_EQ(r[0].handed, us(30));
  EXPECT_EQ(r[1].begin, us(30));
  EXPECT_EQ(r[0].begin, us(40));
  EXPECT_EQ(r[2].begin, us(0));  // not ranked: passes freely
}

TEST_F(OneChannel, PriorityTakesTheBestReadyAndNeverWaits) {
  const auto r = run({{0, 10, 1}, {30, 10, 0}}, HandOver::Priority);
  EXPECT_EQ(r[0].begin, us(0));
  EXPECT_EQ(r[1].begin, us(30));
}

TEST_F(OneChannel, PriorityOrdersWhatIsReadyTogether) {
  const auto r = run({{0, 10, 7}, {0, 10, 3}, {0, 10, 5}}, HandOver::Priority);
  EXPECT_EQ(r[1].begin, us(0));
  EXPECT_EQ(r[2].begin, us(10));
  EXPECT_EQ(r[0].begin, us(20));
}

// Credit 30 B, a byte a microsecond, no latency: a (20) leaves 10, so that b (15) is skipped for c (10); at 20 us a
// comes back and b goes; d (30) waits until all are back.
TEST_F(OneChannel, CreditSkipSendsTheFirstThatFits) {
  credit = 30;
  const auto r = run({{0, 20, 0}, {0, 15, 1}, {0, 10, 3}, {0, 30, 2}}, HandOver::CreditSkip);
  EXPECT_EQ(r[0].handed, us(0));
  EXPECT_EQ(r[2].handed, us(0));
  EXPECT_EQ(r[1].handed, us(20));
  EXPECT_EQ(r[3].handed, us(45));
  EXPECT_EQ(r[3].end, us(75));
}

// The same under Credit: a and b go (30 > 0, 10 > 0); at 20 us a comes back and d goes, which leaves -15; b makes it 0
// at 35 us, and only when d has come back at 65 us is there credit for c.
TEST_F(OneChannel, CreditOvershootsByOneMessage) {
  credit = 30;
  const auto r = run({{0, 20, 0}, {0, 15, 1}, {0, 10, 3}, {0, 30, 2}}, HandOver::Credit);
  EXPECT_EQ(r[0].handed, us(0));
  EXPECT_EQ(r[1].handed, us(0));
  EXPECT_EQ(r[3].handed, us(20));
  EXPECT_EQ(r[2].handed, us(65));
}

TEST_F(OneChannel, FreeGoesInTheOrderOfBecomingReady) {
  const auto r = run({{2, 10}, {1, 10}, {0, 10}});
  EXPECT_EQ(r[2].begin, us(0));
  EXPECT_EQ(r[1].begin, us(10));
  EXPECT_EQ(r[0].begin, us(20));
}

TEST(Unordered, PermutationsAreUniformAndDependOnTheStreamAlone) {
  program::ProgramBuilder b;
  Channel channel;
  const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
  channel.route = b.wires().add_route(std::array{link});
  const ChannelId c = b.add_channel(channel);
  for (int i = 0; i < 3; ++i) b.add_message(c, Bytes(10));
  const program::StepProgram p = b.finish();
  std::array<int, 27> seen{};
  OrderTable order;
  order.discipline = {HandOver::Unordered};
  for (std::uint64_t stream = 0; stream < 3000; ++stream) {
    order.stream = mix64(stream);
    Recorder recorder;
    program::Simulation s(p, order, 1);
    s.observe(&recorder);
    s.run();
    ++seen[recorder.records[0].activity * 9 + recorder.records[1].activity * 3 + recorder.records[2].activity];
    Recorder again;
    s.reset(order, 1);
    s.observe(&again);
    s.run();
    EXPECT_EQ(again.records[1].activity, recorder.records[1].activity);
  }
  for (const int code : {0 * 9 + 1 * 3 + 2, 0 * 9 + 2 * 3 + 1, 1 * 9 + 0 * 3 + 2, 1 * 9 + 2 * 3 + 0, 2 * 9 + 0 * 3 + 1,
                         2 * 9 + 1 * 3 + 0})
    EXPECT_NEAR(seen[static_cast<std::size_t>(code)], 500, 100) << code;
}

}  // namespace
}  // namespace stretto::channel
