// SPDX-License-Identifier: Apache-2.0
// Which sweep of a store an option means.
#pragma once

#include <string>

#include "study/store.hpp"

namespace stretto::app {

// By number, name or the beginning of its hash; without a text the latest. Throws UserError.
study::SweepInfo pick_sweep(study::Store& store, const std::string& option, const std::string& text);

}  // namespace stretto::app
