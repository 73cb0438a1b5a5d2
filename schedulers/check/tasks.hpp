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

struct Task {
  enum class Kind : std::uint8_t { Work, Message, Delay, Join };
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
  bool push() const { return what == Event::What::Push; }
};

struct Tasks {
  std::vector<Task> list;
  // Tasks whose ends are the ends of the steps: with a barrier one list; else one per worker, of the ends of its ops
  // (Pace::Own: of all its part of the step).
  std::vector<std::vector<std::uint32_t>> ends;
};

// How many tasks `steps` steps have.
std::uint64_t task_count(const Job& job, std::uint32_t steps);

// Not for Pace::Backup.
Tasks unroll(const Job& job, std::uint32_t steps);

}  // namespace stretto::check
