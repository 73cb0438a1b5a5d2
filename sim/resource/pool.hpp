// SPDX-License-Identifier: Apache-2.0
// Pool: n equal units (GPU stream: 1, CPU: cores, server process: threads), each serving one job at a time, never
// preempting. Waiting jobs leave by (key, tie): the caller makes the key, which is the whole queue discipline:
//   fifo      key = time of becoming ready, tie = activity id (services: order of asking)
//   priority  key = rank
//   random    key = a random draw
// A pool chooses in phase Dispatch, when every job that becomes ready in the instant is there. See docs/model.md, 2, 6.
// Cost: O(log waiting) per job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::resource {

struct Job {
  std::uint64_t key = 0;
  std::uint64_t tie = 0;
  std::uint32_t activity = 0;
  std::uint32_t kind = 0;  // event kind to raise when it ends
  Duration duration;
};

// Many ends may add up to more than 64 bits hold.
__extension__ using Wide = __int128;

// State of one pool; plain value.
struct Pool {
  std::uint32_t units = 1;  // 0 = unlimited
  std::uint32_t busy = 0;
  bool in_dispatch = false;  // already listed for this instant's dispatch
  Duration started;          // sum of the durations of started jobs
  Wide ends = 0;             // sum of the ends of the jobs under way, ps
  std::vector<Job> waiting;  // heap, least (key, tie) first

  bool can_start() const { return !waiting.empty() && (units == 0 || busy < units); }

  void submit(const Job& job) {
    waiting.push_back(job);
    std::push_heap(waiting.begin(), waiting.end(), later);
  }
  const Job& next() const { return waiting.front(); }
  // Takes the next job, which will last `duration`; the caller schedules its end.
  Job start(Time now, Duration duration) {
    std::pop_heap(waiting.begin(), waiting.end(), later);
    const Job job = waiting.back();
    waiting.pop_back();
    ++busy;
    started += duration;
    ends += (now + duration).ps();
    return job;
  }
  // A job that was to end now has ended.
  void release(Time now) {
    --busy;
    ends -= now.ps();
  }
  // Time that the units have worked up to now, summed over the units.
  Duration busy_time(Time now) const {
    return started - Duration::ps(static_cast<std::int64_t>(ends - static_cast<Wide>(busy) * now.ps()));
  }
  void reset() {
    busy = 0;
    in_dispatch = false;
    started = Duration();
    ends = 0;
    waiting.clear();
  }

 private:
  static bool later(const Job& a, const Job& b) { return a.key != b.key ? a.key > b.key : a.tie > b.tie; }
};

}  // namespace stretto::resource
