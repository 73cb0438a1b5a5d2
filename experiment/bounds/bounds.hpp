// SPDX-License-Identifier: Apache-2.0
// Lower bounds of a setup (schedulers/bounds/step.hpp), or why none is known for it.
//
// Accumulated batches and local steps: a step's ops are those of `passes` passes, one after the other. The bounds are
// those of a graph whose ops take `passes` times as long, which is never more: between the first loss and the last one
// whole passes lie, and what a pull or a gradient waits for in a single pass is at most a pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/step.hpp"

namespace stretto::experiment {

// `facts`: step_facts(setup), which does not depend on the layout, and what the caller knows of the order.
bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout, const bounds::Facts& facts);
bounds::Bound any_layout_bound(const Setup& setup, const bounds::Facts& facts);
bounds::Bound layout_bound(const Setup& setup, const plan::Layout& layout);
bounds::Bound any_layout_bound(const Setup& setup);

// What the bounds of all plans of a setup share. What is known of an order changes nothing for any layout, whose slices
// may be of any size.
struct PointBounds {
  bounds::Facts facts;  // step_facts(setup)
  bounds::Bound any_layout;
};
PointBounds point_bounds(const Setup& setup);

}  // namespace stretto::experiment
