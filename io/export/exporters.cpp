// SPDX-License-Identifier: Apache-2.0
#include "io/export/exporters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "io/export/byteps.hpp"
#include "io/export/bytescheduler.hpp"
#include "io/export/dpro.hpp"
#include "io/export/dpro_groups.hpp"
#include "io/export/slices_csv.hpp"
#include "io/export/tictac.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

// Of a variable of all-reduce: the turn of the collective of its bucket.
Exported order_of_collectives(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Layout& layout = schedule.plan.layout;
  const plan::DirectionOrder& reduce = schedule.plan.order.push;
  if (reduce.rank.empty())
    throw UserError("collectives go as their gradients are ready, so there is no order to write",
                    "choose a policy that ranks transfers, such as fifo");
  std::map<std::uint32_t, std::uint32_t> turn;  // bucket, least rank
  for (std::uint32_t t = 0; t < layout.transfers.size(); ++t) {
    const auto [at, fresh] = turn.emplace(layout.bucket[t], reduce.rank[t]);
    if (!fresh) at->second = std::min(at->second, reduce.rank[t]);
  }
  plan::Order shown;
  for (std::uint32_t t = 0; t < layout.transfers.size(); ++t)
    shown.pull.rank.push_back(layout.bucket[t] == plan::kUnranked ? plan::kUnranked : turn[layout.bucket[t]]);
  Exported result;
  result.text = write_tictac_order(parameters, layout, shown);
  if (turn.size() < layout.transfers.size())
    result.lost.emplace_back("which variables go together, but that they have one priority");
  if (layout.split) result.lost.emplace_back("the order of the all-gathers");
  lose_start_offsets(schedule.plan.order, result.lost);
  if (reduce.discipline != plan::Discipline::Priority)
    result.lost.push_back(fmt::format("the discipline {} of the collectives: an order file is only an order",
                                      plan::traits(reduce.discipline).name));
  return result;
}

Exported order(const plan::Schedule& schedule, const graph::Graph& parameters) {
  if (!schedule.plan.layout.bucket.empty()) return order_of_collectives(schedule, parameters);
  Exported result;
  result.text = write_tictac_order(parameters, schedule.plan.layout, schedule.plan.order);
  result.lost.emplace_back("the servers of the variables");
  if (schedule.plan.order.push.discipline != plan::Discipline::Free)
    result.lost.emplace_back("the order of the pushes");
  if (schedule.plan.order.pull.discipline != plan::Discipline::Strict)
    result.lost.emplace_back(fmt::format("the discipline {} of the pulls: an order file is only an order",
                                         plan::traits(schedule.plan.order.pull.discipline).name));
  lose_start_offsets(schedule.plan.order, result.lost);
  return result;
}

constexpr std::array<Exporter, 7> kExporters{{
    {"order", "TicTac's order file: name and priority of whole variables", order},
    {"bytescheduler", "ByteScheduler's environment: partition and credit, in elements", write_bytescheduler},
    {"byteps", "BytePS's environment: partition, credit, priorities", write_byteps, false},
    {"dpro", "dPRO's partition file: variable and largest slice", write_dpro, false},
    {"dpro_groups", "dPRO's tensor groups: what an all-reduce sums together; needs --experiment", write_dpro_groups,
     true, false},
    {"csv", "one row per slice: bytes, server, ranks", write_slices_csv},
    {"perfetto", "Chrome trace of a predicted step; needs --experiment", nullptr},
}};

}  // namespace

void lose_start_offsets(const plan::Order& order, std::vector<std::string>& lost) {
  if (!order.start_offsets.empty()) lost.emplace_back("the start offsets of the workers");
}

std::span<const Exporter> exporters() { return kExporters; }

const Exporter& find_exporter(std::string_view name) {
  const auto at = std::find_if(kExporters.begin(), kExporters.end(), [&](const Exporter& e) { return e.name == name; });
  if (at != kExporters.end()) return *at;
  std::vector<std::string> names;
  for (const Exporter& e : kExporters) names.emplace_back(e.name);
  throw UserError(fmt::format("there is no export format '{}'", name), name_hint(std::string(name), names));
}

}  // namespace stretto::io
