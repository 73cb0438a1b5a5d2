// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/ps_step.hpp"
#include "tests/support/recorder.hpp"

namespace stretto::program {
namespace {

using channel::HandOver;
using testing::PsStep;
using testing::Recorder;

Time us(std::int64_t v) { return Time::ps(v * 1'000'000); }
const OrderTable kFree;

std::vector<std::vector<Time>> all_markers(const Simulation& s, const StepProgram& p) {
  std::vector<std::vector<Time>> result;
  for (std::size_t m = 0; m < p.markers.size(); ++m) result.push_back(s.marker_times(m));
  return result;
}

TEST(Builder, SortsEdgesByOriginAndCountsPredecessors) {
  ProgramBuilder b;
  const ActivityId x = b.add_join(), y = b.add_join(), z = b.add_join();
  b.add_edge(z, x, 1);
  b.add_edge(x, y);
  b.add_edge(x, z);
  b.add_edge(y, z);
  const StepProgram p = b.finish();
  EXPECT_EQ(p.size(), 3U);
  const auto need = [&](std::size_t a) { return p.needs[p.need_of[a]]; };
  EXPECT_EQ(need(0), (Need{0, 1}));
  EXPECT_EQ(need(1), (Need{1, 1}));
  EXPECT_EQ(need(2), (Need{2, 2}));
  ASSERT_EQ(p.activities[1].first_edge, 2U);
  EXPECT_EQ(p.edges[0].to(), y.index());
  EXPECT_EQ(p.edges[1].to(), z.index());
  EXPECT_EQ(p.edges[3].to(), x.index());
  EXPECT_EQ(p.edges[3].distance(), 1U);
}

TEST(Builder, RefusesWhatCannotBe) {
  ProgramBuilder b;
  const ActivityId x = b.add_join(2);
  EXPECT_THROW(b.add_edge(x, ActivityId(9)), InternalError);
  EXPECT_THROW(b.add_edge(x, x, 2), InternalError);
  EXPECT_THROW(b.add_compute(PoolId(0), Duration()), InternalError);
  b.add_edge(b.add_delay(Duration()), x);
  EXPECT_THROW(b.finish(), InternalError);
}

TEST(Simulation, AMessageWithoutLatencyStartsAtZero) {
  ProgramBuilder b;
  const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
  channel::Channel c;
  c.route = b.wires().add_route(std::array{link});
  b.add_marker(b.add_message(b.add_channel(c), Bytes(10)));
  b.add_delay(Duration::us(3));
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 1);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.marker_times(0), (std::vector<Time>{us(10)}));
}

TEST(Simulation, NothingToDoIsReached) {
  ProgramBuilder b;
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 3);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.now(), Time());
}

TEST(Simulation, ComputesWaitForAUnitInTheOrderOfReadiness) {
  ProgramBuilder b;
  const PoolId gpu = b.add_pool({"gpu", 1, PoolRule::Fifo});
  const ActivityId first = b.add_compute(gpu, Duration::us(10));
  const ActivityId late = b.add_delay(Duration::us(4)), early = b.add_delay(Duration::us(2));
  const ActivityId x = b.add_compute(gpu, Duration::us(1)), y = b.add_compute(gpu, Duration::us(1));
  b.add_edge(late, x);
  b.add_edge(early, y);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 1);
  Recorder r;
  s.observe(&r);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(r.of(first.index()).end, us(10));
  EXPECT_EQ(r.of(y.index()).begin, us(10));
  EXPECT_EQ(r.of(x.index()).begin, us(11));
  EXPECT_EQ(r.of(x.index()).ready, us(4));
  EXPECT_EQ(s.busy_time(gpu), Duration::us(12));
}

TEST(Simulation, PriorityPoolsFollowTheOrderTable) {
  ProgramBuilder b;
  const PoolId gpu = b.add_pool({"gpu", 1, PoolRule::Priority});
  for (int i = 0; i < 3; ++i) b.add_compute(gpu, Duration::us(1));
  const StepProgram p = b.finish();
  OrderTable order;
  order.rank = {2, 0, 1};
  Simulation s(p, order, 1);
  Recorder r;
  s.observe(&r);
  s.run();
  EXPECT_EQ(r.records[0].activity, 1U);
  EXPECT_EQ(r.records[1].activity, 2U);
  EXPECT_EQ(r.records[2].activity, 0U);
}

