// SPDX-License-Identifier: Apache-2.0
// Why a simulation cannot go on.
#include <algorithm>
#include <utility>

#include "sim/program/simulation.hpp"

namespace stretto::program {

namespace {
constexpr std::size_t kMaxMissing = 8;
constexpr std::uint32_t kNotBlocked = std::numeric_limits<std::uint32_t>::max();
}  // namespace

// Blocked activities wait for one another. Those that nobody waits for are taken away, again and again; what is left is
// on cycles (or between two of them) and comes first, then what was taken away, the last first: each after something
// that it waits for, if that is blocked too.
std::vector<Blocked> Simulation::blocked(std::size_t limit) const {
  const std::uint32_t n = std::min(program_->size(), program_->background);
  std::vector<Blocked> all;
  std::vector<std::uint32_t> entry(n, kNotBlocked);
  const auto add = [&](std::uint32_t a, Blocked::Wait wait) {
    entry[a] = static_cast<std::uint32_t>(all.size());
    Blocked b;
    b.activity = ActivityId(a);
    b.iteration = progress_.done(a);
    b.wait = wait;
    all.push_back(std::move(b));
  };
  for (const channel::ChannelState& c : channels_) {
    for (const auto& item : c.turns.waiting()) add(item.activity, Blocked::Wait::Turn);
    for (const std::uint32_t a : c.window.held())
      if (a != channel::WindowState::kNobody) add(a, Blocked::Wait::Turn);
  }
  for (std::uint32_t a = 0; a < n; ++a) {
    if (progress_.done(a) >= iterations_ || progress_.open(a, progress_.done(a)) == 0) continue;
    add(a, Blocked::Wait::Predecessors);
    Blocked& b = all.back();
    b.need = program_->need(a, b.iteration);
    b.have = b.need - progress_.open(a, b.iteration);
  }
  std::sort(all.begin(), all.end(), [](const Blocked& a, const Blocked& b) { return a.activity < b.activity; });
  for (std::uint32_t i = 0; i < all.size(); ++i) entry[all[i].activity.index()] = i;

  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;  // entry, activity that it waits for
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t e = program_->activities[from].first_edge; e < program_->activities[from + 1].first_edge; ++e) {
      const std::uint32_t to = entry[program_->edges[e].to()];
      if (to != kNotBlocked && all[to].wait == Blocked::Wait::Predecessors &&
          progress_.done(from) + program_->distance(program_->edges[e]) <= all[to].iteration)
        waits.emplace_back(to, from);
    }
  for (std::uint32_t a = 0; a < n && !order_->ranked.empty() && !order_->discipline.empty(); ++a) {
    const Activity& activity = program_->activities[a];
    if (activity.kind != Kind::Message || order_->rank[a] == kPassFreely) continue;
    // Held back by the message `window` places before it.
    const channel::WindowState& window = channels_[activity.where].window;
    if (const std::size_t next = order_->rank[a] + std::size_t{window.window()};
        window.window() > 0 && next < window.held().size() && window.held()[next] != channel::WindowState::kNobody)
      waits.emplace_back(entry[window.held()[next]], a);
    const channel::TurnQueue& turns = channels_[activity.where].turns;
    const std::uint32_t ranked = order_->ranked[activity.where];
    if (ranked == 0 || order_->rank[a] != turns.next() % ranked) continue;
    for (const auto& item : turns.waiting())
      if (item.activity != a) waits.emplace_back(entry[item.activity], a);
  }
  std::sort(waits.begin(), waits.end());

  std::vector<std::uint32_t> waiters(all.size(), 0);
  std::vector<std::size_t> first(all.size() + 1, waits.size());
  for (std::size_t w = 0; w < waits.size(); ++w) {
    const auto [waiter, cause] = waits[w];
    first[waiter] = std::min(first[waiter], w);
    if (entry[cause] != kNotBlocked) ++waiters[entry[cause]];
    if (all[waiter].missing.size() < kMaxMissing) all[waiter].missing.push_back(ActivityId(cause));
  }
  for (std::size_t i = all.size(); i-- > 0;) first[i] = std::min(first[i], first[i + 1]);
  std::vector<std::uint32_t> taken;
  std::vector<bool> is_taken(all.size(), false);
  const auto take = [&](std::uint32_t i) {
    taken.push_back(i);
    is_taken[i] = true;
  };
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (waiters[i] == 0) take(i);
  for (std::size_t k = 0; k < taken.size(); ++k)
    for (std::size_t w = first[taken[k]]; w < first[taken[k] + 1]; ++w) {
      const std::uint32_t cause = entry[waits[w].second];
      if (cause != kNotBlocked && --waiters[cause] == 0) take(cause);
    }
  std::vector<Blocked> result;
  for (std::uint32_t i = 0; i < all.size() && result.size() < limit; ++i)
    if (!is_taken[i]) result.push_back(all[i]);
  for (std::size_t k = taken.size(); k-- > 0 && result.size() < limit;) result.push_back(all[taken[k]]);
  return result;
}

}  // namespace stretto::program
