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
// An end rounds up from this fraction of a picosecond. Not 1/2: ends that fall exactly there are common (equal sizes
// and capacities), and the rounding of sums, which depends on the order of links, would decide.
constexpr double kRoundUp = 0.4996093;
// Instants to fill before relaxation is tried again: so many, and twice as many after a try that soon fails.
constexpr std::uint32_t kFillings = 128;
constexpr std::uint32_t kMostFillings = 1024;
}  // namespace

FluidNetwork::FluidNetwork(const Wires& wires, Method method) : method_(method) {
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
  for (std::size_t r = 0; r < classes_.size() && least_.empty(); ++r)
    if (first_[r + 1] - first_[r] > 2) least_.resize(classes_.size());
  std::vector<std::uint32_t> classes(links_.size());
  for (const std::uint32_t l : hop_) ++classes[l];
  for (std::uint32_t l = 0; l < real_links_; ++l) links_[l].active.reserve(classes[l]);
  place_.resize(hop_.size());
  frozen_place_.assign(classes_.size(), kNone);
  finish_place_.assign(links_.size(), kNone);
  bottleneck_.resize(classes_.size());
  flows_.resize(classes_.size());
  no_link_ = static_cast<std::uint32_t>(links_.size());
  reset();
}

void FluidNetwork::reset() {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    LinkState& link = links_[l];
    if (l < real_links_) link.capacity = nominal_[l];
    link.committed_level = l < real_links_ ? kInfinity : link.capacity;
    link.clock = link.sum = 0;
    link.flows = 0;
    link.begun = 0;
    link.several = link.tight_others = 0;
    link.since = Time();
    link.marked = link.changed = false;
    link.active.clear();
    link.frozen.clear();
  }
  level_.assign(links_.size() + 1, kInfinity);
  roomy_.assign(links_.size() + 1, 1);
  reserved_.assign(links_.size() + 1, 0.0);
  for (std::size_t l = real_links_; l < links_.size(); ++l) {
    level_[l] = reserved_[l] = links_[l].capacity;
    roomy_[l] = 0;
  }
  bottleneck_.assign(bottleneck_.size(), kNone);
  classes_.assign(classes_.size(), ClassState());
  flows_.assign(flows_.size(), 0);
  ends_.clear();
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
  classes_shared_ = hops_active_ = 0;
  filling_.forget();
  to_fill_ = method_ == Method::Filling ? 1 : 0;
  fillings_ = kFillings / 2;
  relaxed_ = 0;
  dirty_ = false;
  full_solves_ = resumed_solves_ = relaxations_ = work_ = mean_work_ = 0;
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

void FluidNetwork::note_moved(std::uint32_t cls) {
  if (classes_[cls].moved) return;
  classes_[cls].moved = true;
  moved_.push_back(cls);
}

// A roomy link has `amount` more reserved on it.
void FluidNetwork::reserve(std::uint32_t l, double amount) {
  LinkState& link = links_[l];
  link.sum += amount;
  if (link.sum > link.capacity * (1 + kFull)) mark(l);
}

void FluidNetwork::add_flows(std::uint32_t cls, std::int64_t count) {
  flows_[cls] += static_cast<std::uint32_t>(count);
  dirty_ = true;
  const std::uint32_t b = bottleneck_[cls];
  if (to_fill_ > 0) filling_.touched.push_back({cls, static_cast<std::int32_t>(count)});
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    const std::uint32_t l = hop_[h];
    if (l >= real_links_) continue;
    LinkState& link = links_[l];
    link.flows += static_cast<std::uint64_t>(count);
    if (to_fill_ > 0) continue;
    if (b == kNone || !roomy_[l])
      mark(l);
    else
      reserve(l, reserved_[b] * static_cast<double>(count));
  }
}

