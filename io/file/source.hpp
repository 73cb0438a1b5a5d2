// SPDX-License-Identifier: Apache-2.0
// A file read piece by piece, unpacked on the way if it is gzip, for texts that shall not lie in memory as a whole.
// Errors are those of io/file/file.hpp. Cost: linear, one buffer of 256 KiB for gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/file/file.hpp"

namespace stretto::file {

// Is `path` a regular file, which can be read twice?
bool is_regular(const std::string& path);

// What two paths of one file have in common; none if there is no such file.
using Identity = std::pair<std::uint64_t, std::uint64_t>;
std::optional<Identity> identity(const std::string& path);

class Source {
 public:
  // Opens a regular file; `limits.max_bytes` limits what is read of it, packed and unpacked.
  explicit Source(std::string path, const Limits& limits);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Fills `to` with up to `size` bytes of the (unpacked) text; less only at its end. Throws UserError.
  std::size_t read(char* to, std::size_t size);

  const std::string& path() const { return path_; }

 private:
  struct State;
  std::string path_;
  std::unique_ptr<State> state_;
};

}  // namespace stretto::file
