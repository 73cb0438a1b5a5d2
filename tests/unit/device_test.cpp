// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "models/device/roofline.hpp"
#include "models/graph/check.hpp"

namespace stretto::device {
namespace {

graph::Op op(double flops, double bytes) {
  graph::Op o;
  o.flops = flops;
  o.memory_bytes = bytes;
  return o;
}

const Roofline kDevice{1e12, 1e11, 0.5, 0.8, Duration::us(5)};

TEST(Roofline, TheSlowerOfWorkAndTrafficCounts) {
  EXPECT_EQ(op_time(op(1e9, 0), kDevice), Duration::us(2000 + 5));
  EXPECT_EQ(op_time(op(1e9, 8e7), kDevice), Duration::us(2000 + 5));
  EXPECT_EQ(op_time(op(1e9, 8e8), kDevice), Duration::us(10'000 + 5));
  EXPECT_EQ(op_time(op(0, 0), kDevice), Duration::us(5));
}

TEST(Roofline, ClassesHaveEfficienciesOfTheirOwn) {
  using graph::OpClass;
  Roofline d = kDevice;
  d.forward[static_cast<std::size_t>(OpClass::Conv3x3)] = 2;  // of the peak
  d.backward[static_cast<std::size_t>(OpClass::Conv3x3)] = 1;
  d.forward[static_cast<std::size_t>(OpClass::Pooling)] = 0.4;  // of the bandwidth
  ASSERT_TRUE(is_sound(d));
  graph::Op conv = op(1e9, 0);
  conv.op_class = OpClass::Conv3x3;
  EXPECT_EQ(op_time(conv, d), Duration::us(500 + 5));
  conv.phase = graph::Phase::Backward;
  EXPECT_EQ(op_time(conv, d), Duration::us(1000 + 5));
  conv.op_class = OpClass::Conv;
  EXPECT_EQ(op_time(conv, d), Duration::us(2000 + 5)) << "no efficiency of its own";
  graph::Op pool = op(1e8, 8e8);
  pool.op_class = OpClass::Pooling;
  EXPECT_EQ(op_time(pool, d), Duration::us(20'000 + 5));
  pool.phase = graph::Phase::Backward;
  EXPECT_EQ(op_time(pool, d), Duration::us(20'000 + 5)) << "that of the forward class";
  d.forward[static_cast<std::size_t>(OpClass::Other)] = 1;
  EXPECT_FALSE(is_sound(d));
  d = kDevice;
  d.backward[1] = 5;
  EXPECT_FALSE(is_sound(d));
}

TEST(Roofline, FillsEveryTimeAndCounts) {
  graph::Graph g;
  EXPECT_TRUE(lacks_times(g));
  g.ops = {op(1e9, 0), op(0, 8e8), op(0, 0)};
  EXPECT_TRUE(lacks_times(g));
  const Filled filled = fill_times(g, kDevice);
  EXPECT_FALSE(lacks_times(g));
  EXPECT_EQ(filled.ops, 3U);
  EXPECT_EQ(filled.unknown, 1U);
  EXPECT_EQ(filled.compute_bound, 1U);
  EXPECT_EQ(g.ops[1].time, Duration::us(10'005));
}

TEST(Roofline, HugeWorkIsCutNotOverflown) { EXPECT_EQ(op_time(op(1e24, 0), kDevice), graph::kMaxTotalTime); }

TEST(Roofline, KnowsItsRanges) {
  EXPECT_TRUE(is_sound(kDevice));
  EXPECT_FALSE(is_sound(Roofline()));
  Roofline d = kDevice;
  d.flops_efficiency = 1.1;
  EXPECT_FALSE(is_sound(d));
  d = kDevice;
  d.peak_flops = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(is_sound(d));
  d = kDevice;
  d.launch = Duration::ps(-1);
  EXPECT_FALSE(is_sound(d));
}

}  // namespace
}  // namespace stretto::device
