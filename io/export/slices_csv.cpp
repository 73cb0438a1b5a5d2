// SPDX-License-Identifier: Apache-2.0
#include "io/export/slices_csv.hpp"

#include <fmt/format.h>

#include "io/export/csv.hpp"

namespace stretto::io {

namespace {

std::string rank_of(const plan::DirectionOrder& order, std::uint32_t t) {
  return order.rank.empty() || order.rank[t] == plan::kUnranked ? "" : std::to_string(order.rank[t]);
}

std::string bucket_of(const plan::Layout& layout, std::uint32_t t) {
  return layout.bucket[t] == plan::kUnranked ? "" : std::to_string(layout.bucket[t]);
}

std::string about(const char* name, const plan::DirectionOrder& order) {
  return fmt::format("how the {} follow their ranks: {}", name, plan::traits(order.discipline).name);
}

}  // namespace

Exported write_slices_csv(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Plan& plan = schedule.plan;
  const bool all_reduce = !plan.layout.bucket.empty();
  Exported result;
  result.text = all_reduce ? "variable,slice,bytes,bucket,gather_rank,reduce_rank\n"
                           : "variable,slice,bytes,server,pull_rank,push_rank\n";
  for (std::uint32_t t = 0; t < plan.layout.transfers.size(); ++t) {
    const plan::Transfer& transfer = plan.layout.transfers[t];
    result.text += fmt::format("{},{},{},{},{},{}\n", csv_cell(parameters.parameters[transfer.parameter.index()].name),
                               transfer.slice, transfer.bytes.count(),
                               all_reduce ? bucket_of(plan.layout, t) : std::to_string(transfer.server),
                               rank_of(plan.order.pull, t), rank_of(plan.order.push, t));
  }
  if (!all_reduce)
    result.lost = {about("pulls", plan.order.pull), about("pushes", plan.order.push)};
  else if (plan.layout.split)
    result.lost = {about("all-gathers", plan.order.pull), about("reduce-scatters", plan.order.push)};
  else
    result.lost = {about("all-reduces", plan.order.push)};
  if (!plan.order.pull.alternatives.empty() || !plan.order.push.alternatives.empty())
    result.lost.emplace_back("the alternatives of which each worker draws one");
  lose_start_offsets(plan.order, result.lost);
  return result;
}

}  // namespace stretto::io
