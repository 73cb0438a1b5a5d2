// SPDX-License-Identifier: Apache-2.0
#include "io/export/dpro.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/diagnostic.hpp"

namespace stretto::io {

Exported write_dpro(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Layout& layout = schedule.plan.layout;
  Exported result;
  bool unequal = false;
  for (std::size_t p = 0; p + 1 < layout.first.size(); ++p) {
    const std::string& name = parameters.parameters[p].name;
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) <= 0x20; }))
      throw UserError(
          fmt::format("the name \"{}\" holds a blank or a control character, which a partition file "
                      "cannot hold",
                      name));
    Bytes largest;
    Bytes all;
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t) {
      largest = std::max(largest, layout.transfers[t].bytes);
      all += layout.transfers[t].bytes;
    }
    if (largest == Bytes()) continue;
    const std::int64_t parts = (all.count() + largest.count() - 1) / largest.count();
    unequal = unequal || parts != layout.first[p + 1] - layout.first[p];
    result.text += fmt::format("{} {}\n", name, largest.count());
  }
  if (unequal) result.lost.emplace_back("slices of unequal size of one variable");
  result.lost.emplace_back("the servers of the slices");
  if (!schedule.plan.order.pull.rank.empty() || !schedule.plan.order.push.rank.empty())
    result.lost.emplace_back("the order: dPRO's files hold partitions and groups only");
  if (schedule.plan.order.pull.credit > Bytes() || schedule.plan.order.push.credit > Bytes())
    result.lost.emplace_back("the credit");
  lose_start_offsets(schedule.plan.order, result.lost);
  return result;
}

}  // namespace stretto::io
