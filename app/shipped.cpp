// SPDX-License-Identifier: Apache-2.0
#include "app/shipped.hpp"

#include <filesystem>
#include <system_error>

namespace stretto::app {

std::string shipped_configs() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (error) return "configs";
  for (fs::path place = binary.parent_path(); place.has_relative_path(); place = place.parent_path()) {
    const fs::path configs = place / "configs";
    if (!fs::is_directory(configs / "workloads", error)) continue;
    const fs::path relative = fs::relative(configs, error);
    const bool shorter = !error && !relative.empty() && relative.string().size() < configs.string().size();
    return (shorter ? relative : configs).string();
  }
  return "configs";
}

}  // namespace stretto::app
