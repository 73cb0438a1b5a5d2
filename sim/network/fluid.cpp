// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/assert.hpp"

namespace stretto::network {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A link counts as over capacity, and a level as changed, beyond this relative difference; far below the 1e-9 that the
// model promises and above the rounding of the sums.
constexpr double kFull = 1e-12;
constexpr double kSame = 1e-14;
// An end rounds up from this fraction of a picosecond. Not 1/2: ends that fall exactly there are common (equal sizes and
// capacities), and the rounding of sums, which depends on the order of links, would decide.
constexpr double kRoundUp = 0.4996093;

constexpr auto kLaterEnd = [](const auto& a, const auto& b) {
  return a.threshold != b.threshold ? a.threshold > b.threshold : a.token > b.token;
};
}  // namespace

FluidNetwork::FluidNetwork(const Wires& wires) {
  real_links_ = static_cast<std::uint32_t>(wires.links.size());
  links_.resize(real_links_);
  for (const Link& link : wires.links) nominal_.push_back(link.capacity.bytes_per_ps());
  std::map<std::int64_t, std::uint32_t> cap_links;
  classes_.resize(wires.routes.size());
  first_.push_back(0);
  for (std::size_t r = 0; r < wires.routes.size(); ++r) {
    for (const LinkId link : wires.path(RouteId(r))) hop_.push_back(link.index());
    const Bandwidth cap = wires.routes[r].cap;
    if (!cap.is_unlimited()) {
      const auto [it, added] = cap_links.try_emplace(cap.bits_per_second(), static_cast<std::uint32_t>(links_.size()));
      if (added) {
        links_.emplace_back();
        links_.back().capacity = cap.bytes_per_ps();
      }
      hop_.push_back(it->second);
    }
    first_.push_back(static_cast<std::uint32_t>(hop_.size()));
  }
  place_.resize(hop_.size());
  frozen_place_.assign(classes_.size(), kNone);
  finish_place_.assign(links_.size(), kNone);
  reset();
}

void FluidNetwork::reset() {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    LinkState& link = links_[l];
    if (l < real_links_) link.capacity = nominal_[l];
    link.level = link.committed_level = l < real_links_ ? kInfinity : link.capacity;
    link.clock = link.sum = 0;
    link.since = Time();
    link.marked = link.changed = false;
    link.active.clear();
    link.frozen.clear();
  }
  for (ClassState& c : classes_) {
    c.flows = 0;
    c.bottleneck = c.committed_bottleneck = kNone;
    c.active = c.moved = c.emptied = false;
    c.carried = 0;
    c.rate = c.offset = 0;
    c.ends.clear();
  }
  frozen_place_.assign(frozen_place_.size(), kNone);
  finish_place_.assign(finish_place_.size(), kNone);
  finishes_.clear();
  instant_.clear();
  instant_time_ = Time::never();
  worklist_.clear();
  worklist_head_ = 0;
  moved_.clear();
  emptied_.clear();
  changed_.clear();
  full_solves_ = relaxations_ = 0;
}

double FluidNetwork::clock_at(const LinkState& link, Time now) const {
  return link.committed_level == kInfinity
             ? link.clock
             : link.clock + link.committed_level * static_cast<double>(now.ps() - link.since.ps());
}

double FluidNetwork::class_clock(const ClassState& c, Time now) const {
  return c.committed_bottleneck == kNone ? 0.0 : clock_at(links_[c.committed_bottleneck], now) + c.offset;
}

void FluidNetwork::mark(std::uint32_t link) {
  if (link >= real_links_ || links_[link].marked) return;
  links_[link].marked = true;
  worklist_.push_back(link);
}

void FluidNetwork::note_changed(std::uint32_t link) {
  if (links_[link].changed) return;
  links_[link].changed = true;
  changed_.push_back(link);
}

// The rates of class `cls` sum to `delta` more on each of its links.
void FluidNetwork::touch_rate(std::uint32_t cls, double delta) {
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    const std::uint32_t l = hop_[h];
    if (l >= real_links_) continue;
    LinkState& link = links_[l];
    if (link.level != kInfinity) {
      mark(l);
    } else {
      link.sum += delta;
      if (link.sum > link.capacity * (1 + kFull)) mark(l);
    }
  }
}

