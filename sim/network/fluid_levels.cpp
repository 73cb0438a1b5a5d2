// SPDX-License-Identifier: Apache-2.0
// Levels of FluidNetwork by relaxation of single links.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/network/fluid.hpp"

namespace stretto::network {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A reservation is renewed when the level outgrows it or falls below half of it.
constexpr double kTooMuch = 0.5;
}  // namespace

template <class Function>
void FluidNetwork::for_other_links(const Slot& slot, std::uint32_t link, Function&& function) const {
  if (slot.other != kNone) {
    if (slot.other < real_links_) function(slot.other);
    return;
  }
  for (std::uint32_t h = first_[slot.cls]; h < first_[slot.cls + 1]; ++h)
    if (hop_[h] != link && hop_[h] < real_links_) function(hop_[h]);
}

// Adds up the reservations on a link that is not full, and says whether they fit.
std::uint8_t FluidNetwork::sum_fits(std::uint32_t l) {
  if (level_[l] != kInfinity) return 0;
  LinkState& link = links_[l];
  link.sum = 0;
  for (const Slot& slot : link.active)
    if (bottleneck_[slot.cls] != kNone) link.sum += reserved_[bottleneck_[slot.cls]] * flows_[slot.cls];
  return link.sum <= link.capacity * (1 + kFull) ? 1 : 0;
}

// Whether the link's sum of reservations fits; those who count on it are told.
void FluidNetwork::set_roomy(std::uint32_t l) {
  const LinkState& link = links_[l];
  const std::uint8_t roomy = sum_fits(l);
  if (roomy == roomy_[l]) return;
  roomy_[l] = roomy;
  for (const Slot& slot : link.active)
    for_other_links(slot, l, [&](std::uint32_t k) { links_[k].tight_others += roomy ? -1U : 1U; });
}

// Solves sum of weight_ * min(other_, L) = capacity, by Newton's method: the left side is concave and piecewise linear,
// so from the second step on L rises, and it stops after finitely many.
double FluidNetwork::fill(const LinkState& link, double guess) const {
  const std::size_t n = link.active.size();
  const double equal = link.capacity / static_cast<double>(link.flows);  // the solution is no less
  double level = guess == kInfinity ? equal : std::max(guess, equal);
  for (bool first = true;; first = false) {
    // Rates of those that other links hold below the level, and flows of the rest; four sums hide the latency of
    // adding.
    double held_by[4] = {};
    double open_by[4] = {};
    for (std::size_t i = 0; i < n; i += 4)
      for (std::size_t k = 0; k < 4; ++k) {
        const bool below = other_[i + k] < level;
        held_by[k] += below ? weight_[i + k] * other_[i + k] : 0.0;
        open_by[k] += below ? 0.0 : weight_[i + k];
      }
    const double held = (held_by[0] + held_by[1]) + (held_by[2] + held_by[3]);
    const double open = (open_by[0] + open_by[1]) + (open_by[2] + open_by[3]);
    if (open == 0) {
      if (held <= link.capacity || !first) return kInfinity;
      level = equal;
      continue;
    }
    const double next = std::max((link.capacity - held) / open, equal);
    if (next == level || (next < level && !first)) return level;
    level = next;
  }
}

// A link of the class, other than `link`, that has the level; the present bottleneck if it does.
std::uint32_t FluidNetwork::bottleneck_besides(const Slot& slot, std::uint32_t link, double level) const {
  if (slot.other != kNone) return slot.other;
  const std::uint32_t cls = slot.cls;
  const std::uint32_t present = bottleneck_[cls];
  if (present != kNone && present != link && level_[present] == level) return present;
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h)
    if (hop_[h] != link && level_[hop_[h]] == level) return hop_[h];
  return kNone;
}

// All other links of its classes are roomy: everyone is frozen here, and nobody needs to know unless the reservation
// must change.
bool FluidNetwork::relax_alone(std::uint32_t l) {
  LinkState& link = links_[l];
  if (link.tight_others > 0 || level_[l] == kInfinity || link.flows == 0) return false;
  const double level = link.capacity / static_cast<double>(link.flows);
  if (level > reserved_[l] || level < kTooMuch * reserved_[l]) return false;
  if (level != level_[l]) {
    level_[l] = level;
    note_changed(l);
    if (link.several > 0)
      for (const Slot& slot : link.active)
        if (slot.other == kNone) least_[slot.cls] = {level, kInfinity};
  }
  return true;
}

FluidNetwork::Least FluidNetwork::least_of(std::uint32_t cls) const {
  Least least{kInfinity, kInfinity};
  for (std::uint32_t h = first_[cls]; h < first_[cls + 1]; ++h) {
    const double level = level_[hop_[h]];
    least.second = std::min(least.second, std::max(least.first, level));
    least.first = std::min(least.first, level);
  }
  return least;
}

void FluidNetwork::relax(std::uint32_t l) {
  LinkState& link = links_[l];
  link.marked = false;
  ++relaxations_;
  ++work_;
  if (relax_alone(l)) return;
  const std::size_t n = link.active.size();
  work_ += n;
  // Padded to a multiple of four with nobody.
  if (other_.size() < n + 3) {
    other_.resize(n + 3);
    weight_.resize(n + 3);
  }
  std::fill_n(other_.begin() + static_cast<std::ptrdiff_t>(n), 3, 0.0);
  std::fill_n(weight_.begin() + static_cast<std::ptrdiff_t>(n), 3, 0.0);
  const double before = level_[l];
  for (std::size_t i = 0; i < n; ++i) {
    const Slot& slot = link.active[i];
    weight_[i] = flows_[slot.cls];
    if (slot.other != kNone) {
      other_[i] = level_[slot.other];
      continue;
    }
    const Least& least = least_[slot.cls];
    other_[i] = least.first == before ? least.second : least.first;
  }
  double level = n == 0 ? kInfinity : fill(link, before);
  if (level != kInfinity && before != kInfinity && std::abs(level - before) <= kSame * before) return;
  if (level == before) {  // not full, before and now
    set_roomy(l);
    return;
  }
  level_[l] = level;
  note_changed(l);
  const double reserved_before = reserved_[l];
  if (level != kInfinity && (level > reserved_before || level < kTooMuch * reserved_before))
    reserved_[l] = kReserve * level;
  for (std::size_t i = 0; i < n; ++i) {
    const Slot& slot = link.active[i];
    if (slot.other == kNone) {
      Least& least = least_[slot.cls];
      if (level <= other_[i])
        least = {level, other_[i]};
      else if (before > least.second)
        least.second = std::min(least.second, level);
      else
        least = least_of(slot.cls);
    }
    if (other_[i] < level && other_[i] < before) continue;  // frozen elsewhere, before and now: nobody's concern
    const std::uint32_t was = bottleneck_[slot.cls];
    std::uint32_t b = l;
    if (other_[i] < level || (other_[i] == level && was != l)) b = bottleneck_besides(slot, l, other_[i]);
    const double counted = was == kNone ? 0.0 : was == l ? reserved_before : reserved_[was];
    const double more = (reserved_[b] - counted) * flows_[slot.cls];
    if (b != was) {
      bottleneck_[slot.cls] = b;
      note_moved(slot.cls);
    }
    for_other_links(slot, l, [&](std::uint32_t k) {
      if (!roomy_[k]) {
        // What the class may take there is the least of its other levels; above the link's own it makes no difference.
        if (std::min(before, level_[k]) != std::min(level, level_[k])) mark(k);
      } else if (more != 0) {
        reserve(k, more);
      }
    });
  }
  set_roomy(l);
}

}  // namespace stretto::network