TEST(Simulation, RandomPoolsDependOnTheStreamAlone) {
  ProgramBuilder b;
  const PoolId gpu = b.add_pool({"gpu", 1, PoolRule::Random});
  for (int i = 0; i < 2; ++i) b.add_compute(gpu, Duration::us(1));
  const StepProgram p = b.finish();
  int first = 0;
  OrderTable order;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) {
    order.stream = mix64(stream + 99);
    Simulation s(p, order, 1);
    Recorder r;
    s.observe(&r);
    s.run();
    first += r.records[0].activity == 0 ? 1 : 0;
  }
  EXPECT_NEAR(first, 500, 80);
}

// Two iterations of x -> y with y -> x one iteration later, and a source that feeds both.
TEST(Simulation, EdgesOfDistanceOneCrossIterations) {
  ProgramBuilder b;
  const ActivityId x = b.add_delay(Duration::us(3)), y = b.add_delay(Duration::us(4));
  b.add_edge(x, y);
  b.add_edge(y, x, 1);
  b.add_marker(x);
  b.add_marker(y);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 3);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.marker_times(0), (std::vector<Time>{us(3), us(10), us(17)}));
  EXPECT_EQ(s.marker_times(1), (std::vector<Time>{us(7), us(14), us(21)}));
  EXPECT_EQ(s.finished(), 6U);
}

TEST(Simulation, AFastProducerMayBeManyIterationsAhead) {
  ProgramBuilder b;
  const ActivityId fast = b.add_delay(Duration::us(1)), slow = b.add_delay(Duration::us(10));
  b.add_edge(fast, fast, 1);
  b.add_edge(fast, slow);
  b.add_edge(slow, slow, 1);
  b.add_marker(fast);
  b.add_marker(slow);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 5);
  ASSERT_EQ(s.run_until(1), Status::Reached);
  ASSERT_EQ(s.marker_times(0).size(), 5U);
  s.reset(kFree, 5);  // forgets what came early
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.marker_times(0), (std::vector<Time>{us(1), us(2), us(3), us(4), us(5)}));
  EXPECT_EQ(s.marker_times(1), (std::vector<Time>{us(11), us(21), us(31), us(41), us(51)}));
}

// The join goes on without a straggler that needs five of its iterations for one.
TEST(Join, AStragglerMayFallManyIterationsBehind) {
  ProgramBuilder b;
  const ActivityId join = b.add_join(2);
  std::vector<ActivityId> work;
  for (const std::int64_t t : {10, 50, 10}) {
    work.push_back(b.add_delay(Duration::us(t)));
    b.add_edge(work.back(), join);
    b.add_edge(join, work.back(), 1);
    b.add_edge(work.back(), work.back(), 1);
  }
  b.add_marker(join);
  b.add_marker(work[1]);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 4);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.marker_times(0), (std::vector<Time>{us(10), us(20), us(30), us(40)}));
  EXPECT_EQ(s.marker_times(1), (std::vector<Time>{us(50), us(100), us(150), us(200)}));
  EXPECT_EQ(s.late_arrivals(), 4U);
}

TEST(Join, FirstNOfMCountsLateArrivals) {
  ProgramBuilder b;
  const ActivityId join = b.add_join(2);
  std::vector<ActivityId> work;
  for (const std::int64_t t : {5, 1, 3, 9}) {
    work.push_back(b.add_delay(Duration::us(t)));
    b.add_edge(work.back(), join);
    b.add_edge(work.back(), work.back(), 1);
    b.add_edge(join, work.back(), 1);
  }
  b.add_marker(join);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 2);
  EXPECT_EQ(s.run(), Status::Reached);
  // Iteration 0: done at 3, late ones at 5 and 9. Iteration 1: 1 and 3 start at 3, end at 4 and 6.
  EXPECT_EQ(s.marker_times(0), (std::vector<Time>{us(3), us(6)}));
  EXPECT_EQ(s.late_arrivals(), 4U);
  EXPECT_EQ(s.finished(), 10U);
}

