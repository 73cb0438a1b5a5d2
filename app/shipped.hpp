// SPDX-License-Identifier: Apache-2.0
// Where the files that come with stretto are.
#pragma once

#include <string>

namespace stretto::app {

// The directory `configs` of the checkout that holds the running binary, as a path relative to the current directory
// where that is shorter; "configs" if there is none.
std::string shipped_configs();

}  // namespace stretto::app