void FluidNetwork::activate(std::uint32_t cls) {
  ClassState& c = classes_[cls];
  c.active = true;
  c.offset = 0;
  c.rate = kInfinity;
  c.bottleneck = c.committed_bottleneck = kNone;
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    LinkState& link = links_[hop_[h]];
    if (hop_[h] < real_links_) {
      place_[h] = static_cast<std::uint32_t>(link.active.size());
      link.active.push_back(cls);
    }
    if (link.level < c.rate) {
      c.rate = link.level;
      c.bottleneck = hop_[h];
    }
  }
  if (!c.moved) {
    c.moved = true;
    moved_.push_back(cls);
  }
}

void FluidNetwork::deactivate(std::uint32_t cls) {
  ClassState& c = classes_[cls];
  c.active = false;
  c.bottleneck = c.committed_bottleneck = kNone;
  c.rate = 0;
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    if (hop_[h] >= real_links_) continue;
    LinkState& link = links_[hop_[h]];
    const std::uint32_t last = link.active.back();
    link.active[place_[h]] = last;
    link.active.pop_back();
    if (last != cls)
      for (std::uint32_t k = first_[last]; k < first_[last + 1]; ++k)
        if (hop_[k] == hop_[h]) place_[k] = place_[h];
    if (link.active.empty()) link.sum = 0;
  }
}

void FluidNetwork::start(Time now, RouteId route, Bytes bytes, std::uint32_t token) {
  const std::uint32_t cls = route.index();
  ClassState& c = classes_[cls];
  if (bytes.count() == 0 || first_[cls] == first_[cls + 1]) {
    STRETTO_ASSERT(instant_.empty() || instant_time_ == now, "flow of {} ps not collected at {} ps", instant_time_.ps(),
                   now.ps());
    c.carried += bytes.count();
    instant_.push_back(token);
    instant_time_ = now;
    return;
  }
  if (!c.active) activate(cls);
  const double threshold = class_clock(c, now) + static_cast<double>(bytes.count());
  c.ends.push_back({threshold, bytes.count(), token});
  std::push_heap(c.ends.begin(), c.ends.end(), kLaterEnd);
  ++c.flows;
  if (c.committed_bottleneck != kNone) {
    LinkState& link = links_[c.committed_bottleneck];
    if (frozen_place_[cls] == kNone) {
      link.frozen.push(cls, c.ends.front().threshold - c.offset, frozen_place_);
      note_changed(c.committed_bottleneck);
    } else if (c.ends.front().token == token) {
      link.frozen.update(cls, c.ends.front().threshold - c.offset, frozen_place_);
      note_changed(c.committed_bottleneck);
    }
  }
  if (c.rate == kInfinity) {
    for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) mark(hop_[h]);
  } else {
    touch_rate(cls, c.rate);
  }
}

Time FluidNetwork::next() const {
  Time t = instant_.empty() ? Time::never() : instant_time_;
  if (!finishes_.empty()) t = std::min(t, Time::ps(finishes_.top().key));
  return t;
}

void FluidNetwork::finish(Time now, std::vector<std::uint32_t>& tokens) {
  if (!instant_.empty() && instant_time_ == now) {
    tokens.insert(tokens.end(), instant_.begin(), instant_.end());
    instant_.clear();
  }
  while (!finishes_.empty() && finishes_.top().key <= now.ps()) {
    STRETTO_ASSERT(finishes_.top().key == now.ps(), "link due at {} ps, now {} ps", finishes_.top().key, now.ps());
    const std::uint32_t l = finishes_.top().item;
    LinkState& link = links_[l];
    // Everything that rounds to this picosecond ends now, the head in any case.
    const double limit = std::max(clock_at(link, now) + kRoundUp * link.committed_level, link.frozen.top().key);
    while (!link.frozen.empty() && link.frozen.top().key <= limit) {
      const std::uint32_t cls = link.frozen.top().item;
      ClassState& c = classes_[cls];
      std::uint32_t ended = 0;
      while (!c.ends.empty() && c.ends.front().threshold - c.offset <= limit) {
        tokens.push_back(c.ends.front().token);
        c.carried += c.ends.front().bytes;
        std::pop_heap(c.ends.begin(), c.ends.end(), kLaterEnd);
        c.ends.pop_back();
        ++ended;
      }
      c.flows -= ended;
      touch_rate(cls, -c.rate * ended);
      if (c.ends.empty()) {
        link.frozen.erase(cls, frozen_place_);
        if (!c.emptied) {
          c.emptied = true;
          emptied_.push_back(cls);
        }
      } else {
        link.frozen.update(cls, c.ends.front().threshold - c.offset, frozen_place_);
      }
    }
    schedule(l, now);
  }
}

