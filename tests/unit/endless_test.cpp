// SPDX-License-Identifier: Apache-2.0
// Activities without a last iteration, and goals.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "sim/program/simulation.hpp"

namespace stretto::program {
namespace {

Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }
const OrderTable kFree;

// A chain of its own beside one that goes on for ever.
StepProgram limited_and_endless(std::int64_t limited_us, std::int64_t endless_us) {
  ProgramBuilder b;
  const PoolId pool = b.add_pool({"", 0, PoolRule::Fifo});
  for (const std::int64_t time : {limited_us, endless_us}) {
    const ActivityId a = b.add_compute(pool, Duration::us(time));
    b.add_edge(a, a, 1);
    b.add_marker(a);
  }
  StepProgram p = b.finish();
  p.endless = 1;
  return p;
}

TEST(Endless, GoesOnUntilTheOthersHaveEnded) {
  const StepProgram p = limited_and_endless(10, 3);
  Simulation s(p, kFree, 4);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.now(), us(40));
  EXPECT_EQ(s.marker_times(0).size(), 4U);
  EXPECT_EQ(s.marker_times(1).size(), 13U) << "more than the iterations that are asked of the other";
  EXPECT_EQ(s.finished(), 4U);
  s.reset(kFree, 2);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.marker_times(1).size(), 6U);
}

TEST(Endless, GoalsAreReachedOneByOne) {
  const StepProgram p = limited_and_endless(10, 3);
  Simulation s(p, kFree, 4);
  const std::array<Simulation::Goal, 3> goals{{{0, 1, 2, false}, {1, 1, 5, false}, {0, 2, 4, true}}};
  EXPECT_EQ(s.run_until_any(goals), Status::Reached);
  EXPECT_EQ(s.now(), us(10)) << "3 + 1 passes together";
  EXPECT_EQ(s.run_until_any(std::span(goals).first(2)), Status::Reached);
  EXPECT_EQ(s.now(), us(15));
  EXPECT_TRUE(s.reached(goals[1]) && !s.reached(goals[0]));
  EXPECT_EQ(s.run_until_any(std::span(goals).first(2)), Status::Reached);
  EXPECT_EQ(s.now(), us(20));
}

// A message of 1000 bytes at 1 byte/us beside bursts of 100 bytes with pauses of 200 us: 200 us alone, then 200 us at a
// half each, again and again: 300 bytes in 400 us.
StepProgram beside_bursts(bool stuck) {
  ProgramBuilder b;
  const network::LinkId link = b.wires().add_link("link", Bandwidth(8'000'000));
  channel::Channel channel;
  channel.route = b.wires().add_route(std::array{link});
  channel.streams = 0;
  const ActivityId message = b.add_message(b.add_channel(channel), Bytes(1000));
  const ActivityId end = b.add_join();
  b.add_edge(message, end);
  if (stuck) b.add_edge(end, message);
  b.add_edge(end, message, 1);
  b.add_marker(end);
  const PoolId pauses = b.add_pool({"background", 0, PoolRule::Fifo});
  b.add_background(pauses, Duration::us(200), b.add_channel(channel), Bytes(100));
  return b.finish();
}

TEST(Endless, BurstsShareALink) {
  const StepProgram p = beside_bursts(false);
  EXPECT_EQ(p.background, 2U);
  EXPECT_EQ(p.chains, 1U);
  struct Count : Observer {
    void on_end(const ActivityRecord& r) override { EXPECT_LT(r.activity, 2U); }
  } count;
  Simulation s(p, kFree, 2);
  s.observe(&count);
  EXPECT_EQ(s.run_until(1), Status::Reached);
  // Three cycles of 300 bytes; the last 100 go alone.
  EXPECT_EQ(s.now(), us(3 * 400 + 100));
  EXPECT_EQ(s.bytes_carried(network::LinkId(0)), 1300);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.finished(), 4U);
  EXPECT_EQ(s.done(ActivityId(3)), 6U) << "bursts";
}

// What waits for itself is a deadlock, though bursts go on.
TEST(Endless, BackgroundAloneIsADeadlock) {
  const StepProgram p = beside_bursts(true);
  Simulation s(p, kFree, 1);
  EXPECT_EQ(s.run_until(1), Status::Deadlock);
  EXPECT_EQ(s.run(), Status::Deadlock);
  EXPECT_EQ(s.run_until(1, us(1000)), Status::Deadlock);
  const auto blocked = s.blocked(9);
  ASSERT_EQ(blocked.size(), 2U);
  EXPECT_EQ(blocked[0].activity, ActivityId(0));
}

}  // namespace
}  // namespace stretto::program
