// SPDX-License-Identifier: Apache-2.0
// A job's steps unrolled into one plain task graph: every op, message, sum and update of every step is a task of its
// own, with what it waits for (docs/model.md, section 7). Written for clarity; shares nothing with models/training.
// Cost: memory for steps x workers x (ops x passes + 4 x transfers) tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

inline constexpr std::uint32_t kNobody = 0xFFFFFFFF;

struct Task {
  // Span: a message that moves nothing; it ends as soon as it has its turn and its stream, which it keeps until Close.
  enum class Kind : std::uint8_t { Work, Message, Delay, Join, Span, Close };
  Kind kind = Kind::Join;
  // Work and Message: what it stands for.
  Event::What what = Event::What::Op;
  std::uint32_t step = 0;
  std::uint32_t worker = 0;
  std::uint32_t item = 0;
  std::uint32_t pass = 0;
  std::uint32_t pool = 0;           // Work
  Duration time;                    // Work, Delay
  std::uint32_t waits = 0;          // for so many tasks
  std::vector<std::uint32_t> next;  // tasks that wait for this one
  // Message and Span:
  std::uint32_t wire = 0;
  std::uint32_t queue = kNobody;  // waits for its turn there; kNobody: passes freely
  std::uint32_t rank = 0;         // of the order
  std::uint32_t place = 0;        // among the ranked ones of the queue's step
  Bytes bytes;
  std::uint32_t span = kNobody;  // Close: the span that ends
};

// What messages go through: first in, first out from hand-over on, at most `streams` at a time (0: no limit).
struct Wire {
  const Channel* channel = nullptr;
  Bandwidth cap = Bandwidth::unlimited();
  std::uint32_t streams = 0;
};

// Where messages wait for their turn.
struct TurnRule {
  plan::Discipline discipline = plan::Discipline::Free;
  Bytes credit;
  std::uint32_t window = 0;
  std::uint32_t ranked = 0;  // messages of a step
  // Spans by priority: none has a turn while so many of `counts` (a wire) are open. 0: no limit.
  std::uint32_t open_at_a_time = 0;
  std::uint32_t counts = 0;
};

struct Tasks {
  std::vector<Task> list;
  // Tasks whose ends are the ends of the steps: with a barrier one list; else one per worker, of the ends of its ops
  // (Pace::Own: of all its part of the step).
  std::vector<std::vector<std::uint32_t>> ends;
  std::vector<Wire> wires;
  std::vector<TurnRule> queues;
};

// How many tasks `steps` steps have.
std::uint64_t task_count(const Job& job, std::uint32_t steps);

// Not for Pace::Backup. Wires point into `job`.
Tasks unroll(const Job& job, std::uint32_t steps);

}  // namespace stretto::check
