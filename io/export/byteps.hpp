// SPDX-License-Identifier: Apache-2.0
// BytePS's settings as lines for a shell: BYTEPS_PARTITION_BYTES in bytes, BYTEPS_SCHEDULING_CREDIT in partitions (0
// turns scheduling off), DMLC_NUM_SERVER. Priorities stand in comments, "priority NAME VALUE", largest first on the
// wire: they are arguments of push_pull, one call per variable.
#pragma once

#include "io/export/exporters.hpp"

namespace stretto::io {

Exported write_byteps(const plan::Schedule& schedule, const graph::Graph& parameters);

}  // namespace stretto::io
