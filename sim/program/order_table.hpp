// SPDX-License-Identifier: Apache-2.0
// Order table: what a step program leaves open, apart from it so that a search over orders compiles nothing again.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/channel/channel.hpp"

namespace stretto::program {

inline constexpr std::uint32_t kPassFreely = std::numeric_limits<std::uint32_t>::max();

// A join that ends some time after all that it waits for has come: in every iteration, or only in the first; and in the
// first later still by `start`.
struct Delayed {
  std::uint32_t join = 0;
  Duration by;
  bool first_only = false;
  Duration start = {};
  bool operator==(const Delayed&) const = default;
};

struct OrderTable {
  // Per channel; empty = all Free.
  std::vector<channel::HandOver> discipline;
  // Per activity; empty = nothing ranked. Messages: place in the channel's order (Strict, windows: dense from 0;
  // Priority, Credit: any), kPassFreely for messages outside the order. Computes on a pool of rule Priority: rank.
  std::vector<std::uint32_t> rank;
  // Per channel: number of ranked messages (Strict, windows). May be empty if no channel needs it.
  std::vector<std::uint32_t> ranked;
  // Per channel, only needed if some channel has the rule. Window, ChainWindow: places, > 0.
  std::vector<std::uint32_t> window;
  // Credit: the channel whose queue and credit this channel shares (itself: leads), and the leader's bytes of credit. A
  // message goes while credit is left, then takes its bytes; they come back one latency after its arrival.
  // CreditSkip: the same, but a message goes only if the credit left holds all of it; one that is larger lets the next
  // one that fits go first.
  std::vector<std::uint32_t> leader;
  std::vector<std::int64_t> credit;
  // Unordered channels with given permutations (empty: uniform ones): in each alternative a place by item, on a scale
  // of 32 bits (kPassFreely: drawn uniformly from that scale); per activity its item (kPassFreely: none, its place is
  // drawn as in a uniform permutation); per channel the key of the draw: channels of one key draw the same alternative
  // in an iteration.
  std::vector<std::vector<std::uint32_t>> alternatives;
  std::vector<std::uint32_t> item;
  std::vector<std::uint32_t> draw;
  std::vector<Delayed> delayed;  // ascending by join
  // Stream of the draws of Unordered channels and Random pools, and per activity what tells its draws from those of
  // others; empty: its number.
  std::uint64_t stream = 0;
  std::vector<std::uint64_t> draw_id;
  std::uint64_t id(std::uint32_t activity) const { return draw_id.empty() ? activity : draw_id[activity]; }
};

}  // namespace stretto::program
