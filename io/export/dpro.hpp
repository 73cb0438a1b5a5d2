// SPDX-License-Identifier: Apache-2.0
// dPRO's partition file: one line per variable, its name, a space, its largest slice in bytes. Loaded by the BytePS
// that belongs to dPRO through BYTEPS_PARTITION_SPEC_FILE. Plans for servers fuse nothing, so that its group file
// (dpro_groups.hpp) is not needed. UserError for a name with a blank or a control character, which the file cannot
// hold.
#pragma once

#include "io/export/exporters.hpp"

namespace stretto::io {

Exported write_dpro(const plan::Schedule& schedule, const graph::Graph& parameters);

}  // namespace stretto::io
