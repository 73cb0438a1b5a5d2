// SPDX-License-Identifier: Apache-2.0
#include "app/targets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  // Neither needs to exist yet.
  const fs::path first = fs::weakly_canonical(fs::absolute(a, error), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b, error), error) && !error;
}

void keep_inputs(const std::string& option, const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const std::string& input : inputs) {
    // A device or a pipe, such as /dev/stdin and /dev/stdout of one terminal, is not lost by writing.
    if (!fs::is_regular_file(input, error) || !fs::equivalent(path, input, error)) continue;
    throw UserError(
        fmt::format("{}: '{}' is read by this command ('{}') and would be overwritten", option, path, input),
        "name another file; this one was left as it is");
  }
}

void check_target(const std::string& option, const std::string& path, const std::vector<std::string>& inputs) {
  keep_inputs(option, path, inputs);
  const auto fail = [&](const std::string& reason, const std::string& hint) {
    throw UserError(fmt::format("{}: '{}' cannot be written: {}", option, path, reason), hint);
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) fail("it is a folder", "name a file in it");
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (fs::exists(status) && !fs::is_regular_file(status)) return;  // a device or pipe is written to directly
  if (!fs::is_directory(folder, error))
    fail(fmt::format("there is no folder '{}'", folder), "make the folder first, or name another");
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    fail(fmt::format("{} (folder '{}')", std::strerror(errno), folder), "name a file in a folder that can be written");
}

void check_folder(const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error).lexically_normal();
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  const char* reason = nullptr;
  if (!fs::is_directory(there, error))
    reason = std::strerror(ENOTDIR);
  else if (::faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    reason = std::strerror(errno);
  if (reason != nullptr)
    throw UserError(fmt::format("cannot make the directory '{}': {}", path, reason), "name another directory");
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw UserError(fmt::format("cannot make the directory '{}': {}", path, error.message()), "name another directory");
}

}  // namespace stretto::app
