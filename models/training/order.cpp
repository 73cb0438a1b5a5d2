// SPDX-License-Identifier: Apache-2.0
// An order in the form that the engine executes.
#include <algorithm>

#include "models/training/compile.hpp"
#include "sim/base/assert.hpp"

namespace stretto::training {

using program::ActivityId;

namespace {

channel::HandOver hand_over(plan::Discipline discipline) {
  switch (discipline) {
    case plan::Discipline::Free:
      return channel::HandOver::Free;
    case plan::Discipline::Unordered:
      return channel::HandOver::Unordered;
    case plan::Discipline::Strict:
      return channel::HandOver::Strict;
    case plan::Discipline::Priority:
      return channel::HandOver::Priority;
    case plan::Discipline::Credit:
      return channel::HandOver::Credit;
    case plan::Discipline::Window:
      return channel::HandOver::Window;
    case plan::Discipline::ChainWindow:
      return channel::HandOver::ChainWindow;
    case plan::Discipline::CreditSkip:
      return channel::HandOver::CreditSkip;
  }
  STRETTO_ASSERT(false, "discipline {}", static_cast<int>(discipline));
  return channel::HandOver::Free;
}

// Places of an alternative, spread evenly over 32 bits; equal ranks go by transfer.
std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& rank) {
  std::vector<std::uint32_t> named;
  for (std::uint32_t t = 0; t < rank.size(); ++t)
    if (rank[t] != plan::kUnranked) named.push_back(t);
  std::stable_sort(named.begin(), named.end(), [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  std::vector<std::uint32_t> place(rank.size(), program::kPassFreely);
  for (std::uint64_t i = 0; i < named.size(); ++i)
    place[named[i]] = static_cast<std::uint32_t>((2 * i + 1) * (std::uint64_t{1} << 31) / named.size());
  return place;
}

// Orders that are drawn whole from given ones, one per worker and iteration.
void compile_alternatives(const Compiled& compiled, const std::vector<ActivityId>& messages,
                          const plan::DirectionOrder& order, program::OrderTable& table) {
  STRETTO_ASSERT(table.alternatives.empty(), "{} alternatives of the other direction", table.alternatives.size());
  table.item.assign(compiled.program.size(), program::kPassFreely);
  table.draw.assign(compiled.program.channels.size(), 0);
  for (const auto& rank : order.alternatives) {
    STRETTO_ASSERT(rank.size() == compiled.transfers, "{} ranks for {} transfers", rank.size(), compiled.transfers);
    table.alternatives.push_back(spread(rank));
  }
  for (std::uint32_t w = 0; w < compiled.workers; ++w)
    for (std::uint32_t t = 0; t < compiled.transfers; ++t)
      if (const ActivityId m = messages[w * compiled.transfers + t]; m.valid()) {
        table.item[m.index()] = t;
        table.draw[compiled.program.activities[m.index()].where] = w;
      }
}

void compile_direction(const Compiled& compiled, const std::vector<ActivityId>& messages,
                       const plan::DirectionOrder& order, program::OrderTable& table) {
  const auto& activities = compiled.program.activities;
  const channel::HandOver rule = hand_over(order.discipline);
  if (rule == channel::HandOver::Free) return;
  const bool windowed = rule == channel::HandOver::Window || rule == channel::HandOver::ChainWindow;
  STRETTO_ASSERT(!windowed || order.window > 0, "window {}", order.window);
  STRETTO_ASSERT(!plan::has_credit(order.discipline) || order.credit > Bytes(), "credit {}", order.credit.count());
  for (std::uint32_t w = 0; w < compiled.workers; ++w) {
    std::uint32_t leader = program::kPassFreely;
    for (std::uint32_t t = 0; t < compiled.transfers; ++t) {
      const ActivityId m = messages[w * compiled.transfers + t];
      if (!m.valid()) continue;
      const std::uint32_t c = activities[m.index()].where;
      leader = std::min(leader, c);
      table.discipline[c] = rule;
      table.window[c] = order.window;
      table.leader[c] = leader;
      table.credit[c] = order.credit.count();
    }
    for (std::uint32_t t = 0; t < compiled.transfers; ++t)
      if (const ActivityId m = messages[w * compiled.transfers + t]; m.valid())
        table.leader[activities[m.index()].where] = leader;
  }
  if (!order.alternatives.empty()) compile_alternatives(compiled, messages, order, table);
  if (rule == channel::HandOver::Unordered) return;
  STRETTO_ASSERT(order.rank.size() == compiled.transfers, "{} ranks for {} transfers", order.rank.size(),
                 compiled.transfers);
  std::vector<std::uint32_t> by_rank;
  for (std::uint32_t t = 0; t < compiled.transfers; ++t)
    if (order.rank[t] != plan::kUnranked) by_rank.push_back(t);
  std::sort(by_rank.begin(), by_rank.end(), [&](std::uint32_t a, std::uint32_t b) {
    return order.rank[a] != order.rank[b] ? order.rank[a] < order.rank[b] : a < b;
  });
  // Priority and credits compare ranks over channels (credits) and need no dense places.
  const bool dense = rule != channel::HandOver::Priority && !plan::has_credit(order.discipline);
  for (std::uint32_t w = 0; w < compiled.workers; ++w)
    for (const std::uint32_t t : by_rank) {
      const ActivityId m = messages[w * compiled.transfers + t];
      if (!m.valid()) continue;
      const std::uint32_t place = table.ranked[activities[m.index()].where]++;
      table.rank[m.index()] = dense ? place : order.rank[t];
    }
}

// A bucket goes where its first transfer in the order goes.
plan::DirectionOrder of_buckets(const plan::Layout& layout, plan::DirectionOrder order) {
  constexpr std::uint32_t kNone = plan::kUnranked;
  std::vector<std::uint32_t> leader;  // per bucket
  for (std::uint32_t t = 0; t < layout.transfers.size(); ++t) {
    const std::uint32_t b = layout.bucket[t];
    if (b == kNone) continue;
    if (leader.size() <= b) leader.resize(b + 1, kNone);
    if (leader[b] == kNone) leader[b] = t;
    const auto lead = [&](std::vector<std::uint32_t>& rank) { rank[leader[b]] = std::min(rank[leader[b]], rank[t]); };
    if (!order.rank.empty()) lead(order.rank);
    for (auto& rank : order.alternatives) lead(rank);
  }
  return order;
}

}  // namespace

program::OrderTable compile_order(const Compiled& compiled, const plan::Layout& layout, const plan::Order& order,
                                  std::uint64_t stream) {
  STRETTO_ASSERT(layout.transfers.size() == compiled.transfers, "layout of {} transfers for {}",
                 layout.transfers.size(), compiled.transfers);
  program::OrderTable table;
  table.stream = stream;
  table.discipline.assign(compiled.program.channels.size(), channel::HandOver::Free);
  table.ranked.assign(compiled.program.channels.size(), 0);
  table.window.assign(compiled.program.channels.size(), 0);
  table.leader.assign(compiled.program.channels.size(), 0);
  table.credit.assign(compiled.program.channels.size(), 0);
  table.rank.assign(compiled.program.size(), program::kPassFreely);
  if (!compiled.op_rank.empty())
    for (std::size_t a = 0; a < compiled.labels.size(); ++a)
      if (compiled.labels[a].role == Role::Op) table.rank[a] = compiled.op_rank[compiled.labels[a].item];
  STRETTO_ASSERT(order.start_offsets.empty() || order.start_offsets.size() == compiled.workers, "{} offsets of {}",
                 order.start_offsets.size(), compiled.workers);
  for (std::uint32_t w = 0; w < order.start_offsets.size(); ++w)
    table.delayed.push_back({compiled.start[w].index(), order.start_offsets[w], !compiled.barrier});
  if (compiled.exchange == Exchange::AllReduce) {
    compile_direction(compiled, compiled.pull, of_buckets(layout, order.pull), table);
    compile_direction(compiled, compiled.push, of_buckets(layout, order.push), table);
    return table;
  }
  compile_direction(compiled, compiled.pull, order.pull, table);
  compile_direction(compiled, compiled.push, order.push, table);
  return table;
}

}  // namespace stretto::training
