// SPDX-License-Identifier: Apache-2.0
#include "io/export/byteps.hpp"

#include <fmt/format.h>

#include "io/export/scheduler_settings.hpp"

namespace stretto::io {

Exported write_byteps(const plan::Schedule& schedule, const graph::Graph& parameters) {
  SchedulerSettings s = scheduler_settings(schedule, parameters);
  const std::int64_t partition = s.partition.count();
  const std::int64_t partitions = s.credit.count() / partition + (s.credit.count() % partition > 0 ? 1 : 0);
  Exported result;
  result.text = comment("BytePS settings of the plan of " + schedule.plan.policy + " for " + schedule.workload);
  result.text +=
      fmt::format("export DMLC_NUM_SERVER={}\nexport BYTEPS_PARTITION_BYTES={}\nexport BYTEPS_SCHEDULING_CREDIT={}\n",
                  schedule.plan.layout.servers, partition, partitions);
  for (std::size_t i = 0; s.ranked && i < s.ranking.size(); ++i)
    result.text +=
        comment(fmt::format("priority {} {}", parameters.parameters[s.ranking[i]].name, -static_cast<std::int64_t>(i)));
  result.lost = std::move(s.lost);
  if (s.ranked) result.lost.emplace_back("the priorities, but as comments: they are arguments of push_pull");
  if (s.credit.count() % partition > 0)
    result.lost.push_back(fmt::format("{} bytes of credit, rounded up to whole partitions", s.credit.count()));
  if (s.credit == Bytes() && s.ranked)
    result.lost.emplace_back("the order, since BytePS schedules only with a credit, and this plan has none");
  return result;
}

}  // namespace stretto::io
