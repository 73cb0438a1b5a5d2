// SPDX-License-Identifier: Apache-2.0
// What orders ask for beyond the order of a queue: joins that end later, messages that a credit must hold.
#include <algorithm>

#include "sim/program/simulation.hpp"

namespace stretto::program {

using channel::ChannelState;
using channel::HandOver;
using engine::Phase;

// A join under an order that delays some.
void Simulation::join_ready(std::uint32_t a) {
  const auto& list = order_->delayed;
  const auto d = std::lower_bound(list.begin(), list.end(), a,
                                  [](const Delayed& delayed, std::uint32_t join) { return delayed.join < join; });
  Duration by;
  if (d != list.end() && d->join == a) {
    if (!d->first_only || progress_.done(a) == 0) by += d->by;
    if (progress_.done(a) == 0) by += d->start;
  }
  if (by == Duration())
    completed_.push_back(a);
  else
    queue_.push(now_ + by, Phase::Begin, kDelayEnd, a);
}

// The message that the channel hands over next, if any may go.
bool Simulation::next_turn(ChannelState& c, HandOver rule, std::uint32_t& activity) {
  if (rule != HandOver::CreditSkip) return may_go(c, rule) && c.turns.pop(rule, activity);
  return c.turns.pop_fitting(
      c.credit, [&](std::uint32_t a) { return program_->activities[a].amount; }, activity);
}

}  // namespace stretto::program
