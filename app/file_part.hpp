// SPDX-License-Identifier: Apache-2.0
// Names from files as parts of file names.
#pragma once

#include <algorithm>
#include <string>

namespace stretto::app {

// Other characters than letters, digits, dot and dashes become "_".
inline std::string file_part(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-');
      },
      '_');
  return name;
}

}  // namespace stretto::app