TEST(Join, ArrivalsOfOneInstantBeyondTheNeedAreLate) {
  ProgramBuilder b;
  const ActivityId join = b.add_join(2);
  for (int i = 0; i < 3; ++i) b.add_edge(b.add_delay(Duration::us(1)), join);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 1);
  EXPECT_EQ(s.run(), Status::Reached);
  EXPECT_EQ(s.late_arrivals(), 1U);
}

// Two runners of 1 us and 3 us a lap; the gate lets none start lap i before both have ended lap i - lag.
std::vector<std::vector<Time>> laps(std::uint32_t lag, std::uint32_t iterations) {
  ProgramBuilder b;
  const ActivityId gate = b.add_gate(lag);
  for (const std::int64_t time : {1, 3}) {
    const ActivityId start = b.add_join(), lap = b.add_delay(Duration::us(time));
    b.add_edge(gate, start);
    b.add_edge(lap, start, 1);
    b.add_edge(start, lap);
    b.add_edge(lap, gate, 1);
    b.add_marker(lap);
  }
  const StepProgram p = b.finish();
  Simulation s(p, kFree, iterations);
  EXPECT_EQ(s.run(), Status::Reached);
  return all_markers(s, p);
}

TEST(Gate, LetsNobodyLeadByMoreThanItsLag) {
  EXPECT_EQ(laps(1, 3)[0], (std::vector<Time>{us(1), us(4), us(7)}));
  EXPECT_EQ(laps(2, 5)[0], (std::vector<Time>{us(1), us(2), us(4), us(7), us(10)}));
  EXPECT_EQ(laps(4, 5)[0], (std::vector<Time>{us(1), us(2), us(3), us(4), us(5)}));
  for (const std::uint32_t lag : {1U, 2U, 7U})
    EXPECT_EQ(laps(lag, 3)[1], (std::vector<Time>{us(3), us(6), us(9)})) << "the slow one never waits";
}

TEST(Gate, TakesNoEdgeOfItsOwnIteration) {
  ProgramBuilder b;
  const ActivityId gate = b.add_gate(2);
  b.add_edge(b.add_join(), gate);
  EXPECT_THROW(b.finish(), InternalError);
}

