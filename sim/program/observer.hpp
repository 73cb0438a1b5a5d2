// SPDX-License-Identifier: Apache-2.0
// What a simulation tells while it runs: one record per finished activity instance.
#pragma once

#include <cstdint>

#include "sim/base/units.hpp"

namespace stretto::program {

// Times of one activity in one iteration. Compute, Delay and Join: ready <= begin <= end. Message: ready <= handed (its
// turn came) <= on_wire (sender service ended) <= begin (first byte moves) <= arrived (last byte) <= end (delivered).
struct ActivityRecord {
  std::uint32_t activity = 0;
  std::uint32_t iteration = 0;
  Time ready;
  Time handed;
  Time on_wire;
  Time begin;
  Time arrived;
  Time end;
  std::uint32_t batch = 0;  // Message: the choice of its channel that handed it over; 0: it needed none
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_end(const ActivityRecord& record) = 0;
};

}  // namespace stretto::program
