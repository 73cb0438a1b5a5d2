// SPDX-License-Identifier: Apache-2.0
// "a, b, c" (fmt::join of strings trips a false warning of GCC 12 at -O3).
#pragma once

#include <string>
#include <vector>

namespace stretto::app {

inline std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace stretto::app
