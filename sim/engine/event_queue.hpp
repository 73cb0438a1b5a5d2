// SPDX-License-Identifier: Apache-2.0
// Event queue: pending events in the order of the key (time, phase, sequence).
//
// A 4-ary heap of 24-byte events. The sequence number is the order of scheduling, so equal (time, phase) leave first
// in, first out, and nothing depends on addresses. push and pop cost O(log n); clear keeps the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/assert.hpp"
#include "sim/base/units.hpp"

namespace stretto::engine {

// What comes first within one instant. An instant is worked off phase by phase until nothing is left at its time; an
// earlier phase that becomes due again (zero-length work) goes before a later one.
enum class Phase : std::uint8_t {
  Finish = 0,    // work ends: frees what it held before anyone asks for it
  Begin = 1,     // latencies elapse: messages reach the wire after those that leave it have left
  Dispatch = 2,  // choices (next op, next transfer) see everything that became ready in this instant
  Solve = 3,     // rates are shared once, after all starts and ends of the instant
};

// `kind` and `target` belong to the owner of the queue.
struct Event {
  Time time;
  std::uint64_t order = 0;  // phase in the top byte, sequence below
  std::uint32_t target = 0;
  std::uint32_t kind = 0;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  // Time of the next event, Time::never() if there is none.
  Time next() const { return heap_.empty() ? Time::never() : heap_.front().time; }

  void push(Time time, Phase phase, std::uint32_t kind, std::uint32_t target) {
    Event e{time, (static_cast<std::uint64_t>(phase) << 56) | sequence_++, target, kind};
    std::size_t i = heap_.size();
    heap_.push_back(e);
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!before(e, heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = e;
  }

  Event pop() {
    STRETTO_ASSERT(!heap_.empty(), "pop from an empty queue");
    const Event result = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    const std::size_t n = heap_.size();
    if (n > 0) {
      std::size_t i = 0;
      for (;;) {
        const std::size_t first = 4 * i + 1;
        if (first >= n) break;
        std::size_t best = first;
        const std::size_t end = first + 4 < n ? first + 4 : n;
        for (std::size_t k = first + 1; k < end; ++k)
          if (before(heap_[k], heap_[best])) best = k;
        if (!before(heap_[best], last)) break;
        heap_[i] = heap_[best];
        i = best;
      }
      heap_[i] = last;
    }
    return result;
  }

  void clear() {
    heap_.clear();
    sequence_ = 0;
  }

 private:
  static bool before(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; }
  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace stretto::engine
