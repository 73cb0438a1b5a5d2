// SPDX-License-Identifier: Apache-2.0
// Is something of an order drawn anew in each step?
#pragma once

#include "models/plan/plan.hpp"

namespace stretto::plan {

inline bool drawn(const DirectionOrder& order) { return traits(order.discipline).random; }
inline bool drawn(const Order& order) { return drawn(order.pull) || drawn(order.push); }

}  // namespace stretto::plan
