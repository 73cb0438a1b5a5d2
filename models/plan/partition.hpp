// SPDX-License-Identifier: Apache-2.0
// Partition: every transfer of a layout that is larger than a limit is cut into slices that stay on its server.
// A transfer of b bytes becomes ceil(b / limit) slices, as equal as whole 4-byte elements allow (single bytes where b
// or the limit is no multiple). Slices of a parameter are numbered anew, in the order of the layout. Cost: O(slices).
#pragma once

#include "models/plan/plan.hpp"

namespace stretto::plan {

// `limit` > 0, else UserError; also a UserError where the result would have more than 20 million transfers.
Layout partition(const Layout& layout, Bytes limit);

}  // namespace stretto::plan
