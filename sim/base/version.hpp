// SPDX-License-Identifier: Apache-2.0
// What was built: the release and the commit, for `stretto --version` and for the manifest of a result.
// Link version_dep (not base_dep alone): it is compiled anew with every commit.
#pragma once

#include <string_view>

namespace stretto {

// "0.1.0"
std::string_view version();

// The abbreviated commit, with "-dirty" if tracked files differed from it; "unknown" outside a git checkout.
std::string_view commit();

}  // namespace stretto
