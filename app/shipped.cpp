// SPDX-License-Identifier: Apache-2.0
#include "app/shipped.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace stretto::app {

std::string shipped_configs() {
  namespace fs = std::filesystem;
  if (const char* given = std::getenv("STRETTO_CONFIGS"); given != nullptr && *given != '\0') return given;
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (error) return "configs";
  for (fs::path place = binary.parent_path(); place.has_relative_path(); place = place.parent_path()) {
    const fs::path configs = place / "configs";
    if (fs::is_directory(configs / "workloads", error)) {
      const fs::path relative = fs::relative(configs, error);
      const bool shorter = !error && !relative.empty() && relative.string().size() < configs.string().size();
      return (shorter ? relative : configs).string();
    }
    // By one name wherever it is called from, since a sweep knows its input files by their names.
    const fs::path installed = place / STRETTO_DATADIR / "stretto" / "configs";
    if (fs::is_directory(installed / "workloads", error)) return installed.string();
  }
  return "configs";
}

}  // namespace stretto::app
