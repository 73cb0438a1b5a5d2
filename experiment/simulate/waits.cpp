// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/waits.hpp"

#include <algorithm>
#include <tuple>

namespace stretto::experiment {

using program::ActivityRecord;
using training::Role;

WaitObserver::WaitObserver(const training::Compiled& compiled, std::uint32_t iteration)
    : compiled_(compiled),
      iteration_(iteration),
      records_(compiled.program.size()),
      seen_(compiled.program.size(), false) {}

void WaitObserver::on_end(const ActivityRecord& record) {
  if (record.iteration != iteration_) return;
  records_[record.activity] = record;
  seen_[record.activity] = true;
}

std::vector<search::Wait> WaitObserver::waits() const {
  const auto& program = compiled_.program;
  const std::uint32_t transfers = compiled_.transfers;
  std::vector<Duration> pull(transfers);
  std::vector<Duration> push(transfers);
  // The pull that came last, per op; the transfer of the last push, per worker.
  std::vector<std::uint32_t> last_pull(program.size(), plan::kUnranked);
  for (std::size_t m = 0; m < compiled_.pull.size(); ++m) {
    const std::uint32_t a = compiled_.pull[m].index();
    if (!seen_[a]) continue;
    for (std::uint32_t e = program.activities[a].first_edge; e < program.activities[a + 1].first_edge; ++e) {
      const std::uint32_t op = program.edges[e].to();
      if (program.edges[e].distance() == 0 && seen_[op] && records_[op].ready == records_[a].end) last_pull[op] = a;
    }
  }
  std::vector<std::vector<std::uint32_t>> ops(compiled_.workers);
  std::vector<Time> free(compiled_.workers);
  std::vector<Time> arrived(compiled_.workers);
  for (std::uint32_t a = 0; a < program.size(); ++a) {
    const training::Label& label = compiled_.labels[a];
    if (!seen_[a]) continue;
    if (label.role == Role::Op) ops[label.worker].push_back(a);
    if (label.role == Role::Start) free[label.worker] = records_[a].end;
    if (label.role == Role::Arrived) arrived[label.worker] = records_[a].end;
  }
  for (std::uint32_t w = 0; w < compiled_.workers; ++w) {
    std::sort(ops[w].begin(), ops[w].end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(records_[a].begin, a) < std::tie(records_[b].begin, b);
    });
    for (const std::uint32_t op : ops[w]) {
      const ActivityRecord& r = records_[op];
      if (r.begin > free[w] && last_pull[op] != plan::kUnranked) {
        const ActivityRecord& message = records_[last_pull[op]];
        const std::uint32_t t = compiled_.labels[last_pull[op]].item;
        const Time there = std::max(free[w], message.ready);
        pull[t] += r.begin - there;
        push[t] += there - free[w];
      }
      free[w] = std::max(free[w], r.end);
    }
    for (std::uint32_t t = 0; t < transfers && arrived[w] > free[w]; ++t) {
      const program::ActivityId m = compiled_.push[w * transfers + t];
      if (m.valid() && seen_[m.index()] && records_[m.index()].end == arrived[w]) push[t] += arrived[w] - free[w];
    }
  }
  std::vector<search::Wait> list;
  for (std::uint32_t t = 0; t < transfers; ++t) {
    if (pull[t] > Duration()) list.push_back({false, t, pull[t]});
    if (push[t] > Duration()) list.push_back({true, t, push[t]});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const search::Wait& a, const search::Wait& b) { return a.time > b.time; });
  return list;
}

}  // namespace stretto::experiment
