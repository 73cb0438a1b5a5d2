// SPDX-License-Identifier: Apache-2.0
#include "analysis/staleness.hpp"

#include <algorithm>

namespace stretto::analysis {

namespace {
constexpr std::size_t kForgetFrom = 4096;
}

StalenessCounter::StalenessCounter(const training::Compiled& compiled)
    : compiled_(&compiled),
      applies_(compiled.program.size(), false),
      started_(compiled.workers),
      updates_(compiled.transfers),
      seen_(compiled.pull.size(), 0) {
  for (const program::ActivityId a : compiled.applied)
    if (a.valid()) applies_[a.index()] = true;
}

// No pull that is still to come has been handed over before the oldest step under way began.
void StalenessCounter::forget(Updates& updates) const {
  const Time oldest = *std::min_element(started_.begin(), started_.end());
  const auto keep = std::lower_bound(updates.times.begin(), updates.times.end(), oldest);
  updates.forgotten += static_cast<std::uint64_t>(keep - updates.times.begin());
  updates.times.erase(updates.times.begin(), keep);
}

void StalenessCounter::on_end(const program::ActivityRecord& r) {
  const training::Label& label = compiled_->labels[r.activity];
  if (label.role == training::Role::Start) started_[label.worker] = r.end;
  const std::size_t pair = std::size_t{label.worker} * compiled_->transfers + label.item;
  if (label.role == training::Role::Pull) {
    const Updates& u = updates_[label.item];
    seen_[pair] = u.forgotten + static_cast<std::uint64_t>(std::upper_bound(u.times.begin(), u.times.end(), r.handed) -
                                                           u.times.begin());
  }
  if (!applies_[r.activity]) return;
  Updates& u = updates_[label.item];
  const std::uint64_t age = u.forgotten + u.times.size() - seen_[pair];
  u.times.push_back(r.end);
  if (u.times.size() >= kForgetFrom && u.times.size() % kForgetFrom == 0) forget(u);
  if (counts_.size() <= age) counts_.resize(age + 1, 0);
  ++counts_[age];
}

Staleness staleness(const std::vector<std::uint64_t>& counts) {
  Staleness s;
  double sum = 0;
  double all = 0;
  for (std::size_t age = 0; age < counts.size(); ++age) {
    all += static_cast<double>(counts[age]);
    sum += static_cast<double>(counts[age]) * static_cast<double>(age);
  }
  if (all == 0) {
    s.reason = "no gradient took effect in the measured steps";
    return s;
  }
  s.known = true;
  s.mean = sum / all;
  s.max = counts.size() - 1;
  s.histogram.assign(std::min(counts.size(), Staleness::kBins), 0.0);
  for (std::size_t age = 0; age < counts.size(); ++age)
    s.histogram[std::min(age, s.histogram.size() - 1)] += static_cast<double>(counts[age]) / all;
  return s;
}

}  // namespace stretto::analysis
