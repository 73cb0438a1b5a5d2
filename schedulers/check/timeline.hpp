// SPDX-License-Identifier: Apache-2.0
// Audit of a timeline: are the times that a simulation recorded possible on this cluster, and do they follow the order?
// Whoever made the timeline, these must hold (docs/model.md, sections 2 to 7):
//   once        every op, pull, push, copy, sum and update of every step exactly once (backup workers: at most once)
//   dependency  an op starts after its inputs, the step's pulls that it reads, and the end of the pass before; a push
//               is ready after its gradient's op; a pull after the start of its step and its request, without a barrier
//               after its own update; an update starts after the gradients of all workers; copies lie between
//   duration    an op lasts its time / speed, an update and a sum bytes / rate, a copy launch + bytes / rate
//   device      at most `cores` ops and one copy each way at once; service threads never more than there are
//   order       hand-over follows the discipline: strict by rank; priority at once, by rank where one choice hands over
//               several; credit only while credit is left, with what comes back one latency after delivery, and never
//               past a waiting lower rank (credit_skip: that fits); windows as in models/plan/plan.hpp
//   wire        sender service, latency, first in first out with at most `streams` moving, no faster than links and cap
//   capacity    for every link and any two times a < b: what begins after a and arrives before b is at most
//               rate x (b - a)
//   end         a step ends with the last of its parts
// Rounding: kSlack, and kRelative of amounts.
// The timeline is complete: all of `steps` steps from time 0, so that nothing unseen was on the way.
// Cost: O(n log n) for n events.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/check/job.hpp"

namespace stretto::check {

inline constexpr Duration kSlack = Duration::ps(50);
inline constexpr double kRelative = 1e-9;

// Something of a step, with its stages as the engine records them. What is no message uses ready, begin and end only.
struct Happening {
  std::uint32_t step = 0;
  std::uint32_t worker = 0;
  std::uint32_t item = 0;
  std::uint32_t pass = 0;  // of an op
  Time ready;
  Time handed;
  Time on_wire;
  Time begin;
  Time arrived;
  Time end;
  std::uint32_t batch = 0;  // messages that one choice handed over have one number; 0: there was none
};

template <class E>
struct TimelineOf {
  std::uint32_t steps = 0;
  std::vector<E> events;
  std::vector<std::vector<Time>> ends;  // claimed, of the steps
};

// Worker: 0 for updates of all workers' gradients. Item: op or transfer.
struct Event : Happening {
  enum class What : std::uint8_t { Op, Pull, Push, Sum, Update, CopyIn, CopyOut };
  What what = What::Op;
};

// Ends: with a barrier one list; else one per worker, of the ends of its ops (Pace::Own: of all its part of the step).
// Backup: the one list.
using Timeline = TimelineOf<Event>;

// The first violation, in the order above.
std::optional<Violation> audit(const Job& job, const Timeline& timeline);

}  // namespace stretto::check
