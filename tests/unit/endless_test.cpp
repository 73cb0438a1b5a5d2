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

}  // namespace
}  // namespace stretto::program
