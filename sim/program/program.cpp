// SPDX-License-Identifier: Apache-2.0
#include "sim/program/program.hpp"

#include <array>
#include <utility>

#include "sim/base/assert.hpp"

namespace stretto::program {

PoolId ProgramBuilder::add_pool(PoolSpec pool) {
  program_.pools.push_back(std::move(pool));
  return PoolId(program_.pools.size() - 1);
}

ChannelId ProgramBuilder::add_channel(channel::Channel channel) {
  STRETTO_ASSERT(channel.route.index() < program_.wires.routes.size(), "route {}", channel.route.index());
  STRETTO_ASSERT(!channel.spans || (channel.latency == Duration() && channel.send.pool == channel::kNoPool &&
                                    channel.receive.pool == channel::kNoPool),
                 "channel {} of spans with costs", program_.channels.size());
  STRETTO_ASSERT(channel.streams <= kMostStreams && channel.open_at_a_time <= kMostOpen, "{} streams, {} spans",
                 channel.streams, channel.open_at_a_time);
  Connection c;
  c.route = channel.route;
  c.streams = channel.streams & (2 * kMostStreams - 1);
  c.open_at_a_time = channel.open_at_a_time & kMostOpen;
  c.spans = channel.spans;
  c.latency = channel.latency;
  c.send = service(channel.send);
  c.receive = service(channel.receive);
  program_.channels.push_back(c);
  return ChannelId(program_.channels.size() - 1);
}

std::uint32_t ProgramBuilder::service(const channel::Service& s) {
  const auto [it, added] = services_.try_emplace(std::tuple(s.pool, s.per_message.ps(), s.per_byte_ps),
                                                 static_cast<std::uint32_t>(program_.services.size()));
  if (added) program_.services.push_back(s);
  return it->second;
}

void ProgramBuilder::set_network_model(NetworkModel model, Bytes chunk) {
  program_.network_model = model;
  program_.chunk = chunk;
}

ActivityId ProgramBuilder::add(Kind kind, std::uint32_t where, std::int64_t amount) {
  STRETTO_ASSERT(amount >= 0 && where < (1U << 29), "amount {} at {}", amount, where);
  Activity a;
  a.kind = kind;
  a.where = where & ((1U << 29) - 1);
  a.amount = amount;
  program_.activities.push_back(a);
  STRETTO_ASSERT(program_.activities.size() < (1ULL << 31), "too many activities");
  return ActivityId(program_.activities.size() - 1);
}

ActivityId ProgramBuilder::add_compute(PoolId pool, Duration duration) {
  STRETTO_ASSERT(pool.index() < program_.pools.size(), "pool {}", pool.index());
  return add(Kind::Compute, pool.index(), duration.ps());
}

ActivityId ProgramBuilder::add_message(ChannelId channel, Bytes bytes) {
  STRETTO_ASSERT(channel.index() < program_.channels.size(), "channel {}", channel.index());
  return add(Kind::Message, channel.index(), bytes.count());
}

ActivityId ProgramBuilder::add_delay(Duration duration) { return add(Kind::Delay, 0, duration.ps()); }

ActivityId ProgramBuilder::add_span_end(ActivityId span) {
  STRETTO_ASSERT(span.index() < program_.activities.size(), "span {}", span.index());
  const Activity& begin = program_.activities[span.index()];
  STRETTO_ASSERT(begin.kind == Kind::Message && program_.channels[begin.where].spans, "activity {} is no span",
                 span.index());
  return add(Kind::Delay, span.index() + 1, 0);
}

ActivityId ProgramBuilder::add_join(std::uint32_t need) { return add(Kind::Join, 0, need); }

ActivityId ProgramBuilder::add_gate(std::uint32_t lag) {
  STRETTO_ASSERT(lag >= 1, "gate of lag {}", lag);
  return add(Kind::Join, lag - 1, 0);
}

void ProgramBuilder::add_edge(ActivityId from, ActivityId to, std::uint32_t distance) {
  const std::size_t n = program_.activities.size();
  STRETTO_ASSERT(from.index() < n && to.index() < n && distance <= 1, "edge {} -> {} of distance {} among {}",
                 from.index(), to.index(), distance, n);
  from_.push_back(from.index());
  to_.push_back({(to.index() << 1) | distance});
}

void ProgramBuilder::add_marker(ActivityId activity) {
  STRETTO_ASSERT(activity.index() < program_.activities.size(), "marker {}", activity.index());
  program_.activities[activity.index()].marker = true;
  program_.markers.push_back(activity);
}

ProgramBuilder::Burst ProgramBuilder::add_background(PoolId pool, Duration pause, ChannelId channel, Bytes bytes) {
  STRETTO_ASSERT(program_.pools.at(pool.index()).units == 0 && program_.channels.at(channel.index()).streams == 0,
                 "background on pool {} and channel {}, which have limits", pool.index(), channel.index());
  const auto here = static_cast<std::uint32_t>(program_.activities.size());
  if (program_.chains++ == 0) program_.background = program_.endless = here;
  const Burst burst{add_compute(pool, pause), add_message(channel, bytes)};
  add_edge(burst.pause, burst.message);
  add_edge(burst.message, burst.pause, 1);
  return burst;
}

std::uint32_t ProgramBuilder::add_skip(ActivityId first, ActivityId watched) {
  STRETTO_ASSERT(watched.index() < program_.activities.size(), "activity {} is watched", watched.index());
  const auto group = static_cast<std::uint32_t>(program_.skips.size());
  program_.skips.push_back({first.index(), watched.index()});
  skip_with(group, first);
  return group;
}

void ProgramBuilder::skip_with(std::uint32_t group, ActivityId activity) {
  STRETTO_ASSERT(activity.index() < program_.activities.size(), "activity {} is skipped", activity.index());
  if (program_.skip_of.size() <= activity.index()) program_.skip_of.resize(activity.index() + 1, StepProgram::kNoSkip);
  program_.skip_of[activity.index()] = group;
}

void ProgramBuilder::reserve(std::size_t activities, std::size_t edges) {
  program_.activities.reserve(activities + 1);
  from_.reserve(edges);
  to_.reserve(edges);
}

namespace {
// Keeps each pair of counts once. Nearly all are small: those are found by place.
void share(const std::vector<Need>& need, StepProgram& p) {
  constexpr std::uint32_t kSmall = 16, kNew = 0xFFFFFFFFU;
  std::array<std::uint32_t, kSmall * kSmall> small;
  small.fill(kNew);
  std::map<Need, std::uint32_t> large;
  p.need_of.resize(need.size());
  for (std::size_t a = 0; a < need.size(); ++a) {
    const Need& n = need[a];
    std::uint32_t& place = n.same_iteration < kSmall && n.all < kSmall ? small[n.same_iteration * kSmall + n.all]
                                                                       : large.try_emplace(n, kNew).first->second;
    if (place == kNew) {
      place = static_cast<std::uint32_t>(p.needs.size());
      p.needs.push_back(n);
    }
    p.need_of[a] = place;
  }
}
}  // namespace

StepProgram ProgramBuilder::finish() {
  StepProgram p = std::exchange(program_, StepProgram());
  const std::size_t n = p.activities.size();
  std::vector<Need> need(n);
  for (const std::uint32_t from : from_) ++p.activities[from].first_edge;
  std::uint32_t sum = 0;
  for (Activity& a : p.activities) sum += std::exchange(a.first_edge, sum);
  Activity sentinel;
  sentinel.first_edge = sum;
  p.edges.resize(from_.size());
  for (std::size_t e = 0; e < from_.size(); ++e) {
    p.edges[p.activities[from_[e]].first_edge++] = to_[e];
    ++need[to_[e].to()].all;
    if (to_[e].distance() == 0) ++need[to_[e].to()].same_iteration;
  }
  // first_edge now points behind each activity's edges: move it back by one activity.
  for (std::size_t a = n; a > 1; --a) p.activities[a - 1].first_edge = p.activities[a - 2].first_edge;
  if (n > 0) p.activities[0].first_edge = 0;
  p.activities.push_back(sentinel);
  if (!p.skips.empty()) p.skip_of.resize(n, StepProgram::kNoSkip);
  for (std::size_t a = 0; a < n; ++a) {
    if (p.activities[a].kind != Kind::Join) continue;
    STRETTO_ASSERT(p.activities[a].where == 0 || need[a].same_iteration == 0, "gate {} waits for its own iteration", a);
    if (p.activities[a].amount == 0) continue;
    const auto least = static_cast<std::uint32_t>(p.activities[a].amount);
    STRETTO_ASSERT(least <= need[a].all, "join {} needs {} of {}", a, least, need[a].all);
    STRETTO_ASSERT(need[a].same_iteration == need[a].all || least == need[a].all,
                   "join {} counts arrivals of two iterations", a);
    if (least < need[a].all)
      need[a] = {least, least};
    else
      p.activities[a].amount = 0;
  }
  from_ = {};
  to_ = {};
  services_.clear();
  share(need, p);
  return p;
}

}  // namespace stretto::program