void FluidNetwork::activate(std::uint32_t cls) {
  ClassState& c = classes_[cls];
  c.active = true;
  c.offset = 0;
  c.committed_bottleneck = bottleneck_[cls] = kNone;
  const std::uint32_t first = first_[cls], end = first_[cls + 1];
  classes_shared_ += hop_[first] < real_links_ ? 1 : 0;
  hops_active_ += end - first;
  double least = kInfinity;
  std::uint32_t tight = 0;
  for (std::uint32_t h = first; h < end; ++h) {
    const std::uint32_t l = hop_[h];
    tight += roomy_[l] ? 0 : 1;
    if (level_[l] < least) {
      least = level_[l];
      bottleneck_[cls] = l;
    }
  }
  for (std::uint32_t h = first; h < end; ++h) {
    const std::uint32_t l = hop_[h];
    if (l >= real_links_) continue;
    LinkState& link = links_[l];
    place_[h] = static_cast<std::uint32_t>(link.active.size());
    const std::uint32_t other = end - first == 1 ? no_link_ : end - first == 2 ? hop_[first + end - 1 - h] : kNone;
    link.active.push_back({cls, other, h});
    link.several += other == kNone ? 1 : 0;
    link.tight_others += tight - (roomy_[l] ? 0 : 1);
  }
  if (end - first > 2) least_[cls] = least_of(cls);
  note_moved(cls);
}

void FluidNetwork::deactivate(std::uint32_t cls) {
  ClassState& c = classes_[cls];
  c.active = false;
  c.committed_bottleneck = bottleneck_[cls] = kNone;
  classes_shared_ -= hop_[first_[cls]] < real_links_ ? 1 : 0;
  hops_active_ -= first_[cls + 1] - first_[cls];
  std::uint32_t tight = 0;
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) tight += roomy_[hop_[h]] ? 0 : 1;
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    const std::uint32_t l = hop_[h];
    if (l >= real_links_) continue;
    LinkState& link = links_[l];
    link.several -= link.active[place_[h]].other == kNone ? 1 : 0;
    link.active[place_[h]] = link.active.back();
    place_[link.active.back().hop] = place_[h];
    link.active.pop_back();
    link.tight_others -= tight - (roomy_[l] ? 0 : 1);
    if (link.active.empty()) link.sum = 0;
  }
}

void FluidNetwork::start(Time now, RouteId route, Bytes bytes, std::uint32_t token) {
  const std::uint32_t cls = route.index();
  ClassState& c = classes_[cls];
  if (bytes.count() == 0 || first_[cls] == first_[cls + 1]) {
    STRETTO_ASSERT(instant_.empty() || instant_time_ == now, "flow of {} ps not collected at {} ps", instant_time_.ps(),
                   now.ps());
    instant_.push_back(token);
    instant_time_ = now;
    return;
  }
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) links_[hop_[h]].begun += bytes.count();
  if (!c.active) activate(cls);
  const double threshold = class_clock(c, now) + static_cast<double>(bytes.count());
  c.ends = ends_.push(c.ends, {threshold, token});
  if (c.committed_bottleneck != kNone) {
    LinkState& link = links_[c.committed_bottleneck];
    if (frozen_place_[cls] == kNone) {
      freeze(cls, link);
      note_changed(c.committed_bottleneck);
    } else if (ends_.token(c.ends) == token) {
      link.frozen.update(cls, threshold - c.offset, frozen_place_);
      note_changed(c.committed_bottleneck);
    }
  }
  add_flows(cls, 1);
}

