// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/machine.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace stretto::bounds {

Duration one_machine_bound(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  using Open = std::pair<Duration, Duration>;  // tail, time left
  std::priority_queue<Open> open;
  Duration now;
  Duration bound;
  std::size_t next = 0;
  while (next < jobs.size() || !open.empty()) {
    if (open.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) {
      open.emplace(jobs[next].tail, jobs[next].time);
      ++next;
    }
    auto [tail, left] = open.top();
    open.pop();
    const auto until = next < jobs.size() ? std::min(now + left, jobs[next].head) : now + left;
    left -= until - now;
    now = until;
    if (left == Duration())
      bound = std::max(bound, now + tail);
    else
      open.emplace(tail, left);
  }
  return bound;
}

Duration two_machine_bound(std::vector<TwoStageJob> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const TwoStageJob& a, const TwoStageJob& b) { return a.tail > b.tail; });
  Duration bound;
  Duration head = jobs.empty() ? Duration() : jobs.front().head;
  Duration lag = jobs.empty() ? Duration() : jobs.front().lag;
  Duration sum;
  Duration most;
  for (const TwoStageJob& job : jobs) {
    head = std::min(head, job.head);
    lag = std::min(lag, job.lag);
    sum += std::min(job.first, job.second);
    most = std::max(most, std::max(job.first, job.second));
    bound = std::max(bound, head + sum + most + lag + job.tail);
  }
  return bound;
}

}  // namespace stretto::bounds
