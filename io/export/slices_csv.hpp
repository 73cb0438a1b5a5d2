// SPDX-License-Identifier: Apache-2.0
// A plan as CSV (RFC 4180, cells as in csv.hpp): one row per slice, in the order of the layout. Columns: variable,
// slice, bytes, server, pull_rank, push_rank; a rank is empty where the direction has none for the slice.
#pragma once

#include "io/export/exporters.hpp"

namespace stretto::io {

Exported write_slices_csv(const plan::Schedule& schedule, const graph::Graph& parameters);

}  // namespace stretto::io
