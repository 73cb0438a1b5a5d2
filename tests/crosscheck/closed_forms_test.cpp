// SPDX-License-Identifier: Apache-2.0
// Cases whose answer has a closed form. Links carry 1250 bytes per us and 50 us of latency unless a case says other;
// a flow moves after the latencies of its two links (100 us).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/program/simulation.hpp"
#include "tests/support/fluid_reference.hpp"
#include "tests/support/recorder.hpp"

namespace stretto::testing {
namespace {

constexpr double kRate = 1250;  // bytes/us

// Flows on named links; ends in us after the start of the case.
class Flows : public ::testing::Test {
 protected:
  void link(const std::string& name, double rate = kRate) {
    links_[name] = system_.wires.add_link(name, Bandwidth::bytes_per_second(static_cast<std::int64_t>(rate * 1e6)));
  }
  void flow(double start_us, double bytes, const std::vector<std::string>& route, double cap = 0,
            double latency_us = 100) {
    std::vector<network::LinkId> path;
    for (const std::string& name : route) {
      if (!links_.contains(name)) link(name);
      path.push_back(links_.at(name));
    }
    FlowSpec f;
    f.route = system_.wires
                  .add_route(path, cap > 0 ? Bandwidth::bytes_per_second(static_cast<std::int64_t>(cap * 1e6))
                                           : Bandwidth::unlimited())
                  .index();
    f.bytes = static_cast<std::int64_t>(bytes);
    f.start_ps = Duration::seconds((start_us + latency_us) * 1e-6).ps();
    system_.flows.push_back(f);
  }
  void expect(const std::vector<double>& ends_us) {
    network::FluidNetwork net(system_.wires);
    const auto ends = solver_ends(net, system_);
    ASSERT_EQ(ends.size(), ends_us.size());
    for (std::size_t f = 0; f < ends.size(); ++f)
      EXPECT_NEAR(static_cast<double>(ends[f]) * 1e-6, ends_us[f], 1e-3) << "flow " << f;
  }
  FlowSystem system_;
  std::map<std::string, network::LinkId> links_;
};

TEST_F(Flows, OneAlone) {
  flow(0, 125e6, {"a", "b"});
  expect({100 + 125e6 / kRate});
}

TEST_F(Flows, TheSlowerOfTwoLinksDecides) {
  link("b", kRate / 4);
  flow(10'000, 1e8, {"a", "b"}, 0, 200);
  expect({10'200 + 1e8 / (kRate / 4)});
}

TEST_F(Flows, TwoEqualOnesHalveTheLink) {
  flow(0, 1e6, {"a", "x"});
  flow(0, 1e6, {"b", "x"});
  expect({100 + 2e6 / kRate, 100 + 2e6 / kRate});
}

TEST_F(Flows, IncastOfUnequalSizes) {
  // Sizes ascending: flow k ends when all smaller ones and its own size of each larger one are through.
  const std::vector<double> sizes{1e7, 2e7, 4e7, 8e7};
  std::vector<double> ends;
  double through = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    flow(0, sizes[k], {"up" + std::to_string(k), "down"});
    ends.push_back(100 + (through + sizes[k] * static_cast<double>(sizes.size() - k)) / kRate);
    through += sizes[k];
  }
  expect(ends);
}

TEST_F(Flows, FanOutWithASlowReceiver) {
  link("slow", kRate / 10);
  flow(0, 5e7, {"a", "b"});
  flow(0, 5e7, {"a", "c"});
  flow(0, 5e7, {"a", "slow"});
  const double fast = 100 + 5e7 / (0.45 * kRate);
  expect({fast, fast, 100 + 5e7 / (kRate / 10)});
}

TEST_F(Flows, TwoLevelsOfMaxMin) {
  // d is half as fast: its two flows get 1/4 each; what they leave on a is shared by two at 3/8.
  link("d", kRate / 2);
  flow(0, 1e8, {"a", "c"});
  flow(0, 1e8, {"a", "d"});
  flow(0, 1e8, {"a", "e"});
  flow(0, 1e8, {"b", "d"});
  flow(0, 1e8, {"b", "c"});
  const double quarter = 100 + 1e8 / (kRate / 4);
  const double share = 100 + 1e8 / (kRate * 3 / 8);
  expect({share, quarter, share, quarter, 100 + 1e8 / (kRate * 5 / 8)});
}

TEST_F(Flows, ArrivalsAndDepartures) {
  flow(0, 1.25e8, {"a", "d"});
  flow(20'000, 5e7, {"b", "d"});
  flow(50'000, 1.25e7, {"c", "d"});
  flow(300'000, 1.25e7, {"c", "d"});
  // Third: a third of the link for 30 ms. Second: 1.875e7 by 50 ms, 1.25e7 more by 80 ms, then half of the link.
  const double second = 80'000 + (5e7 - 3.125e7) / (kRate / 2);
  // First: 2.5e7 + 1.875e7 + 1.25e7 by 80 ms, then half, then all of it.
  const double left = 1.25e8 - 5.625e7 - (second - 80'000) * kRate / 2;
  expect({100 + second + left / kRate, 100 + second, 80'100, 310'100});
}

TEST_F(Flows, ACapLeavesItsShareToTheOthers) {
  flow(0, 6e7, {"a", "d"}, 200);
  flow(0, 6e7, {"b", "d"});
  flow(0, 1.2e8, {"c", "d"});
  const double second = 6e7 / ((kRate - 200) / 2);
  expect({100 + 6e7 / 200, 100 + second, 100 + second + 6e7 / (kRate - 200)});
}

TEST_F(Flows, ALooseCapBindsOnceTheOtherIsGone) {
  flow(0, 1.5e8, {"a", "d"}, 1000);
  flow(0, 5e7, {"b", "d"});
  const double second = 5e7 / (kRate / 2);
  expect({100 + second + 1e8 / 1000, 100 + second});
}

TEST_F(Flows, AnOversubscribedCore) {
  // n pairs through one link of the speed of a NIC, beside local traffic that gets what its own link leaves.
  for (int i = 0; i < 4; ++i)
    flow(0, 1e7, {"up" + std::to_string(i), "core_up", "core_down", "down" + std::to_string(i)});
  flow(0, 3e7, {"up0", "down9"});
  const double core = 4e7 / kRate;
  const double local = core * kRate * 3 / 4;
  expect({100 + core, 100 + core, 100 + core, 100 + core, 100 + core + (3e7 - local) / kRate});
}

TEST_F(Flows, ALaterStartByLatencyIsALaterStart) {
  flow(0, 1e8, {"a", "c"});
  flow(0, 1e8, {"b", "c"}, 0, 300);
  // The first has 200 us of the link for itself.
  const double first = 300 + 2 * (1e8 - 200 * kRate) / kRate;
  expect({first, 100 + 2e8 / kRate});
}

TEST_F(Flows, TheDirectionsOfALinkAreApart) {
  flow(0, 1.25e8, {"a_up", "b_down"});
  flow(0, 1.25e8, {"b_up", "a_down"});
  flow(50'000, 3.125e7, {"a_up", "b_down"});
  expect({100 + (1.25e8 + 3.125e7) / kRate, 100 + 1.25e8 / kRate, 100 + 50'000 + 6.25e7 / kRate});
}

TEST_F(Flows, ATrainOfSmallOnesBesideALargeOne) {
  flow(0, 1.25e7, {"a", "c"});
  flow(1'000, 4'000, {"b", "c"});
  flow(3'000, 1, {"b", "c"});
  expect({100 + (1.25e7 + 4'001) / kRate, 1'100 + 8'000 / kRate, 3'100 + 2 / kRate});
}

TEST_F(Flows, ManyToManyThatStartTogether) {
  // Servers s (full speed) and t (half) to workers u, v (full) and w (a fifth): u and v get 2/5 of s each.
  link("t", kRate / 2);
  link("w", kRate / 5);
  for (const std::string server : {"s", "t"})
    for (const std::string worker : {"u", "v", "w"}) flow(0, 6e6, {server, worker});
  // w: 1/10 each. t: (1/2 - 1/10) / 2 = 1/5 to u and v. s: (1 - 1/10) / 2 = 9/20 to u and v.
  const double from_s = 6e6 / (kRate * 9 / 20), from_t = 6e6 / (kRate / 5), to_w = 6e6 / (kRate / 10);
  expect({100 + from_s, 100 + from_s, 100 + to_w, 100 + from_t, 100 + from_t, 100 + to_w});
}

TEST_F(Flows, ARingWithOneSlowLink) {
  link("up2", 500);
  for (int i = 0; i < 4; ++i) flow(0, 2.5e7, {"up" + std::to_string(i), "down" + std::to_string((i + 1) % 4)});
  expect({100 + 2.5e7 / kRate, 100 + 2.5e7 / kRate, 100 + 2.5e7 / 500, 100 + 2.5e7 / kRate});
}

TEST_F(Flows, FanOutToManyWorkers) {
  constexpr int kWorkers = 100;
  for (int w = 0; w < kWorkers; ++w) flow(0, 1e6, {"server", "worker" + std::to_string(w)});
  expect(std::vector<double>(kWorkers, 100 + kWorkers * 1e6 / kRate));
}

// Ops 0..n-1 in a chain, op i after transfer i; transfers one after another on one channel:
// makespan = latency + max over j of [ transfers 0..j + ops j..n-1 ].
TEST(Pipeline, ChainOfTransfersAndOps) {
  RandomStream random(1, "pipeline");
  for (int trial = 0; trial < 200; ++trial) {
    program::ProgramBuilder b;
    const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
    channel::Channel c;
    c.route = b.wires().add_route(std::array{link});
    c.latency = Duration::us(static_cast<std::int64_t>(random.below(20)));
    const program::ChannelId channel = b.add_channel(c);
    const program::PoolId gpu = b.add_pool({"gpu", 1, program::PoolRule::Fifo});
    const std::size_t n = 1 + random.below(12);
    std::vector<std::int64_t> transfer, op;
    program::ActivityId before;
    for (std::size_t i = 0; i < n; ++i) {
      transfer.push_back(static_cast<std::int64_t>(random.below(50)));
      op.push_back(static_cast<std::int64_t>(random.below(50)));
      const program::ActivityId message = b.add_message(channel, Bytes(transfer.back()));
      const program::ActivityId compute = b.add_compute(gpu, Duration::us(op.back()));
      b.add_edge(message, compute);
      if (before.valid()) b.add_edge(before, compute);
      before = compute;
    }
    std::int64_t expected = 0;
    for (std::size_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i <= j; ++i) sum += transfer[i];
      for (std::size_t i = j; i < n; ++i) sum += op[i];
      expected = std::max(expected, sum);
    }
    const program::StepProgram p = b.finish();
    const program::OrderTable order;
    program::Simulation s(p, order, 1);
    ASSERT_EQ(s.run(), program::Status::Reached);
    ASSERT_EQ(s.now(), Time::ps(1'000'000 * expected) + c.latency) << "trial " << trial;
  }
}

// W workers push to one server through its NIC; the server serves them one at a time.
TEST(Pipeline, IncastThenOneThread) {
  constexpr int kWorkers = 8;
  program::ProgramBuilder b;
  const auto down = b.wires().add_link("server", Bandwidth::bytes_per_second(1'000'000));
  const program::PoolId thread = b.add_pool({"thread", 1, program::PoolRule::Fifo});
  const program::ActivityId update = b.add_join();
  for (int w = 0; w < kWorkers; ++w) {
    channel::Channel c;
    c.route = b.wires().add_route(std::array{b.wires().add_link("up", Bandwidth::bytes_per_second(1'000'000)), down});
    c.receive = {thread.index(), Duration::us(5), 0};
    b.add_edge(b.add_message(b.add_channel(c), Bytes(10)), update);
  }
  b.add_marker(update);
  const program::StepProgram p = b.finish();
  const program::OrderTable order;
  program::Simulation s(p, order, 1);
  ASSERT_EQ(s.run(), program::Status::Reached);
  EXPECT_EQ(s.marker_times(0)[0], Time::ps(1'000'000 * (kWorkers * 10 + kWorkers * 5)));
}

}  // namespace
}  // namespace stretto::testing
