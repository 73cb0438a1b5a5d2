// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/plan/drawn.hpp"

namespace stretto::check {

std::string transfer_name(const Job& job, std::uint32_t t) {
  const plan::Transfer& transfer = job.layout.transfers[t];
  const std::size_t p = transfer.parameter.index();
  const std::string& name = job.graph.parameters[p].name;
  return job.layout.first[p + 1] - job.layout.first[p] > 1 ? fmt::format("{} slice {}", name, transfer.slice) : name;
}

std::vector<std::uint32_t> places(const Job& job, bool push) {
  const plan::DirectionOrder& order = job.direction(push);
  std::vector<std::uint32_t> place(job.layout.transfers.size(), plan::kUnranked);
  if (!plan::traits(order.discipline).ranks) return place;
  std::vector<std::uint32_t> by_rank;
  for (std::uint32_t t = 0; t < place.size(); ++t)
    if (order.rank[t] != plan::kUnranked && (!push || job.pushed(t))) by_rank.push_back(t);
  std::sort(by_rank.begin(), by_rank.end(), [&](std::uint32_t a, std::uint32_t b) {
    return order.rank[a] != order.rank[b] ? order.rank[a] < order.rank[b] : a < b;
  });
  std::vector<std::uint32_t> next(job.servers.size(), 0);
  for (const std::uint32_t t : by_rank) place[t] = next[job.layout.transfers[t].server]++;
  return place;
}

std::string why_no_replay(const AnyJob& job, const std::vector<const plan::DirectionOrder*>& orders) {
  if (!job.in_turn) return "devices that take ops in another order than that of becoming ready are not replayed";
  if (!job.fluid) return "links that store and forward are not replayed";
  for (const plan::DirectionOrder* order : orders)
    if (plan::drawn(*order))
      return plan::has_window(order->discipline) ? "what a window lets go together goes in an order that is drawn"
                                                 : "the order is drawn anew in each step";
  return "";
}

}  // namespace stretto::check
