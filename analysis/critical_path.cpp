// SPDX-License-Identifier: Apache-2.0
#include "analysis/critical_path.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/assert.hpp"

namespace stretto::analysis {

namespace {

using channel::HandOver;
using program::ActivityRecord;
using program::Kind;
using program::StepProgram;

struct Row {
  PathKind kind;
  std::string_view key;
  std::string_view words;
};

constexpr Row kRows[] = {
    {PathKind::Compute, "compute", "compute, as long as it should take"},
    {PathKind::Slowed, "slowed", "compute, added by noise and slow workers"},
    {PathKind::DeviceBusy, "device_busy", "waiting for a busy device"},
    {PathKind::SenderNotReady, "sender_not_ready", "held back by the order for what is not ready yet"},
    {PathKind::Turn, "turn", "waiting for its turn (window, credit, priority)"},
    {PathKind::ServiceQueue, "service_queue", "waiting for a service thread"},
    {PathKind::Service, "service", "in service at hosts (messages, sums, updates)"},
    {PathKind::Latency, "latency", "latency"},
    {PathKind::WireQueue, "wire_queue", "behind others on its connection"},
    {PathKind::WireOwn, "wire_own", "moving its own bytes"},
    {PathKind::WireShared, "wire_shared", "wire lost to others or to a slow link"},
    {PathKind::Input, "input", "preparing input"},
    {PathKind::Overhead, "overhead", "overhead of the step"}};
static_assert(std::size(kRows) == kPathKinds);

// An instance of an activity.
struct Instance {
  std::uint32_t activity = 0;
  std::uint32_t iteration = 0;
  auto operator<=>(const Instance&) const = default;
};

class Walker {
 public:
  Walker(const training::Compiled& compiled, const program::OrderTable& order, std::span<const ActivityRecord> records)
      : compiled_(compiled), program_(compiled.program), order_(order), records_(records.begin(), records.end()) {
    std::sort(records_.begin(), records_.end(), [](const ActivityRecord& a, const ActivityRecord& b) {
      return std::tie(a.activity, a.iteration) < std::tie(b.activity, b.iteration);
    });
    const std::uint32_t n = program_.size();
    first_.assign(n + 1, 0);
    for (const program::Edge edge : program_.edges) ++first_[edge.to() + 1];
    for (std::uint32_t a = 0; a < n; ++a) first_[a + 1] += first_[a];
    before_.resize(program_.edges.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t e = program_.activities[a].first_edge; e < program_.activities[a + 1].first_edge; ++e)
        before_[next[program_.edges[e].to()]++] = {a, program_.distance(program_.edges[e])};
    is_device_.assign(program_.pools.size(), false);
    for (const program::PoolId pool : compiled.device) is_device_[pool.index()] = true;
  }

  CriticalPath walk(Instance last, Time begin) {
    const ActivityRecord* r = find(last);
    STRETTO_ASSERT(r != nullptr && r->end >= begin, "no record of activity {} in iteration {} after {} ps",
                   last.activity, last.iteration, begin.ps());
    CriticalPath path;
    path.begin = begin;
    path.end = r->end;
    for (;;) {
      PathLink link{r->activity, r->iteration, std::max(r->ready, begin), r->end, {}};
      if (link.to > link.from) {
        split(*r, begin, link.parts);
        path.links.push_back(link);
      }
      if (r->ready <= begin) break;
      const Time at = r->ready;
      r = trigger({r->activity, r->iteration}, at);
      STRETTO_ASSERT(r != nullptr, "activity {} of iteration {} became ready at {} ps without a cause",
                     path.links.empty() ? last.activity : path.links.back().activity, last.iteration, at.ps());
    }
    std::reverse(path.links.begin(), path.links.end());
    return path;
  }

 private:
  struct Before {
    std::uint32_t activity;
    std::uint32_t distance;
  };

  const ActivityRecord* find(Instance i) const {
    const auto at =
        std::lower_bound(records_.begin(), records_.end(), i, [](const ActivityRecord& r, const Instance& want) {
          return std::tie(r.activity, r.iteration) < std::tie(want.activity, want.iteration);
        });
    return at != records_.end() && at->activity == i.activity && at->iteration == i.iteration ? &*at : nullptr;
  }

  // All that an instance waits for, its own instance before last.
  std::vector<Instance> waits_for(Instance i) const {
    std::vector<Instance> list;
    for (std::uint32_t k = first_[i.activity]; k < first_[i.activity + 1]; ++k)
      if (before_[k].distance <= i.iteration) list.push_back({before_[k].activity, i.iteration - before_[k].distance});
    if (i.iteration > 0) list.push_back({i.activity, i.iteration - 1});
    return list;
  }

  // What ended at the instant in which the instance became ready.
  const ActivityRecord* trigger(Instance i, Time at) const {
    std::set<Instance> seen{i};
    std::vector<Instance> open{i};
    while (!open.empty()) {
      const Instance now = open.back();
      open.pop_back();
      std::vector<Instance> skipped;
      for (const Instance p : waits_for(now)) {
        const ActivityRecord* r = find(p);
        if (r != nullptr && r->end == at) return r;
        const bool can_skip =
            !program_.skip_of.empty() && program_.skip_of[p.activity] != StepProgram::kNoSkip && r == nullptr;
        if (can_skip && seen.insert(p).second) skipped.push_back(p);
      }
      open.insert(open.end(), skipped.rbegin(), skipped.rend());
    }
    return nullptr;
  }

