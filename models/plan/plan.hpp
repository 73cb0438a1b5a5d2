// SPDX-License-Identifier: Apache-2.0
// Transfer plan = layout + order, as plain data. A layout (placement, partition) changes the step program; an order
// (ranks, discipline) does not. Policies, files and the search all produce plans; the engine executes them and knows no
// policy by name. See docs/model.md, section 5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"
#include "sim/base/units.hpp"

namespace stretto::plan {

inline constexpr std::uint32_t kUnranked = std::numeric_limits<std::uint32_t>::max();

// One slice of one parameter: what a message carries. A parameter that is not cut has one transfer, slice 0.
struct Transfer {
  graph::ParameterId parameter;
  std::uint32_t slice = 0;
  Bytes bytes;
  std::uint32_t server = 0;  // index of the parameter server process
};

// Where every parameter lives and how it is cut; for all-reduce, what goes together (all on one nominal server).
// Transfers are grouped by parameter in graph order, slices ascending;
// first[p] .. first[p + 1] are the transfers of parameter p.
struct Layout {
  std::uint32_t servers = 1;
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> first;  // parameters + 1 entries
  // All-reduce: per transfer its bucket, numbered from 0 without gaps; kUnranked without a gradient. Else empty.
  std::vector<std::uint32_t> bucket = {};
  bool split = false;  // All-reduce: a reduce-scatter and later an all-gather in place of each all-reduce
};

// How the sender of one direction hands messages of a channel to the network.
//   Free       when ready, in order of becoming ready
//   Unordered  when ready; those ready together in one random permutation per worker and iteration: uniform, or one of
//              the given alternatives
//   Strict     by rank; waits for every lower rank of the channel to be handed over, ready or not
//   Priority   the least ready rank, never waits
//   Credit     as Priority while credit is left; a message takes its bytes, which come back one latency after its
//              arrival (so it overshoots by up to one message). One credit per worker and direction, over all servers
//   Window     not before the message `window` ranks before it on the same channel has arrived and the sender knows
//              (one latency later); those that may go together go in random order (what an unmodified TensorFlow
//              enforces)
//   ChainWindow  as Window, and not before the message of the rank before it has been handed over
//   CreditSkip  the least ready rank that the credit left holds all of: larger ones are skipped, not waited for
enum class Discipline : std::uint8_t { Free, Unordered, Strict, Priority, Credit, Window, ChainWindow, CreditSkip };

// What disciplines have in common, in the order of the enum.
struct DisciplineTraits {
  std::string_view name;  // in files
  bool ranks = false;     // goes by ranks
  bool credit = false;    // holds back under a credit, one over all servers
  bool window = false;    // holds back until earlier messages have arrived
  bool random = false;    // what may go together goes in random order
};
inline constexpr std::array<DisciplineTraits, 8> kDisciplines{{
    {.name = "free"},
    {.name = "unordered", .random = true},
    {.name = "strict", .ranks = true},
    {.name = "priority", .ranks = true},
    {.name = "credit", .ranks = true, .credit = true},
    {.name = "window", .ranks = true, .window = true, .random = true},
    {.name = "chain_window", .ranks = true, .window = true},
    {.name = "credit_skip", .ranks = true, .credit = true},
}};
constexpr const DisciplineTraits& traits(Discipline d) { return kDisciplines[static_cast<std::size_t>(d)]; }
constexpr bool has_credit(Discipline d) { return traits(d).credit; }
constexpr bool has_window(Discipline d) { return traits(d).window; }

inline std::optional<Discipline> find_discipline(std::string_view name) {
  for (std::size_t d = 0; d < kDisciplines.size(); ++d)
    if (kDisciplines[d].name == name) return static_cast<Discipline>(d);
  return std::nullopt;
}

struct DirectionOrder {
  Discipline discipline = Discipline::Free;
  // Per transfer of the layout (global; renumbered per channel when compiled); kUnranked passes freely.
  // Empty for Free and Unordered.
  std::vector<std::uint32_t> rank;
  Bytes credit;              // Credit: > 0; CreditSkip: holds the largest ranked transfer
  std::uint32_t window = 0;  // Window and ChainWindow only, > 0
  // Unordered only: rank per transfer in each alternative, of which every worker draws one in each iteration; equal
  // ranks go by transfer, a transfer without rank (kUnranked) takes a random place. Empty: uniform permutations. One
  // direction only.
  std::vector<std::vector<std::uint32_t>> alternatives = {};
};

// CreditSkip: the first ranked transfer that is larger than the credit and so could never go.
inline std::optional<std::uint32_t> too_large_for_credit(const Layout& layout, const DirectionOrder& order) {
  if (order.discipline != Discipline::CreditSkip) return std::nullopt;
  for (std::uint32_t t = 0; t < layout.transfers.size() && t < order.rank.size(); ++t)
    if (order.rank[t] != kUnranked && layout.transfers[t].bytes > order.credit) return t;
  return std::nullopt;
}

struct Order {
  DirectionOrder pull;
  DirectionOrder push;
  // Per worker, >= 0; empty: none. With a barrier (and backup workers) every step of the worker starts so much later
  // than it could; without one only its first step.
  std::vector<Duration> start_offsets = {};
};

struct Plan {
  std::string policy;  // name of what made it
  Layout layout;
  Order order;
};

}  // namespace stretto::plan
