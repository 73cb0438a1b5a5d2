// SPDX-License-Identifier: Apache-2.0
// Groups of activities that leave out an iteration.
#include "sim/base/assert.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::program {

using channel::HandOver;

bool Simulation::skips(std::uint32_t a) {
  const std::uint32_t group = program_->skip_of[a];
  if (group == StepProgram::kNoSkip) return false;
  const SkipGroup& g = program_->skips[group];
  if (g.first == a) skipped_[group] = progress_.done(g.watched) > progress_.done(a) ? 1 : 0;
  return skipped_[group] != 0;
}

// A skipped message leaves its place in the order to the next one.
void Simulation::pass_turn(std::uint32_t a) {
  const std::uint32_t c = program_->activities[a].where;
  if (order_->discipline.empty() || order_->rank.empty() || order_->rank[a] == kPassFreely) return;
  const HandOver rule = order_->discipline[c];
  if (rule == HandOver::Strict || rule == HandOver::ChainWindow) channels_[c].turns.pass();
  if (rule == HandOver::Window || rule == HandOver::ChainWindow) {
    const std::uint32_t held = channels_[c].window.arrived(order_->rank[a]);
    STRETTO_ASSERT(held == channel::WindowState::kNobody, "activity {} waits behind a skipped one", held);
  }
}

}  // namespace stretto::program