  // When the last message of lower rank that the order waits for came to exist.
  Time held_until(const ActivityRecord& r) {
    const std::uint32_t c = program_.activities[r.activity].where;
    const HandOver rule = order_.discipline.empty() ? HandOver::Free : order_.discipline[c];
    if (rule != HandOver::Strict && rule != HandOver::ChainWindow) return r.ready;
    if (of_channel_.empty()) {
      of_channel_.resize(program_.channels.size());
      for (std::uint32_t k = 0; k < records_.size(); ++k) {
        const program::Activity& a = program_.activities[records_[k].activity];
        if (a.kind == Kind::Message) of_channel_[a.where].push_back(k);
      }
    }
    Time last = r.ready;
    for (const std::uint32_t k : of_channel_[c]) {
      const ActivityRecord& other = records_[k];
      if (other.iteration == r.iteration && order_.rank[other.activity] < order_.rank[r.activity] &&
          other.ready <= r.handed)
        last = std::max(last, other.ready);
    }
    return last;
  }

  // Splits [from, to] into `first` of at most `length` and `rest`; what lies before `begin` is left out.
  static void cut(Time from, Time to, Duration length, PathKind first, PathKind rest, Time begin, PathParts& parts) {
    const Time middle = std::min(from + length, to);
    const auto add = [&](Time a, Time b, PathKind kind) {
      if (b > std::max(a, begin)) parts[static_cast<std::size_t>(kind)] += b - std::max(a, begin);
    };
    add(from, middle, first);
    add(middle, to, rest);
  }

  // A queue, then a service of known length at the end of [from, to].
  static void serve(Time from, Time to, Duration length, Time begin, PathParts& parts) {
    cut(from, to, std::max(Duration(), (to - from) - length), PathKind::ServiceQueue, PathKind::Service, begin, parts);
  }

  void split(const ActivityRecord& r, Time begin, PathParts& parts) {
    const program::Activity& a = program_.activities[r.activity];
    const Duration none;
    switch (a.kind) {
      case Kind::Compute: {
        if (compiled_.labels[r.activity].role == training::Role::Late) {
          cut(r.ready, r.end, none, PathKind::Slowed, PathKind::Slowed, begin, parts);
          return;
        }
        const bool device = is_device_[a.where];
        cut(r.ready, r.begin, none, PathKind::DeviceBusy, device ? PathKind::DeviceBusy : PathKind::ServiceQueue, begin,
            parts);
        cut(r.begin, r.end, Duration::ps(a.amount), device ? PathKind::Compute : PathKind::Service, PathKind::Slowed,
            begin, parts);
        return;
      }
      case Kind::Message: {
        const program::Connection& c = program_.channels[a.where];
        const channel::Service &send = program_.send_service(a.where), &receive = program_.receive_service(a.where);
        cut(r.ready, r.handed, held_until(r) - r.ready, PathKind::SenderNotReady, PathKind::Turn, begin, parts);
        serve(r.handed, r.on_wire, send.pool == channel::kNoPool ? none : send.of(a.amount), begin, parts);
        cut(r.on_wire, r.begin, c.latency, PathKind::Latency, PathKind::WireQueue, begin, parts);
        cut(r.begin, r.arrived, transfer_duration(Bytes(a.amount), program_.wires.rate_alone(c.route)),
            PathKind::WireOwn, PathKind::WireShared, begin, parts);
        serve(r.arrived, r.end, receive.pool == channel::kNoPool ? none : receive.of(a.amount), begin, parts);
        return;
      }
      case Kind::Delay: {
        const training::Role role = compiled_.labels[r.activity].role;
        const PathKind kind = role == training::Role::Request ? PathKind::Latency
                              : role == training::Role::Input ? PathKind::Input
                                                              : PathKind::Overhead;
        cut(r.ready, r.end, none, kind, kind, begin, parts);
        return;
      }
      case Kind::Join:
        return;
    }
  }

  const training::Compiled& compiled_;
  const StepProgram& program_;
  const program::OrderTable& order_;
  std::vector<ActivityRecord> records_;  // by activity, then iteration
  std::vector<std::uint32_t> first_;     // into before_, by activity
  std::vector<Before> before_;
  std::vector<bool> is_device_;                         // by pool
  std::vector<std::vector<std::uint32_t>> of_channel_;  // messages, made at first use
};

}  // namespace

std::string_view path_key(PathKind kind) { return kRows[static_cast<std::size_t>(kind)].key; }

std::string_view path_words(PathKind kind) { return kRows[static_cast<std::size_t>(kind)].words; }

PathParts CriticalPath::total() const {
  PathParts sum{};
  for (const PathLink& link : links)
    for (std::size_t k = 0; k < kPathKinds; ++k) sum[k] += link.parts[k];
  return sum;
}

CriticalPath critical_path(const training::Compiled& compiled, const program::OrderTable& order,
                           std::span<const ActivityRecord> records, program::ActivityId activity,
                           std::uint32_t iteration, Time begin) {
  return Walker(compiled, order, records).walk({activity.index(), iteration}, begin);
}

}  // namespace stretto::analysis
