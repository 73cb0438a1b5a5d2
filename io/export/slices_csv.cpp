// SPDX-License-Identifier: Apache-2.0
#include "io/export/slices_csv.hpp"

#include <fmt/format.h>

#include "io/export/csv.hpp"

namespace stretto::io {

namespace {

std::string rank_of(const plan::DirectionOrder& order, std::uint32_t t) {
  return order.rank.empty() || order.rank[t] == plan::kUnranked ? "" : std::to_string(order.rank[t]);
}

std::string about(const char* name, const plan::DirectionOrder& order) {
  return fmt::format("how the {} follow their ranks: {}", name,
                     plan::kDisciplineNames[static_cast<std::size_t>(order.discipline)]);
}

}  // namespace

Exported write_slices_csv(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Plan& plan = schedule.plan;
  Exported result;
  result.text = "variable,slice,bytes,server,pull_rank,push_rank\n";
  for (std::uint32_t t = 0; t < plan.layout.transfers.size(); ++t) {
    const plan::Transfer& transfer = plan.layout.transfers[t];
    result.text += fmt::format("{},{},{},{},{},{}\n", csv_cell(parameters.parameters[transfer.parameter.index()].name),
                               transfer.slice, transfer.bytes.count(), transfer.server, rank_of(plan.order.pull, t),
                               rank_of(plan.order.push, t));
  }
  result.lost = {about("pulls", plan.order.pull), about("pushes", plan.order.push)};
  if (!plan.order.pull.alternatives.empty() || !plan.order.push.alternatives.empty())
    result.lost.emplace_back("the alternatives of which each worker draws one");
  return result;
}

}  // namespace stretto::io
