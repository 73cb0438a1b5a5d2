// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "sim/resource/pool.hpp"

namespace stretto::resource {
namespace {

TEST(Pool, LeastKeyThenLeastActivityFirst) {
  Pool pool;
  for (const auto& [key, activity] : {std::pair{3U, 1U}, {1U, 9U}, {2U, 4U}, {1U, 2U}})
    pool.submit({key, activity, activity, 0, Duration::ps(10)});
  std::vector<std::uint32_t> order;
  Time now;
  while (pool.can_start()) {
    order.push_back(pool.start(now, pool.next().duration).activity);
    EXPECT_EQ(pool.busy_time(now + Duration::ps(4)), (now + Duration::ps(4)) - Time());
    now = now + Duration::ps(10);
    pool.release(now);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 9, 4, 1}));
  EXPECT_EQ(pool.busy_time(Time::ps(70)), Duration::ps(40));
}

TEST(Pool, ServesAsManyAsItHasUnits) {
  Pool pool;
  pool.units = 2;
  for (std::uint32_t a = 0; a < 3; ++a) pool.submit({0, a, a, 0, Duration()});
  pool.start(Time(), pool.next().duration);
  EXPECT_TRUE(pool.can_start());
  pool.start(Time(), pool.next().duration);
  EXPECT_FALSE(pool.can_start());
  pool.release(Time());
  EXPECT_TRUE(pool.can_start());
}

TEST(Pool, UnlimitedNeverMakesAnyoneWait) {
  Pool pool;
  pool.units = 0;
  for (std::uint32_t a = 0; a < 100; ++a) pool.submit({0, a, a, 0, Duration()});
  for (std::uint32_t a = 0; a < 100; ++a) {
    ASSERT_TRUE(pool.can_start());
    pool.start(Time(), pool.next().duration);
  }
  EXPECT_FALSE(pool.can_start());
}

TEST(Pool, ResetEmptiesIt) {
  Pool pool;
  pool.submit({0, 1, 1, 0, Duration::ps(5)});
  pool.start(Time(), pool.next().duration);
  pool.submit({0, 2, 2, 0, Duration::ps(5)});
  pool.reset();
  EXPECT_FALSE(pool.can_start());
  EXPECT_EQ(pool.busy, 0U);
  EXPECT_EQ(pool.busy_time(Time()), Duration());
}

}  // namespace
}  // namespace stretto::resource
