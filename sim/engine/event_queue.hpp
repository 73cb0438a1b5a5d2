// SPDX-License-Identifier: Apache-2.0
// Event queue: pending events in the order of the key (time, phase, sequence).
//
// A 4-ary heap of 24-byte events, and a few lines: queues of events that are scheduled in the order of their time (all
// of one phase after one constant delay). The sequence number is the order of scheduling, so equal (time, phase) leave
// first in, first out, and nothing depends on addresses. push and pop cost O(log n) in the heap, O(lines) on a line;
// clear keeps the memory of the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
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
  // `lines`: number of lines.
  explicit EventQueue(std::uint32_t lines = 0) : lines_(lines) {}
  bool empty() const { return heap_.empty() && first_line_ == kNoLine; }
  // O(lines).
  std::size_t size() const {
    std::size_t sum = heap_.size();
    for (const std::deque<Event>& line : lines_) sum += line.size();
    return sum;
  }
  // Time of the next event, Time::never() if there is none.
  Time next() const {
    const Time heap = heap_.empty() ? Time::never() : heap_.front().time;
    return first_line_ == kNoLine ? heap : std::min(heap, lines_[first_line_].front().time);
  }

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

  // On a line no event may be due before the last one.
  void push_on_line(std::uint32_t line, Time time, Phase phase, std::uint32_t kind, std::uint32_t target) {
    std::deque<Event>& events = lines_[line];
    const Event e{time, (static_cast<std::uint64_t>(phase) << 56) | sequence_++, target, kind};
    STRETTO_ASSERT(events.empty() || before(events.back(), e), "{} ps after {} ps on line {}", time.ps(),
                   events.back().time.ps(), line);
    events.push_back(e);
    if (events.size() == 1) find_first_line();
  }

  Event pop() {
    STRETTO_ASSERT(!empty(), "pop from an empty queue");
    if (first_line_ != kNoLine && (heap_.empty() || before(lines_[first_line_].front(), heap_.front()))) {
      const Event first = lines_[first_line_].front();
      lines_[first_line_].pop_front();
      find_first_line();
      return first;
    }
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
    for (std::deque<Event>& line : lines_) line.clear();
    first_line_ = kNoLine;
    sequence_ = 0;
  }

 private:
  static constexpr std::uint32_t kNoLine = 0xFFFFFFFFU;
  void find_first_line() {
    first_line_ = kNoLine;
    for (std::uint32_t l = 0; l < lines_.size(); ++l)
      if (!lines_[l].empty() && (first_line_ == kNoLine || before(lines_[l].front(), lines_[first_line_].front())))
        first_line_ = l;
  }
  static bool before(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; }
  std::vector<Event> heap_;
  std::vector<std::deque<Event>> lines_;
  std::uint32_t first_line_ = kNoLine;
  std::uint64_t sequence_ = 0;
};

}  // namespace stretto::engine
