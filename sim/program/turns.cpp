// SPDX-License-Identifier: Apache-2.0
// Waiting for a turn on a channel, and giving a stream back.
#include "sim/program/simulation.hpp"

namespace stretto::program {

using channel::ChannelState;
using channel::HandOver;

// What a channel's rule asks for beyond the order of its queue.
bool Simulation::may_go(const ChannelState& c, HandOver rule) const {
  if (rule == HandOver::Credit) return c.credit > 0;
  if (rule == HandOver::Priority && !c.turns.empty()) {
    const std::uint32_t most = program_->channels[program_->activities[c.turns.first()].where].open_at_a_time;
    return most == 0 || c.moving < most;
  }
  if (rule != HandOver::ChainWindow || c.turns.empty()) return true;
  const std::uint32_t first = c.turns.first();
  return c.window.open(order_->rank[first], done_[first]);
}

void Simulation::queue_turn(std::uint32_t c, std::uint64_t key, std::uint32_t a) {
  channels_[c].turns.push({key, a});
  ask_for_turn(c);
}

void Simulation::ask_for_turn(std::uint32_t c) {
  if (channels_[c].in_dispatch) return;
  channels_[c].in_dispatch = true;
  channel_dispatch_.push_back(c);
}

void Simulation::end_span(std::uint32_t span) {
  const std::uint32_t c = program_->activities[span].where;
  --channels_[c].moving;
  if (program_->channels[c].streams != 0) try_move(c);
  if (program_->channels[c].open_at_a_time != 0 && !order_->discipline.empty()) ask_for_turn(c);
  notify(span);
}

}  // namespace stretto::program
