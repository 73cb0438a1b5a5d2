// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/machine.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
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

namespace {

Duration cost_of(const std::vector<Job>& jobs, const std::vector<std::uint32_t>& order) {
  Duration now;
  Duration cost;
  for (const std::uint32_t j : order) {
    now = std::max(now, jobs[j].head) + jobs[j].time;
    cost = std::max(cost, now + jobs[j].tail);
  }
  return cost;
}

struct Branch {
  std::vector<Job> jobs;  // with the heads and tails that the decisions so far imply
  Duration bound;
};

struct LaterBound {
  bool operator()(const Branch& a, const Branch& b) const { return a.bound > b.bound; }
};

}  // namespace

Schrage largest_tail_first(const std::vector<Job>& jobs) {
  std::vector<std::uint32_t> by_head(jobs.size());
  std::iota(by_head.begin(), by_head.end(), 0U);
  std::stable_sort(by_head.begin(), by_head.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return jobs[a].head < jobs[b].head; });
  using Open = std::tuple<Duration, Duration, std::uint32_t>;  // tail, time, job
  std::priority_queue<Open> open;
  Schrage result;
  Duration now;
  std::size_t next = 0;
  std::size_t block = 0;
  while (result.order.size() < jobs.size()) {
    if (open.empty() && jobs[by_head[next]].head > now) {
      now = jobs[by_head[next]].head;
      block = result.order.size();
    }
    for (; next < jobs.size() && jobs[by_head[next]].head <= now; ++next) {
      const Job& job = jobs[by_head[next]];
      open.emplace(job.tail, job.time, by_head[next]);
    }
    const std::uint32_t job = std::get<2>(open.top());
    open.pop();
    now += jobs[job].time;
    if (now + jobs[job].tail > result.cost) {
      result.cost = now + jobs[job].tail;
      result.first = block;
      result.last = result.order.size();
    }
    result.order.push_back(job);
  }
  return result;
}

Sequence one_machine_sequence(const std::vector<Job>& jobs, std::size_t max_nodes) {
  Sequence best;
  if (jobs.empty()) return best;
  best.cost = Duration::ps(std::numeric_limits<std::int64_t>::max());
  std::priority_queue<Branch, std::vector<Branch>, LaterBound> queue;
  queue.push({jobs, one_machine_bound(jobs)});
  best.bound = queue.top().bound;
  for (std::size_t nodes = 0; !queue.empty(); ++nodes) {
    best.bound = std::min(best.cost, queue.top().bound);
    if (best.bound >= best.cost || nodes >= max_nodes) return best;
    Branch node = queue.top();
    queue.pop();
    const Schrage found = largest_tail_first(node.jobs);
    if (const Duration cost = cost_of(jobs, found.order); cost < best.cost) {
      best.cost = cost;
      best.order = found.order;
    }
    // The last job of the block whose tail is smaller than that of its end; without one the schedule is optimal.
    const Duration end_tail = node.jobs[found.order[found.last]].tail;
    std::optional<std::size_t> place;
    for (std::size_t i = found.first; i < found.last; ++i)
      if (node.jobs[found.order[i]].tail < end_tail) place = i;
    if (!place) continue;
    Duration head = node.jobs[found.order[*place + 1]].head;
    Duration tail = end_tail;
    Duration time;
    for (std::size_t i = *place + 1; i <= found.last; ++i) {
      const Job& job = node.jobs[found.order[i]];
      head = std::min(head, job.head);
      tail = std::min(tail, job.tail);
      time += job.time;
    }
    const auto add = [&](Branch branch) {
      branch.bound = std::max({branch.bound, head + time + tail, one_machine_bound(branch.jobs)});
      if (branch.bound < best.cost) queue.push(std::move(branch));
    };
    const std::uint32_t moved = found.order[*place];
    Branch before = node;
    before.jobs[moved].tail = std::max(before.jobs[moved].tail, time + end_tail);
    add(std::move(before));
    Branch after = std::move(node);
    after.jobs[moved].head = std::max(after.jobs[moved].head, head + time);
    add(std::move(after));
  }
  best.bound = best.cost;
  return best;
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
