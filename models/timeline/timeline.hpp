// SPDX-License-Identifier: Apache-2.0
// What a training job with data and pipeline parallelism did, op by op: the timelines of what-if analysis
// (StragglerAnalysis, OSDI 2025). Data only.
//
// A worker is a (data-parallel rank, pipeline stage); in every step it runs ops of the kinds below, and `sequence`
// counts the ops of one kind on one worker in one step from 0, in the order of their begin. Times are seconds on one
// clock of the job. Communication lasts from its own begin to its end, waiting for the others included, or with the
// waiting already taken out: both are understood, since only the time after the last participant began is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stretto::timeline {

enum class OpKind : std::uint8_t {
  ForwardCompute,
  BackwardCompute,
  ForwardSend,
  ForwardReceive,
  BackwardSend,
  BackwardReceive,
  GradientsReduceScatter,
  ParametersAllGather,
  LayernormAllReduce,
  EmbeddingAllReduce,
  SeparateAllReduce,
  ClipGradients,
  Optimizer,
  GarbageCollection,
};
inline constexpr std::size_t kOpKinds = 14;

// As the traces spell them, in the order of OpKind.
inline constexpr std::array<std::string_view, kOpKinds> kOpKindNames = {
    "forward-compute",
    "backward-compute",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
    "grads-reduce-scatter",
    "params-all-gather",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "separate-grads-all-reduce",
    "optimizer-clip-main-grad",
    "optimizer",
    "gc",
};

struct Op {
  OpKind kind = OpKind::ForwardCompute;
  std::int32_t dp_rank = 0;
  std::int32_t stage = 0;
  std::int32_t rank = 0;  // of the worker in the job
  std::int64_t step = 0;
  std::int32_t sequence = 0;
  std::int32_t chunk = -1;         // model chunk in the stage; -1: none
  std::int32_t global_chunk = -1;  // model chunk in the model; -1: none
  double start_s = 0;
  double duration_s = 0;
  double end_s() const { return start_s + duration_s; }
};

// Ops in any order. Ranks and stages count from 0 without gaps; (step, dp_rank, stage, kind, sequence) is unique.
struct Timeline {
  std::int32_t dp_ranks = 0;
  std::int32_t stages = 0;
  std::vector<Op> ops;
};

}  // namespace stretto::timeline
