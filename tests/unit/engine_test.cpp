// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/indexed_heap.hpp"

namespace stretto::engine {
namespace {

TEST(EventQueue, OrdersByTimeThenPhaseThenScheduling) {
  EventQueue q;
  EXPECT_EQ(q.next(), Time::never());
  q.push(Time::ps(5), Phase::Begin, 0, 10);
  q.push(Time::ps(5), Phase::Finish, 0, 11);
  q.push(Time::ps(4), Phase::Solve, 0, 12);
  q.push(Time::ps(5), Phase::Finish, 0, 13);
  q.push(Time::ps(5), Phase::Begin, 0, 14);
  std::vector<std::uint32_t> order;
  while (!q.empty()) order.push_back(q.pop().target);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{12, 11, 13, 10, 14}));
  EXPECT_THROW(q.pop(), InternalError);
}

TEST(EventQueue, AgreesWithASetUnderRandomPushesAndPops) {
  RandomStream random(1, "event_queue");
  constexpr std::uint32_t kLines = 3;
  EventQueue q(kLines);
  std::set<std::tuple<std::int64_t, int, std::uint32_t>> model;
  std::uint32_t sequence = 0;
  std::int64_t now = 0;
  for (int step = 0; step < 40'000; ++step) {
    if (model.empty() || random.below(20) < 11) {
      const auto line = static_cast<std::uint32_t>(random.below(2 * kLines));
      std::int64_t time = now + static_cast<std::int64_t>(random.below(50));
      auto phase = static_cast<Phase>(random.below(4));
      if (line < kLines) {
        // Constant delay from a time that only grows: in order.
        time = now + 10 * line;
        phase = Phase::Begin;
        q.push_on_line(line, Time::ps(time), phase, 7, sequence);
      } else {
        q.push(Time::ps(time), phase, 7, sequence);
      }
      model.emplace(time, static_cast<int>(phase), sequence++);
    } else {
      const Event e = q.pop();
      ASSERT_EQ(e.target, std::get<2>(*model.begin()));
      ASSERT_EQ(e.time.ps(), std::get<0>(*model.begin()));
      ASSERT_EQ(e.kind, 7U);
      now = e.time.ps();
      model.erase(model.begin());
    }
    ASSERT_EQ(q.next().ps(), model.empty() ? Time::never().ps() : std::get<0>(*model.begin()));
    ASSERT_EQ(q.empty(), model.empty());
  }
}

TEST(EventQueue, ALineKeepsTheOrderOfTime) {
  EventQueue q(1);
  q.push_on_line(0, Time::ps(5), Phase::Begin, 0, 1);
  EXPECT_THROW(q.push_on_line(0, Time::ps(4), Phase::Begin, 0, 1), InternalError);
}

TEST(EventQueue, ClearForgetsEventsAndSequence) {
  EventQueue q(1);
  q.push(Time::ps(1), Phase::Finish, 0, 1);
  const std::uint64_t first = q.pop().order;
  q.push(Time::ps(1), Phase::Finish, 0, 1);
  q.push_on_line(0, Time::ps(9), Phase::Begin, 0, 1);
  q.clear();
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.next(), Time::never());
  q.push(Time::ps(1), Phase::Finish, 0, 1);
  EXPECT_EQ(q.pop().order, first);
}

// Two heaps share one array of positions; the model is a multimap per heap.
TEST(IndexedHeap, AgreesWithAMultimapUnderRandomChanges) {
  RandomStream random(2, "indexed_heap");
  constexpr std::uint32_t kItems = 60;
  std::vector<std::uint32_t> position(kItems, kNotInHeap);
  IndexedHeap<std::int64_t> heap[2];
  std::set<std::pair<std::int64_t, std::uint32_t>> model[2];
  std::map<std::uint32_t, std::pair<int, std::int64_t>> at;
  for (int step = 0; step < 30'000; ++step) {
    const auto item = static_cast<std::uint32_t>(random.below(kItems));
    const auto key = static_cast<std::int64_t>(random.below(30));
    const auto found = at.find(item);
    if (found == at.end()) {
      const int h = static_cast<int>(random.below(2));
      heap[h].push(item, key, position);
      model[h].emplace(key, item);
      at[item] = {h, key};
    } else if (random.below(3) == 0) {
      const auto [h, old] = found->second;
      heap[h].erase(item, position);
      model[h].erase({old, item});
      at.erase(found);
      ASSERT_EQ(position[item], kNotInHeap);
    } else {
      const auto [h, old] = found->second;
      heap[h].update(item, key, position);
      model[h].erase({old, item});
      model[h].emplace(key, item);
      found->second.second = key;
    }
    for (int h = 0; h < 2; ++h) {
      ASSERT_EQ(heap[h].size(), model[h].size());
      if (model[h].empty()) continue;
      ASSERT_EQ(heap[h].top().key, model[h].begin()->first);
      ASSERT_EQ(heap[h].top().item, model[h].begin()->second);
    }
  }
}

}  // namespace
}  // namespace stretto::engine
