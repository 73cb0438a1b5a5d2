// SPDX-License-Identifier: Apache-2.0
#include "sim/program/joined.hpp"

#include <algorithm>

#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"

namespace stretto::program {

namespace {

// Draws of activities, noise of activities and toggles of pools stay apart.
enum class Draw : std::uint64_t { Activity, Noise, Toggle };
std::uint64_t own(std::uint64_t key, Draw kind, std::uint64_t number) {
  return hash_draw(key, static_cast<std::uint64_t>(kind), number);
}

void add_network(const Part& part, StepProgram& out) {
  const network::Wires& wires = part.program->wires;
  STRETTO_ASSERT(part.links.size() == wires.links.size(), "{} of {} links", part.links.size(), wires.links.size());
  for (std::uint32_t r = 0; r < wires.routes.size(); ++r) {
    std::vector<network::LinkId> path;
    for (const network::LinkId link : wires.path(network::RouteId(r))) path.push_back(part.links[link.index()]);
    out.wires.add_route(path, wires.routes[r].cap);
  }
}

void add_activities(const StepProgram& p, const Offsets& at, StepProgram& out) {
  const auto edges = static_cast<std::uint32_t>(out.edges.size());
  const auto needs = static_cast<std::uint32_t>(out.needs.size());
  for (std::uint32_t a = 0; a < p.size(); ++a) {
    Activity activity = p.activities[a];
    std::uint32_t where = activity.where;
    if (activity.kind == Kind::Compute) where += at.pool;
    if (activity.kind == Kind::Message) where += at.channel;
    if (activity.kind == Kind::Delay && where != 0) where += at.activity;
    activity.where = where & ((1U << 29) - 1);
    activity.first_edge += edges;
    out.activities.push_back(activity);
    out.need_of.push_back(needs + p.need_of[a]);
  }
  for (const Edge edge : p.edges) out.edges.push_back({edge.to_and_distance + 2 * at.activity});
  out.needs.insert(out.needs.end(), p.needs.begin(), p.needs.end());
  for (const ActivityId m : p.markers) out.markers.emplace_back(at.activity + m.index());
  const auto groups = static_cast<std::uint32_t>(out.skips.size());
  for (const SkipGroup& g : p.skips) out.skips.push_back({g.first + at.activity, g.watched + at.activity});
  out.skip_of.resize(out.need_of.size(), StepProgram::kNoSkip);
  for (std::uint32_t a = 0; a < p.skip_of.size(); ++a)
    if (p.skip_of[a] != StepProgram::kNoSkip) out.skip_of[at.activity + a] = groups + p.skip_of[a];
}

void add_channels(const StepProgram& p, const Offsets& at, std::uint32_t first_route, StepProgram& out) {
  const auto services = static_cast<std::uint32_t>(out.services.size());
  for (Connection c : p.channels) {
    c.route = network::RouteId(first_route + c.route.index());
    c.send += services;
    c.receive += services;
    out.channels.push_back(c);
  }
  for (channel::Service service : p.services) {
    if (service.pool != channel::kNoPool) service.pool += at.pool;
    out.services.push_back(service);
  }
}

}  // namespace

Joined join(std::span<const Part> parts, const std::vector<network::Link>& links, bool endless) {
  STRETTO_ASSERT(!parts.empty(), "{} parts", parts.size());
  Joined joined;
  StepProgram& out = joined.program;
  out.network_model = parts.front().program->network_model;
  out.chunk = parts.front().program->chunk;
  out.wires.links = links;
  for (const Part& part : parts) {
    const StepProgram& p = *part.program;
    STRETTO_ASSERT(p.network_model == out.network_model && p.chunk == out.chunk, "networks of two models");
    const Offsets at{static_cast<std::uint32_t>(out.need_of.size()), static_cast<std::uint32_t>(out.pools.size()),
                     static_cast<std::uint32_t>(out.channels.size()), static_cast<std::uint32_t>(out.markers.size())};
    STRETTO_ASSERT(std::uint64_t{at.activity} + p.size() < (1U << 29), "{} activities", at.activity);
    STRETTO_ASSERT(out.chains == 0 && (p.chains == 0 || p.background == 0), "background of {} chains from {} on",
                   p.chains, p.background);
    if (p.chains > 0) {
      out.background = out.endless = at.activity;
      out.chains = p.chains;
    }
    const auto first_route = static_cast<std::uint32_t>(out.wires.routes.size());
    add_network(part, out);
    out.pools.insert(out.pools.end(), p.pools.begin(), p.pools.end());
    add_channels(p, at, first_route, out);
    add_activities(p, at, out);
    joined.at.push_back(at);
    joined.links.push_back(part.links);
    joined.keys.push_back(part.key);
  }
  Activity sentinel;
  sentinel.first_edge = static_cast<std::uint32_t>(out.edges.size());
  out.activities.push_back(sentinel);
  if (out.skips.empty()) out.skip_of.clear();
  if (endless) out.endless = 0;
  return joined;
}

OrderTable join(const Joined& joined, std::span<const OrderTable> tables, std::uint64_t stream) {
  OrderTable out;
  out.stream = stream;
  const std::uint32_t size = joined.program.size();
  const std::size_t channels = joined.program.channels.size();
  out.draw_id.reserve(size);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const OrderTable& t = tables[i];
    const Offsets& at = joined.at[i];
    const std::uint32_t end = i + 1 < tables.size() ? joined.at[i + 1].activity : size;
    STRETTO_ASSERT(t.rank.size() == end - at.activity && t.draw_id.empty(), "ranks of {} activities for {}",
                   t.rank.size(), end - at.activity);
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(out.discipline, t.discipline);
    append(out.rank, t.rank);
    append(out.ranked, t.ranked);
    append(out.window, t.window);
    append(out.credit, t.credit);
    for (const std::uint32_t leader : t.leader) out.leader.push_back(leader + at.channel);
    // What no channel of the part needs may be empty.
    const std::size_t end_channel = i + 1 < tables.size() ? joined.at[i + 1].channel : channels;
    for (auto* list : {&out.ranked, &out.window, &out.leader}) list->resize(end_channel, 0);
    out.credit.resize(end_channel, 0);
    for (Delayed d : t.delayed) {
      d.join += at.activity;
      out.delayed.push_back(d);
    }
    for (std::uint32_t a = at.activity; a < end; ++a)
      out.draw_id.push_back(own(joined.keys[i], Draw::Activity, a - at.activity));
    if (t.alternatives.empty()) continue;
    STRETTO_ASSERT(out.alternatives.empty(), "{} alternatives of another part", out.alternatives.size());
    out.alternatives = t.alternatives;
    out.item.assign(size, kPassFreely);
    out.draw.assign(channels, 0);
    std::copy(t.item.begin(), t.item.end(), out.item.begin() + at.activity);
    std::copy(t.draw.begin(), t.draw.end(), out.draw.begin() + at.channel);
  }
  STRETTO_ASSERT(out.discipline.size() == channels, "orders of {} channels for {}", out.discipline.size(), channels);
  return out;
}

