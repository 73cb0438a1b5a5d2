// SPDX-License-Identifier: Apache-2.0
#include "io/file/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace stretto::file {

namespace {

[[noreturn]] void fail(const std::string& path, std::string message, std::string hint = "") {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

std::string reason(int error) { return std::strerror(error); }

// Closes a descriptor at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool is_gzip(std::string_view data) { return data.size() >= 2 && data[0] == '\x1f' && data[1] == '\x8b'; }

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), std::min<std::size_t>(text.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void write_directly(const std::string& path, std::string_view text) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0 || !write_all(fd.get(), text)) fail(path, "cannot be written: " + reason(errno));
}

constexpr int kPipeWaitMs = 3000;
constexpr int kPipeStepMs = 20;

// Like read(2), of a pipe that was opened without waiting for a program at its other end. `started`: something was
// read already, so that there was one. A pipe of a shell, below /dev or /proc, has one from the beginning.
ssize_t read_pipe(int fd, char* to, std::size_t size, bool started, const std::string& path) {
  started = started || path.starts_with("/dev/") || path.starts_with("/proc/");
  for (int waited = 0;;) {
    const ssize_t n = ::read(fd, to, size);
    pollfd other{fd, POLLIN, 0};
    if (n < 0 && errno == EAGAIN) {  // there is one, and it has not written yet
      started = true;
      if (::poll(&other, 1, -1) < 0 && errno != EINTR) return -1;
      continue;
    }
    if (n != 0 || started) return n;
    if (::poll(&other, 1, kPipeStepMs) > 0 && (other.revents & POLLHUP) != 0) return 0;  // it came and went
    waited += kPipeStepMs;
    if (waited >= kPipeWaitMs)
      fail(path, "is a pipe that no program writes to", "start the writer first, or save the text to a file");
  }
}

// Holds zlib's state for one unpacking.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

std::string read_raw(const std::string& path, std::size_t max_bytes) {
  // Without O_NONBLOCK a pipe would hold up the program for ever if nothing writes to it; files know no difference.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    if (errno == ENOENT) fail(path, "no such file");
    fail(path, "cannot be opened: " + reason(errno));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(path, "cannot be read: " + reason(errno));
  if (S_ISDIR(info.st_mode)) fail(path, "is a folder, not a file");
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) fail(path, "is a device, not a file");
  const bool pipe = S_ISFIFO(info.st_mode);
  const auto too_large = [&] { fail(path, fmt::format("is larger than the limit of {} bytes", max_bytes)); };
  std::string data;
  if (S_ISREG(info.st_mode)) {
    if (static_cast<std::uint64_t>(info.st_size) > max_bytes) too_large();
    data.reserve(static_cast<std::size_t>(info.st_size) + 1);
  }
  // The size of stat may be 0 (pipes, /proc) or change meanwhile: read to the end in any case.
  std::size_t used = 0;
  for (;;) {
    const std::size_t block = std::max<std::size_t>(data.capacity() - used, std::size_t{1} << 16);
    data.resize(used + block);
    const ssize_t n = pipe ? read_pipe(fd.get(), data.data() + used, block, used > 0, path)
                           : ::read(fd.get(), data.data() + used, block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be read: " + reason(errno));
    used += static_cast<std::size_t>(n);
    if (used > max_bytes) too_large();
    if (n == 0) break;
  }
  data.resize(used);
  return data;
}

