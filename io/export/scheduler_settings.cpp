// SPDX-License-Identifier: Apache-2.0
#include "io/export/scheduler_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "io/export/exporters.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using plan::Discipline;

bool has_credit(const plan::DirectionOrder& order) { return order.credit > Bytes(); }

// Slices of a variable but for the last differ by at most an element from the limit's equal parts?
bool one_size(const plan::Layout& layout, Bytes partition) {
  for (std::size_t p = 0; p + 1 < layout.first.size(); ++p) {
    Bytes bytes;
    const std::uint32_t count = layout.first[p + 1] - layout.first[p];
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t) bytes += layout.transfers[t].bytes;
    const std::int64_t parts = (bytes.count() + partition.count() - 1) / partition.count();
    if (count != parts) return false;
  }
  return true;
}

}  // namespace

std::string comment(const std::string& text) { return "# " + escape_control(text) + "\n"; }

SchedulerSettings scheduler_settings(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Layout& layout = schedule.plan.layout;
  const plan::Order& order = schedule.plan.order;
  SchedulerSettings s;
  for (const plan::Transfer& t : layout.transfers) {
    s.partition = std::max(s.partition, t.bytes);
    s.total += t.bytes;
  }
  if (s.partition == Bytes()) throw UserError("the schedule has no slices, so there is nothing to set");
  s.credit = std::max(order.pull.credit, order.push.credit);
  const plan::DirectionOrder& by = order.push.rank.empty() ? order.pull : order.push;
  s.ranked = !by.rank.empty();
  std::vector<std::uint32_t> rank(parameters.parameters.size(), plan::kUnranked);
  for (std::uint32_t t = 0; s.ranked && t < layout.transfers.size(); ++t) {
    std::uint32_t& least = rank[layout.transfers[t].parameter.index()];
    least = std::min(least, by.rank[t]);
  }
  for (std::uint32_t p = 0; p < rank.size(); ++p) s.ranking.push_back(p);
  std::stable_sort(s.ranking.begin(), s.ranking.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  if (!one_size(layout, s.partition))
    s.lost.push_back(fmt::format("slices smaller than {} bytes of variables that are larger: there is one size for all",
                                 s.partition.count()));
  if (layout.bucket.empty()) {
    s.lost.emplace_back("the servers of the slices");
  } else {
    if (std::set<std::uint32_t>(layout.bucket.begin(), layout.bucket.end()).size() < layout.bucket.size())
      s.lost.emplace_back("which slices go together: each has a collective of its own");
    if (layout.split) s.lost.emplace_back("that sums are scattered first and gathered later");
  }
  if (has_credit(order.pull) && has_credit(order.push) && order.pull.credit != order.push.credit)
    s.lost.emplace_back("that pulls and pushes have credits of their own");
  if (!order.pull.rank.empty() && !order.push.rank.empty() && order.pull.rank != order.push.rank)
    s.lost.emplace_back("the ranks of the pulls, which differ from those of the pushes");
  lose_start_offsets(order, s.lost);
  for (const bool push : {false, true}) {
    const plan::DirectionOrder& d = push ? order.push : order.pull;
    if (d.discipline == Discipline::Strict || d.discipline == Discipline::Window ||
        d.discipline == Discipline::ChainWindow)
      s.lost.push_back(fmt::format("that {} wait for those before them (discipline {})",
                                   !layout.bucket.empty() ? "collectives"
                                   : push                 ? "pushes"
                                                          : "pulls",
                                   plan::traits(d.discipline).name));
  }
  return s;
}

}  // namespace stretto::io
