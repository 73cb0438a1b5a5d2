// SPDX-License-Identifier: Apache-2.0
#include "analysis/stragglers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"

namespace stretto::analysis {
namespace {

using timeline::Op;
using timeline::OpKind;
using timeline::Timeline;

Op op(OpKind kind, std::int32_t dp_rank, std::int32_t stage, double start, double duration, std::int32_t sequence = 0) {
  Op o;
  o.kind = kind;
  o.dp_rank = dp_rank;
  o.stage = stage;
  o.sequence = sequence;
  o.chunk = 0;
  o.global_chunk = stage;
  o.start_s = start;
  o.duration_s = duration;
  return o;
}

// Two dp ranks of one stage; the forward computation of rank 1 takes 2 s, that of rank 0 1 s.
Timeline slow_rank() {
  Timeline t{2, 1, {}};
  for (const std::int32_t r : {0, 1}) {
    const double late = r;
    t.ops.push_back(op(OpKind::ForwardCompute, r, 0, 0, 1 + late));
    t.ops.push_back(op(OpKind::BackwardCompute, r, 0, 1 + late, 1));
    t.ops.push_back(op(OpKind::ClipGradients, r, 0, 2 + late, 1 - late));
    t.ops.push_back(op(OpKind::Optimizer, r, 0, 3, 0.5));
  }
  for (Op& o : t.ops) o.rank = o.dp_rank;
  return t;
}

// One micro-batch through two stages, all of a kind equally long; a launch before clipping is late by `late`.
Timeline pipeline(double late) {
  Timeline t{1, 2, {}};
  t.ops = {op(OpKind::ForwardCompute, 0, 0, 0, 1),          op(OpKind::ForwardSend, 0, 0, 1, 0.125),
           op(OpKind::ForwardReceive, 0, 1, 0, 1.125),      op(OpKind::ForwardCompute, 0, 1, 1.125, 1),
           op(OpKind::BackwardCompute, 0, 1, 2.125, 2),     op(OpKind::BackwardSend, 0, 1, 4.125, 0.125),
           op(OpKind::BackwardReceive, 0, 0, 1, 3.25),      op(OpKind::BackwardCompute, 0, 0, 4.25, 2),
           op(OpKind::ClipGradients, 0, 1, 4.25, 2 + late), op(OpKind::ClipGradients, 0, 0, 6.25 + late, 0),
           op(OpKind::Optimizer, 0, 0, 6.25 + late, 0.5),   op(OpKind::Optimizer, 0, 1, 6.25 + late, 0.5)};
  for (Op& o : t.ops) o.rank = o.stage;
  return t;
}

double slowdown(const std::vector<StragglerShare>& shares, const std::string& name, std::int32_t id = 0) {
  for (const StragglerShare& s : shares)
    if (s.name == name && s.id == id) return s.slowdown;
  return -1;
}

TEST(Stragglers, ASlowRankByHand) {
  const Stragglers r = stragglers(slow_rank());
  ASSERT_EQ(r.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(r.measured_s, 3.5);
  EXPECT_DOUBLE_EQ(r.replayed_s, 3.5);
  EXPECT_DOUBLE_EQ(r.no_delay_s, 3.5);
  EXPECT_DOUBLE_EQ(r.ideal_s, 3);  // 1.5 + 1 + 0 + 0.5
  EXPECT_DOUBLE_EQ(r.slowdown, 3.5 / 3);
  EXPECT_DOUBLE_EQ(slowdown(r.dp_ranks, "", 0), 1);
  EXPECT_DOUBLE_EQ(slowdown(r.dp_ranks, "", 1), 3.5 / 3);
  EXPECT_DOUBLE_EQ(slowdown(r.stages, "", 0), 3.5 / 3);
  EXPECT_DOUBLE_EQ(slowdown(r.kinds, "forward-compute"), 3.5 / 3);
  EXPECT_DOUBLE_EQ(slowdown(r.kinds, "backward-compute"), 1);
  EXPECT_EQ(r.worst_workers, std::vector<std::int32_t>{1});
  EXPECT_DOUBLE_EQ(r.worker_share.value(), 1);
  EXPECT_DOUBLE_EQ(r.last_stage_share.value(), 1);
}

TEST(Stragglers, APipelineWithoutStragglersIsIdeal) {
  const Stragglers r = stragglers(pipeline(0));
  EXPECT_DOUBLE_EQ(r.measured_s, 6.75);
  EXPECT_DOUBLE_EQ(r.replayed_s, 6.75);
  EXPECT_DOUBLE_EQ(r.ideal_s, 6.75);
  EXPECT_DOUBLE_EQ(r.slowdown, 1);
  EXPECT_FALSE(r.worker_share.has_value());
  EXPECT_FALSE(r.last_stage_share.has_value());
}

TEST(Stragglers, ALateLaunchIsNoStraggler) {
  const Stragglers r = stragglers(pipeline(0.5));
  EXPECT_DOUBLE_EQ(r.measured_s, 7.25);
  EXPECT_DOUBLE_EQ(r.replayed_s, 7.25);
  EXPECT_DOUBLE_EQ(r.no_delay_s, 6.75);
  EXPECT_DOUBLE_EQ(r.slowdown, 1);
}

TEST(Stragglers, AStepOfOtherOpsIsLeftOut) {
  Timeline t = slow_rank();
  const std::size_t n = t.ops.size();
  for (const std::int64_t step : {1, 2})
    for (std::size_t i = 0; i + (step == 2 ? 1 : 0) < n; ++i) {
      t.ops.push_back(t.ops[i]);
      t.ops.back().step = step;
    }
  const Stragglers r = stragglers(t);
  EXPECT_EQ(r.steps.size(), 2U);
  EXPECT_EQ(r.dropped_steps, 1U);
  EXPECT_DOUBLE_EQ(r.slowdown, 3.5 / 3);
}

// The order of the rows says nothing; every step is as long as it was, whatever the durations.
TEST(Stragglers, AnyOrderOfRowsAndAnyDurationsReplayAsMeasured) {
  RandomStream random(5, "stragglers");
  for (int trial = 0; trial < 200; ++trial) {
    Timeline t = slow_rank();
    double clip_begin = 0;
    double clip_end = 0;
    for (const std::size_t rank : {0U, 1U}) {
      double at = 0;
      for (const std::size_t i : {0U, 1U}) {
        Op& o = t.ops[rank * 4 + i];
        o.start_s = at + static_cast<double>(random.below(100)) / 64;
        o.duration_s = static_cast<double>(1 + random.below(1000)) / 64;
        at = o.end_s();
      }
      t.ops[rank * 4 + 2].start_s = at;
      clip_begin = std::max(clip_begin, at);
    }
    clip_end = clip_begin + 0.25;
    for (const std::size_t rank : {0U, 1U}) {
      t.ops[rank * 4 + 2].duration_s = clip_end - t.ops[rank * 4 + 2].start_s;
      t.ops[rank * 4 + 3].start_s = clip_end;
      t.ops[rank * 4 + 3].duration_s = static_cast<double>(random.below(100)) / 64;
    }
    const Stragglers r = stragglers(t);
    EXPECT_DOUBLE_EQ(r.replayed_s, r.measured_s);
    EXPECT_LE(r.no_delay_s, r.measured_s);
    Timeline shuffled = t;
    for (std::size_t i = shuffled.ops.size(); i > 1; --i) std::swap(shuffled.ops[i - 1], shuffled.ops[random.below(i)]);
    const Stragglers s = stragglers(shuffled);
    EXPECT_EQ(s.no_delay_s, r.no_delay_s);
    EXPECT_EQ(s.ideal_s, r.ideal_s);
    EXPECT_EQ(s.worst_workers, r.worst_workers);
  }
}

std::string refusal(const Timeline& t) {
  try {
    stragglers(t);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "accepted";
}

TEST(Stragglers, WhatDoesNotFitIsRefused) {
  Timeline t = pipeline(0);
  std::erase_if(t.ops, [](const Op& o) { return o.kind == OpKind::BackwardReceive; });
  EXPECT_NE(refusal(t).find("1 messages backward-send"), std::string::npos) << refusal(t);
  t = pipeline(0);
  for (Op& o : t.ops) o.global_chunk = -1;
  EXPECT_NE(refusal(t).find("has no gmc"), std::string::npos) << refusal(t);
  t = slow_rank();
  t.ops.pop_back();
  EXPECT_NE(refusal(t).find("do not run equally many ops"), std::string::npos) << refusal(t);
  t = slow_rank();
  for (Op& o : t.ops) o.duration_s = o.start_s = 0;
  EXPECT_NE(refusal(t).find("takes no time"), std::string::npos) << refusal(t);
}

}  // namespace
}  // namespace stretto::analysis