// Brings the link's entry among the next ends up to date.
void FluidNetwork::schedule(std::uint32_t l, Time now) {
  LinkState& link = links_[l];
  if (link.frozen.empty()) {
    if (finish_place_[l] != kNone) finishes_.erase(l, finish_place_);
    return;
  }
  const double wait = (link.frozen.top().key - link.clock) / link.committed_level;
  STRETTO_ASSERT(wait < 9.2e18, "a flow on link {} needs {} ps", l, wait);
  const auto rounded = static_cast<std::int64_t>(std::floor(wait + (1 - kRoundUp)));
  const std::int64_t at = std::max(now.ps(), link.since.ps() + rounded);
  if (finish_place_[l] == kNone)
    finishes_.push(l, at, finish_place_);
  else if (finishes_.top().item != l || finishes_.top().key != at)
    finishes_.update(l, at, finish_place_);
}

// New rate and bottleneck of a class as seen from `relaxed`; tells the other links of its route.
void FluidNetwork::set_class(std::uint32_t cls, std::uint32_t relaxed, double rate, std::uint32_t bottleneck) {
  ClassState& c = classes_[cls];
  if (c.rate == rate && c.bottleneck == bottleneck) return;
  const double delta = (rate == kInfinity ? 0.0 : rate * c.flows) - (c.rate == kInfinity ? 0.0 : c.rate * c.flows);
  c.rate = rate;
  c.bottleneck = bottleneck;
  if (!c.moved && bottleneck != c.committed_bottleneck) {
    c.moved = true;
    moved_.push_back(cls);
  }
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    const std::uint32_t l = hop_[h];
    if (l == relaxed || l >= real_links_) continue;
    LinkState& link = links_[l];
    if (link.level != kInfinity) {
      mark(l);
    } else {
      link.sum += delta;
      if (link.sum > link.capacity * (1 + kFull)) mark(l);
    }
  }
}

void FluidNetwork::relax(std::uint32_t l) {
  LinkState& link = links_[l];
  link.marked = false;
  ++relaxations_;
  const std::size_t n = link.active.size();
  other_.resize(n);
  other_link_.resize(n);
  open_.clear();
  double weight = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t cls = link.active[i];
    double least = kInfinity;
    std::uint32_t at = kNone;
    for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
      const std::uint32_t k = hop_[h];
      if (k != l && links_[k].level < least) {
        least = links_[k].level;
        at = k;
      }
    }
    other_[i] = least;
    other_link_[i] = at;
    weight += classes_[cls].flows;
    open_.push_back(static_cast<std::uint32_t>(i));
  }
  // Water-fill: take out the classes that other links hold below the common level until none is left to take out.
  double level = kInfinity;
  double room = link.capacity;
  while (!open_.empty()) {
    level = room / weight;
    std::size_t kept = 0;
    double taken = 0;
    double taken_weight = 0;
    for (const std::uint32_t i : open_) {
      if (other_[i] < level) {
        const double w = classes_[link.active[i]].flows;
        taken += w * other_[i];
        taken_weight += w;
      } else {
        open_[kept++] = i;
      }
    }
    if (kept == open_.size()) break;
    open_.resize(kept);
    room -= taken;
    weight -= taken_weight;
    level = kInfinity;
    // What is left is rounding of a link that the others fill to the last byte.
    if (!open_.empty() && room <= link.capacity * kFull) room = link.capacity * kFull;
  }
  if (level != kInfinity && link.level != kInfinity && std::abs(level - link.level) <= kSame * link.level)
    level = link.level;
  if (level != link.level) {
    link.level = level;
    note_changed(l);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t cls = link.active[i];
    const ClassState& c = classes_[cls];
    double rate = level;
    std::uint32_t bottleneck = l;
    if (other_[i] < level || (other_[i] == level && c.bottleneck != l)) {
      rate = other_[i];
      bottleneck = other_link_[i];
      if (c.rate == rate && c.bottleneck != kNone && c.bottleneck != l && links_[c.bottleneck].level == rate)
        bottleneck = c.bottleneck;
    }
    set_class(cls, l, rate, bottleneck);
    sum += rate * c.flows;
  }
  link.sum = sum;
}

