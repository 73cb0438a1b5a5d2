// SPDX-License-Identifier: Apache-2.0
// The times of a job's steps by another route: the steps unrolled into one task graph (tasks.hpp), run by a simulator
// that is written to be read. It looks through plain lists for what happens next, shares all links anew at every change
// (fair.hpp), and has no code in common with sim/ and models/training.
//
// Times are whole picoseconds, bytes under way doubles. Within an instant: what ends, then what begins after a latency,
// then the choices (next message of a queue, next job of a pool), as often as they cause each other. At one instant
// jobs of a pool go computes first, by their number, then services in the order of asking; messages that arrive at one
// time arrive in the order of their numbers.
// Against the engine: equal up to the rounding of a picosecond per message, as a rule. Where services are asked for in
// the same picosecond the engine may serve them in another order, which limited threads and copy engines can tell:
// `ties` counts these cases. And where workers share links, a difference of a picosecond may double with every few
// messages. spread() measures what both do to a job.
// Cost: O(events x (things under way + links)).
// Validated against the engine (tests/property/verify_test.cpp) and closed forms (tests/unit/check_test.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedulers/check/job.hpp"
#include "schedulers/check/tasks.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

struct Replay {
  bool finished = false;                // false: nothing can happen any more, and steps are missing
  std::vector<std::vector<Time>> ends;  // of the steps: see Tasks::ends
  std::vector<Event> events;            // what happened, with its end only
  std::uint64_t ties = 0;               // jobs of limited threads and copy engines within kSlack of another
};

// Why a job cannot be replayed, or nothing.
std::string why_no_replay(const Job& job);

// What the model leaves open. Plain: ends of messages are rounded to the nearest picosecond, and what ends at one time
// ends in the order of its number. Up: rounded up. Reversed: in the opposite order.
enum class Variant : std::uint8_t { Plain, Up, Reversed };

// What tasks run on; the lists must outlive the replay.
struct Machine {
  const std::vector<Pool>* pools = nullptr;
  const std::vector<Link>* links = nullptr;
  std::vector<std::uint32_t> copy_engines;  // pools that work on what arrives
};

Replay replay(const Machine& machine, Tasks tasks, Variant variant = Variant::Plain);

// The first `steps` steps from time 0.
Replay replay(const Job& job, std::uint32_t steps, Variant variant = Variant::Plain);

// Largest difference between the ends of two replays or timelines, relative to the time of the end; those of up to
// `slack` count as none.
double difference(const std::vector<std::vector<Time>>& a, const std::vector<std::vector<Time>>& b, Duration slack);

// How much the other variants move the ends of `plain`: what rounding and the order of ties can do to this job.
double spread(const Replay& plain, const std::function<Replay(Variant)>& replay);
double spread(const Job& job, std::uint32_t steps, const Replay& plain);

}  // namespace stretto::check