std::string unpack(std::string data, const std::string& path, const Limits& limits) {
  if (!is_gzip(data)) return data;
  Inflater inflater;
  if (!inflater.ready()) fail(path, "cannot be unpacked: zlib has no memory");
  z_stream& z = inflater.stream();
  std::string out;
  std::string block(std::size_t{1} << 18, '\0');
  std::size_t used = 0;
  const auto feed = [&] {
    const std::size_t n = std::min<std::size_t>(data.size() - used, std::size_t{1} << 30);
    z.next_in = reinterpret_cast<Bytef*>(data.data() + used);
    z.avail_in = static_cast<uInt>(n);
    used += n;
  };
  for (;;) {
    if (z.avail_in == 0) feed();
    z.next_out = reinterpret_cast<Bytef*>(block.data());
    z.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&z, Z_NO_FLUSH);
    out.append(block.data(), block.size() - z.avail_out);
    const std::size_t consumed = used - z.avail_in;
    if (out.size() > limits.max_bytes)
      fail(path, fmt::format("unpacks to more than the limit of {} bytes", limits.max_bytes));
    if (out.size() > limits.free_bytes && out.size() / limits.max_ratio > consumed)
      fail(path,
           fmt::format("gzip stream grows more than {} times: refused as a decompression bomb", limits.max_ratio));
    if (result == Z_STREAM_END) {
      const std::string_view rest = std::string_view(data).substr(consumed);
      if (rest.empty()) return out;
      if (!is_gzip(rest)) {
        if (rest.find_first_not_of('\0') == std::string_view::npos) return out;  // padding of tapes and blocks
        fail(path, fmt::format("{} bytes of something else follow the gzip stream", rest.size()));
      }
      if (inflateReset(&z) != Z_OK) fail(path, "cannot be unpacked: zlib failed to start the next member");
      continue;
    }
    if (result == Z_BUF_ERROR || (result == Z_OK && z.avail_in == 0 && used == data.size() && z.avail_out != 0))
      fail(path, fmt::format("gzip stream is cut off after {} bytes", data.size()), "copy the file again");
    if (result != Z_OK)
      fail(path, fmt::format("gzip stream is damaged near byte {}: {}", consumed, z.msg ? z.msg : "unknown error"));
  }
}

std::string read(const std::string& path, const Limits& limits) {
  return unpack(read_raw(path, limits.max_bytes), path, limits);
}

void write_atomic(const std::string& path, std::string_view text) {
  struct stat info {};
  if (path.empty()) fail(path, "the name of the file is empty");
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail(path, "is a folder, cannot be written as a file");
  // A link like /dev/stdout stays what it is, whatever it leads to; any other link is followed.
  const bool special = path.starts_with("/dev/") || path.starts_with("/proc/");
  if (exists && (special || !S_ISREG(info.st_mode))) return write_directly(path, text);
  struct stat link {};
  if (exists && ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
    const std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr), &std::free);
    if (!target) fail(path, "cannot be followed: " + reason(errno));
    return write_atomic(target.get(), text);
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
  if (leaf.empty()) fail(path, "is not the name of a file");
  std::string temporary;
  int raw = -1;
  for (int attempt = 0; raw < 0 && attempt < 100; ++attempt) {
    temporary = fmt::format("{}.{}.{}.{}.tmp", slash == std::string::npos ? "" : folder, leaf, ::getpid(), attempt);
    raw = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (raw < 0 && errno != EEXIST) break;
  }
  if (raw < 0) fail(path, fmt::format("cannot be written: {} in folder \"{}\"", reason(errno), folder));
  Descriptor fd(raw);
  bool good = !exists || ::fchmod(fd.get(), info.st_mode & 07777) == 0;
  good = good && write_all(fd.get(), text) && ::fsync(fd.get()) == 0;
  good = good && fd.close() && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) {
    const int error = errno;
    ::unlink(temporary.c_str());
    fail(path, "cannot be written: " + reason(error), error == ENOSPC ? "free some space on the disk" : "");
  }
  // The rename itself is on disk only after the folder is; file systems that cannot sync a folder are left alone.
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) ::fsync(parent.get());
}

Span span_at(std::string_view text, const std::string& path, std::size_t offset, std::size_t length) {
  constexpr std::size_t kLongestLine = 4096;
  offset = std::min(offset, text.size());
  Span span;
  span.file = path;
  span.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  constexpr auto kMax = static_cast<std::size_t>(std::numeric_limits<int>::max());
  span.column = static_cast<int>(std::min(offset - start + 1, kMax));
  span.length = static_cast<int>(std::clamp<std::size_t>(length, 1, std::max<std::size_t>(1, end - offset)));
  if (end - start <= kLongestLine) span.text = std::string(text.substr(start, end - start));
  if (!span.text.empty() && span.text.back() == '\r') span.text.pop_back();
  return span;
}

}  // namespace stretto::file
