// SPDX-License-Identifier: Apache-2.0
// Where the files that come with stretto are.
#pragma once

#include <string>

namespace stretto::app {

// STRETTO_CONFIGS where that is set. Else the directory `configs` of the checkout that holds the running binary, as a
// path relative to the current directory where that is shorter, or the one that was installed with it, whatever the
// prefix is now; "configs" if there is neither.
std::string shipped_configs();

}  // namespace stretto::app
