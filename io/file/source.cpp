// SPDX-License-Identifier: Apache-2.0
#include "io/file/source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stretto::file {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

[[noreturn]] void fail(const std::string& path, std::string message, std::string hint = "") {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

}  // namespace

struct Source::State {
  explicit State(const Limits& most) : limits(most) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (inflating) inflateEnd(&z);
    if (fd >= 0) ::close(fd);
  }

  Limits limits;
  int fd = -1;
  std::string packed;  // what was read of the file and not yet given out
  std::size_t at = 0;  // in `packed`
  std::size_t packed_bytes = 0;
  std::size_t given = 0;
  bool gzip = false;
  bool inflating = false;
  bool ended = false;  // the gzip stream is at the end of a member
  z_stream z{};
};

bool is_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::optional<Identity> identity(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity(info.st_dev, info.st_ino);
}

Source::Source(std::string path, const Limits& limits)
    : path_(std::move(path)), state_(std::make_unique<State>(limits)) {
  State& s = *state_;
  s.fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (s.fd < 0) fail(path_, fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(s.fd, &info) != 0 || !S_ISREG(info.st_mode)) fail(path_, "is no regular file");
  if (static_cast<std::uint64_t>(info.st_size) > limits.max_bytes)
    fail(path_, fmt::format("is larger than the limit of {} bytes", limits.max_bytes));
  s.packed.resize(2);
  std::size_t n = 0;
  while (n < 2) {
    const ssize_t got = ::read(s.fd, s.packed.data() + n, 2 - n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    n += static_cast<std::size_t>(got);
  }
  s.packed.resize(n);
  s.packed_bytes = n;
  s.gzip = s.packed == "\x1f\x8b";
  if (s.gzip) {
    if (inflateInit2(&s.z, 15 + 16) != Z_OK) fail(path_, "cannot be unpacked: zlib has no memory");
    s.inflating = true;
  }
}

Source::~Source() = default;

std::size_t Source::read(char* to, std::size_t size) {
  State& s = *state_;
  const auto from_disk = [&](char* into, std::size_t most) {
    for (;;) {
      const ssize_t got = ::read(s.fd, into, most);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
      s.packed_bytes += static_cast<std::size_t>(got);
      return static_cast<std::size_t>(got);
    }
  };
  std::size_t done = 0;
  if (!s.gzip) {
    done = std::min(size, s.packed.size() - s.at);
    std::memcpy(to, s.packed.data() + s.at, done);
    s.at += done;
    while (done < size) {
      const std::size_t n = from_disk(to + done, size - done);
      if (n == 0) break;
      done += n;
    }
  }
  while (s.gzip && done < size) {
    if (s.at == s.packed.size()) {
      s.packed.resize(kBlock);
      s.packed.resize(from_disk(s.packed.data(), kBlock));
      s.at = 0;
      if (s.packed.empty()) {
        if (s.ended) break;
        fail(path_, fmt::format("gzip stream is cut off after {} bytes", s.packed_bytes), "copy the file again");
      }
    }
    if (s.ended) {  // padding of zeros, or a further member
      while (s.at < s.packed.size() && s.packed[s.at] == '\0') ++s.at;
      if (s.at == s.packed.size()) continue;
      if (s.packed[s.at] != '\x1f') fail(path_, "something else follows the gzip stream");
      if (inflateReset(&s.z) != Z_OK) fail(path_, "cannot be unpacked: zlib failed to start the next member");
      s.ended = false;
    }
    s.z.next_in = reinterpret_cast<Bytef*>(s.packed.data() + s.at);
    s.z.avail_in = static_cast<uInt>(s.packed.size() - s.at);
    s.z.next_out = reinterpret_cast<Bytef*>(to + done);
    const std::size_t room = std::min<std::size_t>(size - done, std::size_t{1} << 30);
    s.z.avail_out = static_cast<uInt>(room);
    const int result = inflate(&s.z, Z_NO_FLUSH);
    done += room - s.z.avail_out;
    s.at = s.packed.size() - s.z.avail_in;
    if (result == Z_STREAM_END) {
      s.ended = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(path_, fmt::format("gzip stream is damaged near byte {}: {}", s.packed_bytes - s.z.avail_in,
                              s.z.msg != nullptr ? s.z.msg : "unknown error"));
    }
    const std::size_t total = s.given + done;
    if (total > s.limits.free_bytes && total / s.limits.max_ratio > s.packed_bytes)
      fail(path_,
           fmt::format("gzip stream grows more than {} times: refused as a decompression bomb", s.limits.max_ratio));
  }
  s.given += done;
  if (s.given > s.limits.max_bytes)
    fail(path_, fmt::format("unpacks to more than the limit of {} bytes", s.limits.max_bytes));
  return done;
}

}  // namespace stretto::file
