// SPDX-License-Identifier: Apache-2.0
// Levels of FluidNetwork by progressive filling of all links, and the way back to relaxation.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/base/assert.hpp"
#include "sim/network/fluid.hpp"

namespace stretto::network {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();
}  // namespace

// Buckets by the leading bits of the level, so many to an octave: positive doubles are ordered as their bits are.
std::uint32_t FluidNetwork::Filling::bucket_of(double level) const {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(level);
  return bits <= least_bits
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>((bits - least_bits) >> kShift, kBuckets - 1));
}

void FluidNetwork::Filling::put(std::uint32_t link, double level) {
  const std::uint32_t b = bucket_of(level);
  after[link] = first[b];
  first[b] = link;
  share[link] = level;
}

// Pseudo-links keep no lists of their own. A class that is on nothing else has its rate since it became active.
void FluidNetwork::list_capped() {
  filling_.capped.resize(links_.size() - real_links_);
  if (filling_.capped.empty()) return;
  for (auto& classes : filling_.capped) classes.clear();
  for (std::uint32_t l = 0; l < real_links_; ++l)
    for (const Slot& slot : links_[l].active) {
      const std::uint32_t last = hop_[first_[slot.cls + 1] - 1];
      if (slot.hop == first_[slot.cls] && last >= real_links_) filling_.capped[last - real_links_].push_back(slot.cls);
    }
}

void FluidNetwork::set_level(std::uint32_t l, double level) {
  const double before = level_[l];
  if (level == before) return;
  if (level != kInfinity && before != kInfinity && std::abs(level - before) <= kSame * before) return;
  level_[l] = level;
  note_changed(l);
}

// The flows that started and ended since the last filling change nothing in it up to a level if their classes are not
// frozen there and no link of theirs, with its flows of now, has a share below it: shares only rise while classes are
// frozen, so the link was not full before either. Takes that filling back to the last such stage; the level of it.
double FluidNetwork::resume() {
  Filling& f = filling_;
  std::size_t untouched = f.order.size();
  for (const Touched& t : f.touched)
    if (f.frozen[t.cls]) untouched = std::min<std::size_t>(untouched, f.position[t.cls]);
  while (f.stages > 0 && f.stage[f.stages - 1].classes > untouched) --f.stages;
  for (std::size_t s = 0; s < f.stages; ++s)
    for (const Touched& t : f.touched)
      for (std::uint32_t h = first_[t.cls]; h < first_[t.cls + 1]; ++h) f.stage[s].open[hop_[h]].flows += t.flows;
  const auto holds = [&](const Stage& stage) {
    for (const Touched& t : f.touched)
      for (std::uint32_t h = first_[t.cls]; h < first_[t.cls + 1]; ++h) {
        const std::uint32_t l = hop_[h];
        if (l >= real_links_ ? links_[l].capacity < stage.level
                             : stage.open[l].room < stage.level * stage.open[l].flows)
          return false;
      }
    return true;
  };
  while (f.stages > 0 && !holds(f.stage[f.stages - 1])) --f.stages;
  f.touched.clear();
  f.thaw(f.stages == 0 ? 0 : f.stage[f.stages - 1].classes);
  if (f.stages == 0) {
    f.full.clear();
    for (std::uint32_t l = 0; l < links_.size(); ++l)
      f.open[l] = {links_[l].capacity, static_cast<double>(links_[l].flows)};
    return 0;
  }
  ++resumed_solves_;
  const Stage& stage = f.stage[f.stages - 1];
  f.full.resize(stage.links);
  f.open = stage.open;
  return stage.level;
}

