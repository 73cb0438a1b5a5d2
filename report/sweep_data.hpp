// SPDX-License-Identifier: Apache-2.0
// A sweep of a results store as the JSON that the page of a report draws: which values every point has, and figures of
// every policy at every point, to five digits. Cost: linear in the points; some 60 B per policy and point.
#pragma once

#include <string>

#include "study/store.hpp"

namespace stretto::report {

std::string sweep_json(study::Store& store, const study::SweepInfo& sweep);

}  // namespace stretto::report
