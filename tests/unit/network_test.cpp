// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/network/fifo.hpp"
#include "sim/network/flow_heaps.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/wires.hpp"

namespace stretto::network {
namespace {

Bandwidth mega(std::int64_t bytes_per_us) { return Bandwidth::bytes_per_second(bytes_per_us * 1'000'000); }
Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }

// Ends of messages that start as the list says; the order of equal starts is the list's.
struct Start {
  Time at;
  RouteId route;
  std::int64_t bytes;
};
template <class Network>
std::vector<Time> ends(Network& net, const std::vector<Start>& starts) {
  std::vector<Time> result(starts.size());
  std::vector<std::uint32_t> tokens;
  std::size_t next = 0;
  for (;;) {
    const Time start = next < starts.size() ? starts[next].at : Time::never();
    const Time now = std::min(start, net.next());
    if (now == Time::never()) return result;
    while (net.next() == now || (next < starts.size() && starts[next].at == now)) {
      tokens.clear();
      net.finish(now, tokens);
      for (const std::uint32_t t : tokens) result[t] = now;
      for (; next < starts.size() && starts[next].at == now; ++next)
        net.start(now, starts[next].route, Bytes(starts[next].bytes), static_cast<std::uint32_t>(next));
    }
    net.solve(now);
  }
}

// Many heaps in one store, against sorted sets; a copy goes its own way, and a cleared store is used again.
TEST(FlowHeaps, GiveTheFlowsOfEachHeapInOrder) {
  RandomStream random(1, "flow heaps");
  FlowHeaps store;
  for (int round = 0; round < 3; ++round) {
    constexpr std::size_t kHeaps = 20;
    std::vector<std::uint32_t> heaps(kHeaps, FlowHeaps::kEmpty);
    std::array<std::set<std::pair<double, std::uint32_t>>, kHeaps> expected;
    FlowHeaps copy;
    std::uint32_t copied = FlowHeaps::kEmpty;
    const auto check_and_pop = [&](FlowHeaps& of, std::uint32_t& heap, auto& flows) {
      ASSERT_NE(heap, FlowHeaps::kEmpty);
      EXPECT_EQ(std::pair(of.threshold(heap), of.token(heap)), *flows.begin());
      heap = of.pop(heap);
      flows.erase(flows.begin());
    };
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      const std::size_t h = random.below(kHeaps);
      if (random.below(step < 8'000 ? 4 : 2) != 0 || expected[h].empty()) {
        const auto threshold = static_cast<double>(random.below(1000));
        heaps[h] = store.push(heaps[h], {threshold, step});
        expected[h].emplace(threshold, step);
      } else {
        check_and_pop(store, heaps[h], expected[h]);
      }
      EXPECT_EQ(heaps[h] == FlowHeaps::kEmpty, expected[h].empty());
      if (step == 10'000) {
        copy = store;
        copied = heaps[0];
        auto flows = expected[0];
        double sum = 0, expected_sum = 0;
        copy.for_each(copied, [&](double threshold) { sum += threshold; });
        for (const auto& [threshold, token] : flows) expected_sum += threshold;
        EXPECT_EQ(sum, expected_sum);
        while (!flows.empty()) check_and_pop(copy, copied, flows);
      }
    }
    for (std::size_t h = 0; h < kHeaps; ++h)
      while (!expected[h].empty()) check_and_pop(store, heaps[h], expected[h]);
    store.clear();
  }
}

TEST(Wires, RoutesLeaveOutUnlimitedLinks) {
  Wires wires;
  const LinkId a = wires.add_link("a", mega(10));
  const LinkId b = wires.add_link("b", Bandwidth::unlimited());
  const LinkId c = wires.add_link("c", mega(5));
  const RouteId r = wires.add_route(std::array{a, b, c});
  ASSERT_EQ(wires.path(r).size(), 2U);
  EXPECT_EQ(wires.path(r)[1], c);
  EXPECT_EQ(wires.rate_alone(r), mega(5));
  EXPECT_EQ(wires.rate_alone(wires.add_route(std::array{a}, mega(3))), mega(3));
  EXPECT_TRUE(wires.rate_alone(wires.add_route(std::array{b})).is_unlimited());
}

TEST(Wires, RefusesWhatCannotBe) {
  Wires wires;
  const LinkId a = wires.add_link("a", mega(10));
  EXPECT_THROW(wires.add_route(std::array{a, a}), InternalError);
  EXPECT_THROW(wires.add_route(std::array{LinkId(7)}), InternalError);
  EXPECT_THROW(wires.add_route(std::array{a}, Bandwidth(0)), InternalError);
}

class FifoLinks : public ::testing::Test {
 protected:
  FifoLinks() {
    a = wires.add_link("a", mega(10));
    b = wires.add_link("b", mega(5));
    c = wires.add_link("c", mega(5));
    ab = wires.add_route(std::array{a, b});
    ac = wires.add_route(std::array{a, c});
  }
  Wires wires;
  LinkId a, b, c;
  RouteId ab, ac;
};

TEST_F(FifoLinks, WholeMessagesAreStoredAndForwarded) {
  FifoNetwork net(wires, Bytes(0));
  // 100 bytes: 10 us on a, 20 us on b or c. The second waits for a, then for b; the third only for a.
  EXPECT_EQ(ends(net, {{us(0), ab, 100}, {us(0), ab, 100}, {us(0), ac, 100}}),
            (std::vector<Time>{us(30), us(50), us(50)}));
  EXPECT_EQ(net.bytes_carried(a), 300);
  EXPECT_EQ(net.bytes_carried(b), 200);
}

TEST_F(FifoLinks, ChunksArePipelined) {
  FifoNetwork net(wires, Bytes(10));
  // n chunks of 1 us on a and 2 us on b: 1 + 2 n us.
  EXPECT_EQ(ends(net, {{us(0), ab, 100}}), (std::vector<Time>{us(21)}));
  net.reset();
  // The last chunk has 5 bytes: 1 us on b, after the ten others.
  EXPECT_EQ(ends(net, {{us(0), ab, 105}}), (std::vector<Time>{us(22)}));
  EXPECT_EQ(net.bytes_carried(b), 105);
}

TEST_F(FifoLinks, ACapIsAFirstLinkOfItsRoute) {
  const RouteId capped = wires.add_route(std::array{a}, mega(2));
  const RouteId alone = wires.add_route(std::span<const LinkId>(), mega(2));
  FifoNetwork net(wires, Bytes(0));
  EXPECT_EQ(ends(net, {{us(0), capped, 100}, {us(0), capped, 100}, {us(0), ab, 100}, {us(1), alone, 100}}),
            (std::vector<Time>{us(60), us(110), us(30), us(51)}));
}

TEST_F(FifoLinks, NothingTakesNoTimeButKeepsItsPlace) {
  const RouteId nowhere = wires.add_route(std::span<const LinkId>());
  FifoNetwork net(wires, Bytes(0));
  EXPECT_EQ(ends(net, {{us(3), ab, 0}, {us(3), nowhere, 1000}, {us(4), ab, 100}, {us(5), ab, 0}}),
            (std::vector<Time>{us(3), us(3), us(34), us(34)}));
}

TEST_F(FifoLinks, OddRatesRoundUpPerChunk) {
  const LinkId slow = wires.add_link("slow", Bandwidth(3));
  const RouteId r = wires.add_route(std::array{slow});
  FifoNetwork net(wires, Bytes(1));
  EXPECT_EQ(ends(net, {{us(0), r, 2}}), (std::vector<Time>{Time::ps(2 * 2'666'666'666'667)}));
}

class Fluid : public ::testing::Test {
 protected:
  Fluid() {
    a = wires.add_link("a", mega(10));
    b = wires.add_link("b", mega(4));
    ra = wires.add_route(std::array{a});
    rab = wires.add_route(std::array{a, b});
    capped = wires.add_route(std::array{a}, mega(1));
  }
  Wires wires;
  LinkId a, b;
  RouteId ra, rab, capped;
};

TEST_F(Fluid, SharesAndSpeedsUpTheSurvivors) {
  FluidNetwork net(wires);
  // 5 each until 100 bytes are through at 20 us, then 10 alone.
  EXPECT_EQ(ends(net, {{us(0), ra, 100}, {us(0), ra, 200}}), (std::vector<Time>{us(20), us(30)}));
  EXPECT_EQ(net.bytes_carried(a, Time::never()), 300);
}

TEST_F(Fluid, WhatABottleneckElsewhereLeavesGoesToTheOthers) {
  FluidNetwork net(wires);
  net.start(us(0), ra, Bytes(600), 0);
  net.start(us(0), rab, Bytes(400), 1);
  net.start(us(0), capped, Bytes(1000), 2);
  net.solve(us(0));
  EXPECT_DOUBLE_EQ(net.rate(ra), 5e-6);
  EXPECT_DOUBLE_EQ(net.rate(rab), 4e-6);
  EXPECT_DOUBLE_EQ(net.rate(capped), 1e-6);
  EXPECT_EQ(net.next(), us(100));
}

TEST_F(Fluid, NoBytesAndNoLinksTakeNoTime) {
  const RouteId nowhere = wires.add_route(std::span<const LinkId>());
  FluidNetwork net(wires);
  EXPECT_EQ(ends(net, {{us(0), ra, 100}, {us(1), ra, 0}, {us(2), nowhere, 100}}),
            (std::vector<Time>{us(10), us(1), us(2)}));
  EXPECT_EQ(net.next(), Time::never());
}

TEST_F(Fluid, ACapAloneIsARate) {
  const RouteId only = wires.add_route(std::span<const LinkId>(), mega(2));
  FluidNetwork net(wires);
  EXPECT_EQ(ends(net, {{us(0), only, 100}, {us(10), only, 100}}), (std::vector<Time>{us(50), us(60)}));
}

TEST_F(Fluid, RatesFollowACapacityThatChanges) {
  FluidNetwork net(wires);
  net.start(us(0), ra, Bytes(100), 0);
  net.start(us(0), rab, Bytes(100), 1);
  net.solve(us(0));
  EXPECT_DOUBLE_EQ(net.rate(rab), 4e-6);
  net.set_capacity(b, 3);  // 12: a is what holds it now
  net.solve(us(5));
  EXPECT_DOUBLE_EQ(net.rate(rab), 5e-6);
  net.set_capacity(a, 0.4);
  net.solve(us(10));
  EXPECT_DOUBLE_EQ(net.rate(ra), 2e-6);
  net.set_capacity(b, 0.25);  // 1: the first gets the other 3
  net.solve(us(15));
  EXPECT_DOUBLE_EQ(net.rate(rab), 1e-6);
  EXPECT_DOUBLE_EQ(net.rate(ra), 3e-6);
  // First: 30 + 25 + 10 by 15 us, 35 left at 3 per us.
  EXPECT_EQ(net.next(), Time::ps(15'000'000 + 11'666'667));
  net.reset();
  net.start(us(0), rab, Bytes(100), 1);
  net.solve(us(0));
  EXPECT_EQ(net.next(), us(25));
}

TEST_F(Fluid, ManyFlowsOfOneRouteEndTogether) {
  FluidNetwork net(wires);
  const std::vector<Start> starts(1000, {us(0), ra, 10});
  EXPECT_EQ(ends(net, starts), std::vector<Time>(1000, us(1000)));
}

}  // namespace
}  // namespace stretto::network