// All rates grow together; the link with the least share, room / flows that still grow, is full next. Shares only rise
// while classes are frozen, so an old one is a bound: links wait in buckets of like shares, and only the links of the
// bucket at hand are kept in order and computed again. Costs hops of active classes, and little per link.
void FluidNetwork::fill_all() {
  ++full_solves_;
  Filling& f = filling_;
  f.begin(links_.size(), classes_.size());
  list_capped();
  double reached = resume(), least = kInfinity;
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    const bool real = l < real_links_;
    f.share[l] = kInfinity;
    if (real ? f.open[l].flows > 0 : !f.capped[l - real_links_].empty())
      f.share[l] = real ? f.open[l].room / f.open[l].flows : links_[l].capacity;
    least = std::min(least, f.share[l]);
  }
  for (const std::uint32_t l : f.full) f.share[l] = -1;
  f.least_bits = std::bit_cast<std::uint64_t>(least);
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    if (f.share[l] == kInfinity && l < real_links_)
      set_level(l, kInfinity);
    else if (f.share[l] >= 0 && f.share[l] != kInfinity)
      f.put(l, f.share[l]);
  }
  const auto later = [](const Share& a, const Share& b) { return a.level > b.level; };
  std::uint64_t left = classes_shared_ - f.order.size();
  const std::size_t step = classes_shared_ / Filling::kStages + 1;
  std::uint32_t bucket = 0;
  // Into the heap if its share is still in this bucket.
  const auto take = [&](std::uint32_t l) {
    if (l < real_links_) {
      if (f.open[l].flows == 0) return set_level(l, kInfinity);
      f.share[l] = std::max(f.share[l], f.open[l].room / f.open[l].flows);
      if (f.bucket_of(f.share[l]) > bucket) return f.put(l, f.share[l]);
    }
    f.heap.push_back({f.share[l], l});
    std::push_heap(f.heap.begin(), f.heap.end(), later);
  };
  for (; left > 0; ++bucket) {
    STRETTO_ASSERT(bucket < Filling::kBuckets, "{} classes without a full link", left);
    while (f.first[bucket] != kNoLink) {
      const std::uint32_t l = f.first[bucket];
      f.first[bucket] = f.after[l];
      take(l);
    }
    while (!f.heap.empty()) {
      const auto [known, l] = f.heap.front();
      std::pop_heap(f.heap.begin(), f.heap.end(), later);
      f.heap.pop_back();
      const bool real = l < real_links_;
      if (real && (f.open[l].flows == 0 || f.open[l].room / f.open[l].flows > known)) {
        take(l);
        continue;
      }
      if (f.order.size() >= (f.stages == 0 ? 0 : f.stage[f.stages - 1].classes) + step) f.keep_stage(reached);
      reached = std::max(reached, known);
      if (real) {
        set_level(l, reached);
        f.full.push_back(l);
      }
      const std::size_t freezing = real ? f.collect(links_[l].active) : f.capped[l - real_links_].size();
      const std::vector<std::uint32_t>& here = real ? f.freezing : f.capped[l - real_links_];
      for (std::size_t i = 0; i < freezing; ++i) {
        const std::uint32_t cls = here[i];
        if (f.frozen[cls]) continue;
        f.frozen[cls] = 1;
        f.position[cls] = static_cast<std::uint32_t>(f.order.size());
        f.order.push_back(cls);
        --left;
        if (bottleneck_[cls] != l) {
          bottleneck_[cls] = l;
          note_moved(cls);
        }
        const double flows = flows_[cls], rate = level_[l] * flows;
        for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
          f.open[hop_[h]].room -= rate;
          f.open[hop_[h]].flows -= flows;
        }
      }
    }
  }
  for (; bucket < Filling::kBuckets; ++bucket)
    for (std::uint32_t l = f.first[bucket]; l != kNoLink; l = f.after[l])
      if (l < real_links_) set_level(l, kInfinity);
}

void FluidNetwork::Filling::begin(std::size_t links, std::size_t classes) {
  open.resize(links);
  share.resize(links);
  after.resize(links);
  frozen.resize(classes);
  position.resize(classes);
  first.assign(kBuckets, kNoLink);
}

// The classes that are not frozen, without a branch for each: which ones are is hard to foretell.
std::size_t FluidNetwork::Filling::collect(const std::vector<Slot>& slots) {
  if (freezing.size() < slots.size()) freezing.resize(slots.size());
  std::size_t n = 0;
  for (const Slot& slot : slots) {
    freezing[n] = slot.cls;
    n += frozen[slot.cls] ^ 1U;
  }
  return n;
}

// Only the first `classes` stay frozen.
void FluidNetwork::Filling::thaw(std::size_t classes) {
  for (std::size_t i = classes; i < order.size(); ++i) frozen[order[i]] = 0;
  order.resize(classes);
}

void FluidNetwork::Filling::keep_stage(double level) {
  if (stages == stage.size()) stage.emplace_back();
  Stage& next = stage[stages++];
  next.level = level;
  next.classes = order.size();
  next.links = full.size();
  next.open = open;
}

// The next filling begins with all links empty.
void FluidNetwork::Filling::forget() {
  stages = 0;
  thaw(0);
  touched.clear();
}

// Filling keeps no reservations and no least levels.
void FluidNetwork::prepare_relaxation() {
  filling_.forget();
  for (std::uint32_t l = 0; l < real_links_; ++l)
    if (level_[l] != kInfinity) reserved_[l] = kReserve * level_[l];
  for (std::uint32_t l = 0; l < real_links_; ++l) {
    links_[l].tight_others = 0;
    roomy_[l] = sum_fits(l);
  }
  for (std::uint32_t l = 0; l < real_links_; ++l)
    for (const Slot& slot : links_[l].active) {
      const std::uint32_t cls = slot.cls;
      for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h)
        if (h != slot.hop && !roomy_[hop_[h]]) ++links_[l].tight_others;
      if (slot.hop == first_[cls] && first_[cls + 1] - first_[cls] > 2) least_[cls] = least_of(cls);
    }
}

}  // namespace stretto::network
