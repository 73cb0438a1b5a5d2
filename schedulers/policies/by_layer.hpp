// SPDX-License-Identifier: Apache-2.0
// Order of P3 and BytePS: a transfer's priority is that of its layer, the layer that forward uses first goes first; the
// slices of a tensor by their number. The order of layers is that of fifo. What tells the two apart are the defaults of
// their options (slices, credit, discipline) and their placements; see the registry and docs/policies.md.
// Cost: that of fifo, and O(transfers).
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_by_layer(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
