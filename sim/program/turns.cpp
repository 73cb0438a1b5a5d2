// SPDX-License-Identifier: Apache-2.0
// Waiting for a turn on a channel, and giving a stream back.
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::program {

using channel::ChannelState;
using channel::HandOver;
using engine::Phase;

namespace {
constexpr std::uint64_t kAlternative = 1;  // keeps the draws of alternatives apart from those of messages
}  // namespace

void Simulation::wait_for_turn(std::uint32_t a, HandOver rule) {
  const std::uint32_t c = program_->activities[a].where;
  switch (rule) {
    case HandOver::Free:
      break;
    case HandOver::Unordered:
    case HandOver::Strict:
    case HandOver::ChainWindow:
    case HandOver::Priority:
      queue_turn(c, turn_key(rule, c, a), a);
      break;
    case HandOver::Credit:
    case HandOver::CreditSkip:
      queue_turn(order_->leader[c], turn_key(rule, c, a), a);
      break;
    case HandOver::Window:
      if (channels_[c].window.open(order_->rank[a], progress_.done(a)))
        queue_turn(c, random_key(a), a);
      else
        channels_[c].window.hold(order_->rank[a], a);
      break;
  }
}

// Place of a message in the queue of its channel (Credit, CreditSkip: of its leader).
std::uint64_t Simulation::turn_key(HandOver rule, std::uint32_t c, std::uint32_t a) const {
  const std::uint64_t iteration = progress_.done(a);
  switch (rule) {
    case HandOver::Strict:
    case HandOver::ChainWindow:
      return iteration * order_->ranked[c] + order_->rank[a];
    case HandOver::Priority:
    case HandOver::Credit:
    case HandOver::CreditSkip:
      return (iteration << 32) | order_->rank[a];
    case HandOver::Free:
    case HandOver::Unordered:
    case HandOver::Window:
      break;
  }
  return random_key(a);
}

void Simulation::reorder(const OrderTable& order) {
  STRETTO_ASSERT(order.discipline == order_->discipline && order.ranked == order_->ranked &&
                     order.leader == order_->leader && order.rank.size() == order_->rank.size() &&
                     order.delayed == order_->delayed,
                 "the order differs in more than ranks");
  order_ = &order;
  for (std::uint32_t c = 0; c < channels_.size() && !order.discipline.empty(); ++c) {
    const HandOver rule = order.discipline[c];
    if (rule == HandOver::Free) continue;
    const auto key_of = [&](std::uint32_t a) { return turn_key(rule, c, a); };
    channels_[c].turns.rekey(key_of);
    channels_[c].wire.rekey(key_of);
  }
}

// Messages that may go at the same instant go in random order, fresh in each iteration.
std::uint64_t Simulation::random_key(std::uint32_t a) const {
  const std::uint64_t iteration = static_cast<std::uint64_t>(progress_.done(a)) << 40;
  const std::uint64_t place = hash_draw(order_->stream, progress_.done(a), order_->id(a));
  if (order_->alternatives.empty() || order_->item[a] == kPassFreely) return iteration | (place >> 24);
  const std::uint32_t c = program_->activities[a].where;
  const auto& ranks = order_->alternatives[hash_draw(order_->stream, progress_.done(a), order_->draw[c], kAlternative) %
                                           order_->alternatives.size()];
  const std::uint32_t rank = ranks[order_->item[a]];
  return iteration | (rank != kPassFreely ? rank : place >> 32);
}

// What a channel's rule asks for beyond the order of its queue.
bool Simulation::may_go(const ChannelState& c, HandOver rule) const {
  if (rule == HandOver::Credit) return c.credit > 0;
  if (rule == HandOver::Priority && !c.turns.empty()) {
    const std::uint32_t most = program_->channels[program_->activities[c.turns.first()].where].open_at_a_time;
    return most == 0 || c.moving < most;
  }
  if (rule != HandOver::ChainWindow || c.turns.empty()) return true;
  const std::uint32_t first = c.turns.first();
  return c.window.open(order_->rank[first], progress_.done(first));
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

void Simulation::notify(std::uint32_t a) {
  if (order_->discipline.empty()) return;
  const std::uint32_t c = program_->activities[a].where;
  const HandOver rule = order_->discipline[c];
  if (rule != HandOver::Credit && rule != HandOver::CreditSkip && rule != HandOver::Window &&
      rule != HandOver::ChainWindow)
    return;
  if (order_->rank[a] == kPassFreely) return;
  queue_.push(now_ + program_->channels[c].latency, Phase::Begin, kNotice, a);
}

void Simulation::notice(std::uint32_t a) {
  const std::uint32_t c = program_->activities[a].where;
  switch (order_->discipline[c]) {
    case HandOver::Credit:
    case HandOver::CreditSkip:
      channels_[order_->leader[c]].credit += program_->activities[a].amount;
      ask_for_turn(order_->leader[c]);
      break;
    case HandOver::Window:
      if (const std::uint32_t held = channels_[c].window.arrived(order_->rank[a]);
          held != channel::WindowState::kNobody)
        queue_turn(c, random_key(held), held);
      break;
    case HandOver::ChainWindow:
      channels_[c].window.arrived(order_->rank[a]);
      ask_for_turn(c);
      break;
    default:
      STRETTO_ASSERT(false, "notice of activity {} on channel {}", a, c);
  }
}

void Simulation::end_span(std::uint32_t span) {
  const std::uint32_t c = program_->activities[span].where;
  --channels_[c].moving;
  if (program_->channels[c].streams != 0) try_move(c);
  if (program_->channels[c].open_at_a_time != 0 && !order_->discipline.empty()) ask_for_turn(c);
  notify(span);
}

}  // namespace stretto::program