// Progressive filling over every link with active classes.
void FluidNetwork::solve_full() {
  ++full_solves_;
  std::vector<double> room(links_.size());
  std::vector<double> weight(links_.size(), 0.0);
  std::vector<std::uint32_t> todo;
  for (std::uint32_t cls = 0; cls < classes_.size(); ++cls) {
    if (!classes_[cls].active) continue;
    todo.push_back(cls);
    for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) weight[hop_[h]] += classes_[cls].flows;
  }
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    room[l] = links_[l].capacity;
    links_[l].marked = false;
    if (l < real_links_) {
      if (links_[l].level != kInfinity) note_changed(l);
      links_[l].level = kInfinity;
    }
  }
  while (!todo.empty()) {
    double share = kInfinity;
    for (std::uint32_t l = 0; l < links_.size(); ++l) {
      if (weight[l] <= 0) continue;
      share = std::min(share, l < real_links_ ? std::max(room[l], 0.0) / weight[l] : links_[l].capacity);
    }
    std::vector<std::uint32_t> full;
    for (std::uint32_t l = 0; l < links_.size(); ++l)
      if (weight[l] > 0 && (l < real_links_ ? room[l] / weight[l] : links_[l].capacity) <= share * (1 + kFull))
        full.push_back(l);
    for (const std::uint32_t l : full)
      if (l < real_links_) {
        links_[l].level = share;
        note_changed(l);
      }
    std::erase_if(todo, [&](std::uint32_t cls) {
      std::uint32_t bottleneck = kNone;
      for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h)
        if (std::binary_search(full.begin(), full.end(), hop_[h])) bottleneck = hop_[h];
      if (bottleneck == kNone) return false;
      ClassState& c = classes_[cls];
      c.rate = share;
      c.bottleneck = bottleneck;
      if (!c.moved) {
        c.moved = true;
        moved_.push_back(cls);
      }
      for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
        room[hop_[h]] -= share * c.flows;
        weight[hop_[h]] -= c.flows;
      }
      return true;
    });
  }
  for (std::uint32_t l = 0; l < real_links_; ++l) links_[l].sum = links_[l].capacity - room[l];
}

void FluidNetwork::commit(Time now) {
  // Clocks run at the committed levels up to now; then the new levels hold.
  for (const std::uint32_t cls : moved_) {
    ClassState& c = classes_[cls];
    c.offset = class_clock(c, now);  // class clock for the moment
    if (frozen_place_[cls] != kNone) {
      links_[c.committed_bottleneck].frozen.erase(cls, frozen_place_);
      note_changed(c.committed_bottleneck);
    }
  }
  for (const std::uint32_t l : changed_) {
    LinkState& link = links_[l];
    link.clock = link.frozen.empty() ? 0.0 : clock_at(link, now);
    link.since = now;
    link.committed_level = link.level;
  }
  for (const std::uint32_t cls : moved_) {
    ClassState& c = classes_[cls];
    c.moved = false;
    c.committed_bottleneck = c.bottleneck;
    if (!c.active) continue;
    STRETTO_ASSERT(c.bottleneck != kNone && !c.ends.empty(), "class {} without bottleneck at {} ps", cls, now.ps());
    LinkState& link = links_[c.bottleneck];
    if (!link.changed && link.frozen.empty()) {
      link.clock = 0;
      link.since = now;
    }
    note_changed(c.bottleneck);
    c.offset -= clock_at(link, now);
    link.frozen.push(cls, c.ends.front().threshold - c.offset, frozen_place_);
  }
  moved_.clear();
  for (const std::uint32_t l : changed_) {
    links_[l].changed = false;
    schedule(l, now);
  }
  changed_.clear();
}

void FluidNetwork::solve(Time now) {
  for (const std::uint32_t cls : emptied_) {
    ClassState& c = classes_[cls];
    c.emptied = false;
    if (c.flows == 0 && c.active) deactivate(cls);
  }
  emptied_.clear();
  const std::uint64_t guard = relaxations_ + 64 + 32ULL * real_links_;
  while (worklist_head_ < worklist_.size()) {
    if (relaxations_ > guard) {
      solve_full();
      break;
    }
    const std::uint32_t l = worklist_[worklist_head_++];
    relax(l);
  }
  worklist_.clear();
  worklist_head_ = 0;
  if (!moved_.empty() || !changed_.empty()) commit(now);
}

void FluidNetwork::set_capacity(LinkId link, double factor) {
  links_[link.index()].capacity = nominal_[link.index()] * factor;
  mark(link.index());
}

double FluidNetwork::rate(RouteId route) const {
  const ClassState& c = classes_[route.index()];
  return c.flows > 0 ? c.rate : 0.0;
}

std::int64_t FluidNetwork::bytes_carried(LinkId link) const {
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c)
    for (std::uint32_t h = first_[c]; h < first_[c + 1]; ++h)
      if (hop_[h] == link.index()) bytes += classes_[c].carried;
  return bytes;
}

}  // namespace stretto::network