Variation join(const Joined& joined, std::span<const Variation> parts, std::uint64_t stream) {
  Variation out;
  out.stream = stream;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Variation& v = parts[i];
    const Offsets& at = joined.at[i];
    const std::uint64_t key = joined.keys[i];
    if (!v.key.empty()) {
      out.law = v.law;
      out.cv = v.cv;
      out.factors = v.factors;
      out.key.resize(joined.program.size(), 0);
      for (std::size_t a = 0; a < v.key.size(); ++a)
        if (v.key[a] != 0) out.key[at.activity + a] = own(key, Draw::Noise, v.key[a]) | 1;
    }
    for (const Chance& c : v.chances)
      out.chances.push_back({c.activity + at.activity, own(key, Draw::Noise, c.key), c.probability, c.spread});
    for (const SlowWindow& s : v.slow) out.slow.push_back({s.pool + at.pool, s.factor, s.from, s.until});
    for (const LinkChange& l : v.links) out.links.push_back({joined.links[i][l.link.index()], l.at, l.factor});
    if (v.toggle_key.empty()) continue;
    out.toggle = v.toggle;
    out.toggle_key.resize(joined.program.pools.size(), 0);
    for (std::size_t p = 0; p < v.toggle_key.size(); ++p)
      if (v.toggle_key[p] != 0) out.toggle_key[at.pool + p] = own(key, Draw::Toggle, v.toggle_key[p]) | 1;
  }
  return out;
}

void PartObservers::on_end(const ActivityRecord& record) {
  const auto after = std::upper_bound(joined_->at.begin(), joined_->at.end(), record.activity,
                                      [](std::uint32_t a, const Offsets& at) { return a < at.activity; });
  const auto part = static_cast<std::size_t>(after - joined_->at.begin()) - 1;
  if (observers_[part] == nullptr) return;
  ActivityRecord own_record = record;
  own_record.activity -= joined_->at[part].activity;
  observers_[part]->on_end(own_record);
}

}  // namespace stretto::program
