// SPDX-License-Identifier: Apache-2.0
#include "io/export/bytescheduler.hpp"

#include <fmt/format.h>

#include "io/export/scheduler_settings.hpp"

namespace stretto::io {

namespace {

// Elements of 4 bytes, rounded up.
std::int64_t elements(Bytes bytes) { return bytes.count() / 4 + (bytes.count() % 4 > 0 ? 1 : 0); }

}  // namespace

Exported write_bytescheduler(const plan::Schedule& schedule, const graph::Graph& parameters) {
  SchedulerSettings s = scheduler_settings(schedule, parameters);
  Exported result;
  result.text = comment("ByteScheduler settings of the plan of " + schedule.plan.policy + " for " + schedule.workload);
  result.text += fmt::format(
      "export USE_BYTESCHEDULER=1\nexport BYTESCHEDULER_PARTITION={}\nexport BYTESCHEDULER_CREDIT={}\n"
      "export BYTESCHEDULER_CREDIT_TUNING=0\nexport BYTESCHEDULER_PARTITION_TUNING=0\n",
      elements(s.partition), elements(s.credit > Bytes() ? s.credit : s.total));
  result.lost = std::move(s.lost);
  if (s.ranked) result.lost.emplace_back("the ranks: ByteScheduler's priorities are those of the layers");
  if (s.credit == Bytes()) result.lost.emplace_back("that there is no credit: the one written never waits");
  return result;
}

}  // namespace stretto::io