// The class ends next on the link's clock.
void FluidNetwork::freeze(std::uint32_t cls, LinkState& link) {
  link.frozen.reserve(link.active.size());
  link.frozen.push(cls, ends_.threshold(classes_[cls].ends) - classes_[cls].offset, frozen_place_);
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
      std::int64_t ended = 0;
      while (c.ends != FlowHeaps::kEmpty && ends_.threshold(c.ends) - c.offset <= limit) {
        tokens.push_back(ends_.token(c.ends));
        c.ends = ends_.pop(c.ends);
        ++ended;
      }
      add_flows(cls, -ended);
      if (c.ends == FlowHeaps::kEmpty) {
        link.frozen.erase(cls, frozen_place_);
        if (!c.emptied) {
          c.emptied = true;
          emptied_.push_back(cls);
        }
      } else {
        link.frozen.update(cls, ends_.threshold(c.ends) - c.offset, frozen_place_);
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
  if (!(wait + static_cast<double>(link.since.ps()) < 9.2e18)) [[unlikely]]
    raise_out_of_range(fmt::format("a flow on link {} that ends {} ps after {} ps", l, wait, link.since.ps()));
  const auto rounded = static_cast<std::int64_t>(std::floor(wait + (1 - kRoundUp)));
  const std::int64_t at = std::max(now.ps(), link.since.ps() + rounded);
  if (finish_place_[l] == kNone)
    finishes_.push(l, at, finish_place_);
  else if (finishes_.top().item != l || finishes_.top().key != at)
    finishes_.update(l, at, finish_place_);
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
    link.committed_level = level_[l];
  }
  for (const std::uint32_t cls : moved_) {
    ClassState& c = classes_[cls];
    c.moved = false;
    const std::uint32_t b = c.committed_bottleneck = bottleneck_[cls];
    if (!c.active) continue;
    STRETTO_ASSERT(b != kNone && flows_[cls] > 0, "class {} without bottleneck at {} ps", cls, now.ps());
    LinkState& link = links_[b];
    if (!link.changed && link.frozen.empty()) {
      link.clock = 0;
      link.since = now;
    }
    note_changed(b);
    c.offset -= clock_at(link, now);
    freeze(cls, link);
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
    if (flows_[cls] == 0 && c.active) deactivate(cls);
  }
  emptied_.clear();
  if (to_fill_ > 0) {
    if (dirty_) {
      fill_all();
      if (method_ == Method::Adaptive && --to_fill_ == 0) prepare_relaxation();
    }
  } else if (relax_all()) {
    ++relaxed_;
  } else {
    fill_all();
    fillings_ = relaxed_ < kFillings ? std::min(2 * fillings_, kMostFillings) : kFillings;
    relaxed_ = 0;
    to_fill_ = fillings_;
  }
  dirty_ = false;
  if (!moved_.empty() || !changed_.empty()) commit(now);
}

// False if filling is the better way: the levels are then between old and new. One instant that touches everything, as
// in a cluster of equal workers, is no reason: what counts is the mean over some eight instants.
bool FluidNetwork::relax_all() {
  // Relaxing a class on a link costs some four times what filling does, which has a cost besides.
  const std::uint64_t fair = (hops_active_ + 2048) / 4, before = work_;
  const std::uint64_t most =
      method_ == Method::Relaxation ? std::numeric_limits<std::uint64_t>::max() : before + 8 * fair;
  while (worklist_head_ < worklist_.size() && work_ <= most) relax(worklist_[worklist_head_++]);
  const bool done = worklist_head_ == worklist_.size();
  for (; worklist_head_ < worklist_.size(); ++worklist_head_) links_[worklist_[worklist_head_]].marked = false;
  worklist_.clear();
  worklist_head_ = 0;
  mean_work_ = (7 * mean_work_ + (work_ - before)) / 8;
  if (method_ == Method::Relaxation || (done && mean_work_ <= fair)) return true;
  mean_work_ = 0;
  return false;
}

void FluidNetwork::set_capacity(LinkId link, double factor) {
  links_[link.index()].capacity = nominal_[link.index()] * factor;
  dirty_ = true;
  filling_.forget();
  if (to_fill_ == 0) mark(link.index());
}

std::int64_t FluidNetwork::bytes_carried(LinkId link, Time now) const {
  double left = 0;
  for (const Slot& slot : links_[link.index()].active) {
    const ClassState& c = classes_[slot.cls];
    const double clock = class_clock(c, now);
    ends_.for_each(c.ends, [&](double threshold) { left += std::max(0.0, threshold - clock); });
  }
  return links_[link.index()].begun - std::llround(left);
}

double FluidNetwork::rate(RouteId route) const {
  const std::uint32_t cls = route.index();
  return flows_[cls] > 0 ? level_[bottleneck_[cls]] : 0.0;
}

}  // namespace stretto::network