// A worker of 5.2 us a step beside a pace of 2 us: it skips the steps that are over when it could start them.
TEST(Skip, APaceThatIsMissedIsNotCaughtUp) {
  ProgramBuilder b;
  const PoolId gpu = b.add_pool({"gpu", 1, PoolRule::Fifo});
  const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
  channel::Channel c;
  c.route = b.wires().add_route(std::array{link});
  const ChannelId channel = b.add_channel(c);
  const ActivityId pace = b.add_delay(Duration::us(2));
  b.add_edge(pace, pace, 1);
  const ActivityId start = b.add_join(), work = b.add_compute(gpu, Duration::ns(4200)),
                   send = b.add_message(channel, Bytes(1)), end = b.add_join(1);
  b.add_edge(pace, start, 1);
  b.add_edge(send, start, 1);
  b.add_edge(start, work);
  b.add_edge(work, send);
  b.add_edge(send, end);
  b.add_edge(pace, end);
  const std::uint32_t group = b.add_skip(start, end);
  b.skip_with(group, work);
  b.skip_with(group, send);
  b.add_marker(work);
  b.add_marker(end);
  const StepProgram p = b.finish();
  OrderTable strict;
  strict.discipline = {HandOver::Strict};
  strict.ranked = {1};
  strict.rank.assign(p.size(), kPassFreely);
  strict.rank[send.index()] = 0;
  Recorder recorder;
  Simulation s(p, strict, 7);
  s.observe(&recorder);
  ASSERT_EQ(s.run(), Status::Reached);
  // Steps 0, 2 (from 5.2 us; step 1 ended at 4) and 5 (from 10.4 us; steps 3 and 4 ended at 8 and 10) are worked on.
  std::vector<std::uint32_t> worked;
  for (const ActivityRecord& r : recorder.records)
    if (r.activity == work.index()) worked.push_back(r.iteration);
  EXPECT_EQ(worked, (std::vector<std::uint32_t>{0, 2, 5}));
  EXPECT_EQ(s.busy_time(gpu), Duration::ns(12'600));
  EXPECT_EQ(s.bytes_carried(link), 3);
  EXPECT_EQ(s.late_arrivals(), 3U);
  EXPECT_EQ(s.marker_times(1).back(), us(14));
}

TEST(Simulation, RunsUntilAllMarkersTogetherHavePassed) {
  ProgramBuilder b;
  for (const std::int64_t time : {1, 4}) {
    const ActivityId lap = b.add_delay(Duration::us(time));
    b.add_edge(lap, lap, 1);
    b.add_marker(lap);
  }
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 8);
  EXPECT_EQ(s.run_until_total(4), Status::Reached);
  EXPECT_EQ(s.now(), us(4));
  EXPECT_EQ(s.marker_times(0).size() + s.marker_times(1).size(), 5U) << "an instant is not cut";
  EXPECT_EQ(s.run_until_total(10), Status::Reached);
  EXPECT_EQ(s.now(), us(8));
}

// Mean and coefficient of variation of many factors.
std::pair<double, double> moments(const Variation& v) {
  double sum = 0, squares = 0;
  const int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double f = v.factor(0, static_cast<std::uint32_t>(i), 0, Time());
    EXPECT_GT(f, 0);
    sum += f;
    squares += f * f;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

TEST(Noise, HasMeanOneAndTheCoefficientOfVariationAskedFor) {
  for (const NoiseLaw law : {NoiseLaw::Lognormal, NoiseLaw::Gamma})
    for (const double cv : {0.05, 0.3, 1.0, 1.5}) {
      Variation v;
      v.stream = 11;
      v.law = law;
      v.cv = cv;
      v.key = {1};
      const auto [mean, spread] = moments(v);
      EXPECT_NEAR(mean, 1, 5 * cv / std::sqrt(200'000.0)) << cv;
      EXPECT_NEAR(spread / cv, 1, 0.05) << cv;
    }
}

TEST(Noise, GammaWithSpreadOneIsExponential) {
  Variation v;
  v.stream = 5;
  v.law = NoiseLaw::Gamma;
  v.cv = 1;
  v.key = {9};
  int above = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) above += v.factor(0, i, 0, Time()) > 2 ? 1 : 0;
  EXPECT_NEAR(above / 100'000.0, std::exp(-2.0), 0.004);
}

TEST(Toggle, IsOnForItsShareOfTheTimeAndTheSameHoweverItIsAsked) {
  for (const bool fixed : {false, true}) {
    Variation v;
    v.stream = 3;
    v.toggle = {4.0, Duration::us(30), Duration::us(70), fixed};
    v.toggle_key = {0, 1, 2};
    double on = 0;
    for (std::uint64_t pool : {1U, 2U}) {
      ToggleState often, rarely;
      for (int i = 0; i < 1'000'000; ++i) {
        const double f = v.toggle_factor(static_cast<std::uint32_t>(pool), us(i), often);
        on += f == 4.0 ? 0.5e-6 : 0.0;
        if (i % 97 == 0) {
          ASSERT_EQ(v.toggle_factor(static_cast<std::uint32_t>(pool), us(i), rarely), f) << i;
        }
      }
      if (fixed) {
        EXPECT_NEAR(often.changes, 2 * 1'000'000 / 100, 2);
      }
    }
    EXPECT_NEAR(on, 0.3, fixed ? 1e-3 : 0.01);
    ToggleState none;
    EXPECT_EQ(v.toggle_factor(0, us(5), none), 1.0);
  }
}

TEST(Toggle, ACopiedSimulationGoesOnAlike) {
  ProgramBuilder b;
  const PoolId gpu = b.add_pool({"gpu", 1, PoolRule::Fifo});
  const ActivityId work = b.add_compute(gpu, Duration::us(7));
  b.add_edge(work, work, 1);
  b.add_marker(work);
  const StepProgram p = b.finish();
  Variation v;
  v.stream = 8;
  v.toggle = {3.0, Duration::us(20), Duration::us(40), false};
  v.toggle_key = {1};
  Simulation whole(p, kFree, 200, &v);
  EXPECT_EQ(whole.run(), Status::Reached);
  Simulation half(p, kFree, 200, &v);
  half.run_until(100);
  Simulation copy = half;
  EXPECT_EQ(copy.run(), Status::Reached);
  EXPECT_EQ(copy.marker_times(0), whole.marker_times(0));
  EXPECT_GT(whole.now(), us(200 * 7));
  EXPECT_LT(whole.now(), us(200 * 21));
  half.reset(kFree, 200, &v);
  EXPECT_EQ(half.run(), Status::Reached);
  EXPECT_EQ(half.marker_times(0), whole.marker_times(0));
}

TEST(Deadlock, ACycleIsNamedFirst) {
  ProgramBuilder b;
  const ActivityId after = b.add_join(), x = b.add_delay(Duration::us(1)), y = b.add_join();
  const ActivityId source = b.add_delay(Duration::us(2));
  b.add_edge(x, y);
  b.add_edge(y, x);
  b.add_edge(y, after);
  b.add_edge(source, after);
  b.add_marker(after);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 1);
  EXPECT_EQ(s.run_until(1), Status::Deadlock);
  EXPECT_EQ(s.run(), Status::Deadlock);
  EXPECT_EQ(s.now(), us(2));
  const auto blocked = s.blocked(10);
  ASSERT_EQ(blocked.size(), 3U);
  EXPECT_EQ(blocked[0].activity, x);
  EXPECT_EQ(blocked[0].missing, std::vector<ActivityId>{y});
  EXPECT_EQ(blocked[1].activity, y);
  EXPECT_EQ(blocked[2].activity, after);
  EXPECT_EQ(blocked[2].missing, std::vector<ActivityId>{y});
  EXPECT_EQ(blocked[2].have, 1U);
  EXPECT_EQ(blocked[2].need, 2U);
  EXPECT_EQ(s.blocked(1).size(), 1U);
}

TEST(Deadlock, AStrictOrderAgainstTheDataIsNamed) {
  ProgramBuilder b;
  const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
  channel::Channel c;
  c.route = b.wires().add_route(std::array{link});
  const ChannelId channel = b.add_channel(c);
  const ActivityId late = b.add_message(channel, Bytes(1)), early = b.add_message(channel, Bytes(1));
  const ActivityId end = b.add_join();
  b.add_edge(early, late);  // needs what the order puts after it
  b.add_edge(late, end);
  const StepProgram p = b.finish();
  OrderTable order;
  order.discipline = {HandOver::Strict};
  order.rank = {0, 1, kPassFreely};
  order.ranked = {2};
  Simulation s(p, order, 1);
  EXPECT_EQ(s.run(), Status::Deadlock);
  const auto blocked = s.blocked(10);
  ASSERT_EQ(blocked.size(), 3U);
  EXPECT_EQ(blocked[0].activity, late);
  EXPECT_EQ(blocked[0].wait, Blocked::Wait::Predecessors);
  EXPECT_EQ(blocked[0].missing, std::vector<ActivityId>{early});
  EXPECT_EQ(blocked[1].activity, early);
  EXPECT_EQ(blocked[1].wait, Blocked::Wait::Turn);
  EXPECT_EQ(blocked[1].missing, std::vector<ActivityId>{late});
  EXPECT_EQ(blocked[2].activity, end);
}

TEST(Deadlock, AnOrderWaitsForAMessageThatNeverComes) {
  ProgramBuilder b;
  channel::Channel c;
  c.route = b.wires().add_route(std::array{b.wires().add_link("wire", Bandwidth(8'000'000))});
  const ChannelId channel = b.add_channel(c);
  const ActivityId message = b.add_message(channel, Bytes(1));
  const ActivityId end = b.add_join();
  b.add_edge(message, end);
  const StepProgram p = b.finish();
  OrderTable order;
  order.discipline = {HandOver::Strict};
  order.rank = {1, kPassFreely};
  order.ranked = {2};
  Simulation s(p, order, 1);
  EXPECT_EQ(s.run(), Status::Deadlock);
  const auto blocked = s.blocked(10);
  ASSERT_EQ(blocked.size(), 2U);
  EXPECT_EQ(blocked[0].activity, message);
  EXPECT_TRUE(blocked[0].missing.empty());
  EXPECT_EQ(blocked[1].missing, std::vector<ActivityId>{message});
}

TEST(Deadlock, AJoinThatWillNeverHaveEnough) {
  ProgramBuilder b;
  const ActivityId join = b.add_join(2), stuck = b.add_join();
  b.add_edge(stuck, stuck);
  b.add_edge(stuck, join);
  b.add_edge(b.add_delay(Duration::us(1)), join);
  b.add_edge(stuck, join);
  const StepProgram p = b.finish();
  Simulation s(p, kFree, 1);
  EXPECT_EQ(s.run(), Status::Deadlock);
  const auto blocked = s.blocked(10);
  ASSERT_EQ(blocked.size(), 2U);
  EXPECT_EQ(blocked[0].activity, stuck);
  EXPECT_EQ(blocked[1].activity, join);
  EXPECT_EQ(blocked[1].have, 1U);
  EXPECT_EQ(blocked[1].need, 2U);
}

PsStep small_step() {
  PsStep step;
  step.workers = 5;
  step.servers = 3;
  step.tensors = 12;
  step.jitter = true;
  step.worker_nic = 0.3;
  return step;
}

TEST(Determinism, TwoSimulationsInTurnsGiveTheBitsOfEachAlone) {
  PsStep other = small_step();
  other.workers = 3;
  const StepProgram p = small_step().compile(), q = other.compile();
  Simulation p_alone(p, kFree, 4), q_alone(q, kFree, 4);
  p_alone.run();
  q_alone.run();
  Simulation s(p, kFree, 4), t(q, kFree, 4);
  for (std::uint32_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(s.run_until(i), Status::Reached);
    EXPECT_EQ(t.run_until(i), Status::Reached);
  }
  EXPECT_EQ(all_markers(s, p), all_markers(p_alone, p));
  EXPECT_EQ(all_markers(t, q), all_markers(q_alone, q));
}

TEST(Determinism, ACopyInMidRunGoesOnToTheSameBits) {
  const StepProgram p = small_step().compile();
  Simulation alone(p, kFree, 3);
  Recorder expected;
  alone.observe(&expected);
  alone.run();
  Simulation s(p, kFree, 3);
  Recorder before;
  s.observe(&before);
  s.run_until(2);
  auto copy = std::make_unique<Simulation>(s);
  Recorder after_copy;
  copy->observe(&after_copy);
  copy->run();
  s.run();  // after the copy has run: they share nothing
  ASSERT_EQ(before.records.size(), expected.records.size());
  for (std::size_t i = 0; i < expected.records.size(); ++i)
    ASSERT_TRUE(testing::same(before.records[i], expected.records[i])) << i;
  const std::size_t skipped = expected.records.size() - after_copy.records.size();
  for (std::size_t i = 0; i < after_copy.records.size(); ++i)
    ASSERT_TRUE(testing::same(after_copy.records[i], expected.records[skipped + i])) << i;
}

TEST(Determinism, ResetRunsLikeAFreshSimulation) {
  const StepProgram p = small_step().compile();
  OrderTable priority;
  priority.discipline.assign(p.channels.size(), HandOver::Unordered);
  priority.stream = 77;
  Simulation s(p, priority, 2);
  Recorder unused;
  s.observe(&unused);
  s.run_until(1);
  s.observe(nullptr);
  s.reset(kFree, 3);
  Recorder again;
  s.observe(&again);
  s.run();
  Simulation fresh(p, kFree, 3);
  Recorder first;
  fresh.observe(&first);
  fresh.run();
  ASSERT_EQ(again.records.size(), first.records.size());
  for (std::size_t i = 0; i < first.records.size(); ++i)
    ASSERT_TRUE(testing::same(again.records[i], first.records[i])) << i;
  EXPECT_EQ(all_markers(s, p), all_markers(fresh, p));
}

TEST(Determinism, WatchingChangesNothing) {
  const StepProgram p = small_step().compile();
  Simulation s(p, kFree, 2), t(p, kFree, 2);
  Recorder r;
  s.observe(&r);
  s.run();
  t.run();
  EXPECT_EQ(all_markers(s, p), all_markers(t, p));
  EXPECT_EQ(r.records.size(), s.finished());
}

}  // namespace
}  // namespace stretto::program
