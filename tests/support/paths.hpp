// SPDX-License-Identifier: Apache-2.0
// Where tests find their files: STRETTO_SOURCE is the root of the sources (set by Meson), STRETTO_DATA the reference
// data that lives outside the repository (default ../shared/data beside it).
#pragma once

#include <cstdlib>
#include <string>

namespace stretto {

inline std::string source_path(const std::string& relative) {
  const char* root = std::getenv("STRETTO_SOURCE");
  return std::string(root != nullptr ? root : ".") + "/" + relative;
}

inline std::string data_path(const std::string& relative) {
  const char* data = std::getenv("STRETTO_DATA");
  return (data != nullptr ? std::string(data) : source_path("../shared/data")) + "/" + relative;
}

}  // namespace stretto
