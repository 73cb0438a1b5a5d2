// SPDX-License-Identifier: Apache-2.0
// ByteScheduler's settings as lines for a shell: BYTESCHEDULER_PARTITION and BYTESCHEDULER_CREDIT count elements of 4
// bytes, tuning is off. Its priorities are those of the layers, which it takes from the framework: the order of a plan
// is left out. A plan without credit gets one for all of its elements, which never waits.
#pragma once

#include "io/export/exporters.hpp"

namespace stretto::io {

Exported write_bytescheduler(const plan::Schedule& schedule, const graph::Graph& parameters);

}  // namespace stretto::io
