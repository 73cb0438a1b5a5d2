// SPDX-License-Identifier: Apache-2.0
// dPRO's file of tensor groups: JSON, {"mapping": ["0+1+2", "3"]}, each text the tensors that are summed together, by
// number. Loaded by the Horovod that belongs to dPRO through HOROVOD_TENSOR_GROUP_FILE. Numbers count the tensors with
// a gradient in the order of the workload, from 0. UserError where slices of a variable go in several collectives,
// since groups hold whole tensors.
#pragma once

#include "io/export/exporters.hpp"

namespace stretto::io {

// For a schedule of all-reduce.
Exported write_dpro_groups(const plan::Schedule& schedule, const graph::Graph& parameters);

}  // namespace stretto::io
