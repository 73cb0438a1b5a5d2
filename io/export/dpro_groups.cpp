// SPDX-License-Identifier: Apache-2.0
#include "io/export/dpro_groups.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/base/diagnostic.hpp"

namespace stretto::io {

Exported write_dpro_groups(const plan::Schedule& schedule, const graph::Graph& parameters) {
  const plan::Layout& layout = schedule.plan.layout;
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;  // bucket, its tensors in ascending order
  std::uint32_t tensors = 0;
  for (std::size_t p = 0; p + 1 < layout.first.size(); ++p) {
    const std::uint32_t bucket = layout.bucket[layout.first[p]];
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t)
      if (layout.bucket[t] != bucket)
        throw UserError(fmt::format("slices of variable '{}' go in several collectives, and groups hold whole tensors",
                                    escape_control(parameters.parameters[p].name)),
                        "a schedule whose variables are not cut");
    if (bucket != plan::kUnranked) groups[bucket].push_back(tensors++);
  }
  Exported result;
  bool apart = false;
  for (const auto& [bucket, group] : groups) {
    std::string text;
    for (const std::uint32_t tensor : group) text += fmt::format("{}{}", text.empty() ? "" : "+", tensor);
    result.text += fmt::format("{}    \"{}\"", result.text.empty() ? "" : ",\n", text);
    apart = apart || group.back() - group.front() + 1 != group.size();
  }
  result.text = "{\n  \"mapping\": [\n" + result.text + "\n  ]\n}\n";
  if (apart)
    result.lost.emplace_back(
        "that tensors whose numbers do not follow each other go together: dPRO's reader parts them");
  if (layout.split) result.lost.emplace_back("that sums are scattered first and gathered later");
  const plan::DirectionOrder& reduce = schedule.plan.order.push;
  if (!reduce.rank.empty()) result.lost.emplace_back("the order: dPRO's files hold partitions and groups only");
  if (reduce.credit > Bytes() || schedule.plan.order.pull.credit > Bytes()) result.lost.emplace_back("the credit");
  lose_start_offsets(schedule.plan.order, result.lost);
  return result;
}

}  // namespace stretto::io
