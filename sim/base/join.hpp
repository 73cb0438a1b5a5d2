// SPDX-License-Identifier: Apache-2.0
// "a, b, c", or with other words between them (fmt::join of strings trips a false warning of GCC 12 at -O3).
#pragma once

#include <string>
#include <vector>

namespace stretto {

inline std::string join(const std::vector<std::string>& words, const char* between = ", ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

}  // namespace stretto
