// SPDX-License-Identifier: Apache-2.0
// A sweep of a store as CSV: one row per point and policy by number, a row without policy for a point that failed.
// Columns: point, one per path, status, error, policy, bound, busiest, deadlock, figures. The same sweep gives the same
// bytes, however it was run; wall times are left out. Names are hostile text, see io/export/csv.hpp.
#pragma once

#include <functional>
#include <string_view>

#include "study/store.hpp"

namespace stretto::study {

// Calls `write` with one part of the text after the other.
void export_csv(Store& store, const SweepInfo& sweep, const std::function<void(std::string_view)>& write);

}  // namespace stretto::study
