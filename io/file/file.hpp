// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Every failure is a UserError that names the file: missing, a folder, a device, unreadable,
// too large, a pipe that nothing opens for writing within 3 s, a gzip stream that is cut, damaged or a bomb.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"

namespace stretto::file {

// What is accepted. A gzip stream may grow to `free_bytes` whatever its ratio; beyond that, growth of more than
// `max_ratio` times its compressed size is taken for a bomb. `max_bytes` limits the file and its unpacked text.
struct Limits {
  std::size_t max_bytes = std::size_t{1} << 30;
  std::size_t max_ratio = 200;
  std::size_t free_bytes = std::size_t{16} << 20;
};

// The bytes of a file as they lie on disk (what a manifest hashes).
std::string read_raw(const std::string& path, std::size_t max_bytes = Limits().max_bytes);

// The text of a file; gzip (one or more members) is recognised by its first two bytes and unpacked.
std::string read(const std::string& path, const Limits& limits = {});

// Unpacks `data` if it is gzip, else returns it. `path` is for messages only.
std::string unpack(std::string data, const std::string& path, const Limits& limits = {});

// Replaces `path` by `text` as a whole: temporary file in the same folder, fsync, rename. A reader sees the old or the
// new content, never a part. An existing regular file keeps its mode; a device or pipe is written directly.
void write_atomic(const std::string& path, std::string_view text);

// The place of bytes [offset, offset + length) of `text` as line, column and source line. Lines over 4 KiB are not
// copied into the span. Cost: linear in offset.
Span span_at(std::string_view text, const std::string& path, std::size_t offset, std::size_t length = 1);

}  // namespace stretto::file
