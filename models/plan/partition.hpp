// SPDX-License-Identifier: Apache-2.0
// Partition: every transfer of a layout that is larger than a limit is cut into slices that stay on its server.
// A transfer of b bytes becomes ceil(b / limit) slices, as equal as whole 4-byte elements allow (single bytes where b
// or the limit is no multiple). Slices of a parameter are numbered anew, buckets dropped. Cost: O(slices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/plan/plan.hpp"

namespace stretto::plan {

// `limit` > 0, else UserError; also a UserError where the result would have more than 20 million transfers.
Layout partition(const Layout& layout, Bytes limit);

// The transfers of parameter `p` in the order in which equally urgent slices should go: servers in turn (each server's
// first slice, then each one's second, ...), so that a credit over all servers keeps all of them busy. O(n log n).
std::vector<std::uint32_t> slices_in_turn(const Layout& layout, std::size_t p);

}  // namespace stretto::plan
