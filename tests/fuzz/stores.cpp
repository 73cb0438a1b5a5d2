// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/stores.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "io/file/file.hpp"
#include "sim/base/diagnostic.hpp"
#include "study/export.hpp"
#include "study/store.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/paths.hpp"

namespace stretto::fuzz {

namespace {

namespace fs = std::filesystem;
using study::Store;

// A folder of this process and name, removed at the end.
struct Scratch {
  explicit Scratch(const char* name)
      : folder(fs::temp_directory_path() / fmt::format("stretto_{}_{}", ::getpid(), name)) {
    fs::create_directories(folder);
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const fs::path folder;
};

using Points = std::map<std::int64_t, study::StoredPoint>;

// The points of the seed, by the hash of their sweep.
const std::map<std::string, Points>& stored_points() {
  static const std::map<std::string, Points> all = [] {
    const Scratch scratch("seed");
    Store store(scratch.write("seed", file::read(source_path("tests/fuzz/corpus/store/points.sqlite"))),
                Store::Access::Read);
    std::map<std::string, Points> found;
    for (const study::SweepInfo& sweep : store.sweeps())
      store.each_point(sweep.id, [&](const study::StoredPoint& p) { found[sweep.hash][p.index] = p; });
    return found;
  }();
  return all;
}

bool same(const study::StoredPoint& a, const study::StoredPoint& b) {
  return a.key == b.key && a.values == b.values && a.status == b.status && a.error == b.error &&
         a.seconds == b.seconds && a.results == b.results;
}

void require_what_was_stored(Store& store) {
  for (const study::SweepInfo& sweep : store.sweeps()) {
    const auto known = stored_points().find(sweep.hash);
    if (known == stored_points().end()) continue;
    store.each_point(sweep.id, [&](const study::StoredPoint& p) {
      const auto at = known->second.find(p.index);
      require(at != known->second.end() && same(p, at->second), "a point is read that was not stored");
    });
  }
}

std::string csv_of(Store& store) {
  std::string out;
  for (const study::SweepInfo& sweep : store.sweeps()) {
    out += fmt::format("{} {} {}\n", sweep.hash, sweep.name, store.counts(sweep.id).done);
    study::export_csv(store, sweep, [&](std::string_view text) { out += text; });
  }
  return out;
}

void read_and_write(const Scratch& scratch, const std::string& path) {
  {
    Store store(path, Store::Access::Read);
    const std::string read = csv_of(store);
    // Tables of version 1 have no sums, and nobody notices what has changed in them.
    const bool sums = study::Database(path, study::Database::Access::Read).integer("PRAGMA user_version") > 1;
    if (sums) require_what_was_stored(store);
    again("a merged store", [&] {
      Store copy((scratch.folder / "copy").string(), Store::Access::Create);
      study::merge(copy, store);
      require(!sums || csv_of(copy) == read, "a store changes when it is merged into an empty one");
      return true;
    });
  }
  // A writer looks more closely than a reader and may refuse.
  Store store(path, Store::Access::Write);
  for (const study::SweepInfo& sweep : store.sweeps()) store.remove(sweep.id);
  store.shrink();
  require(store.sweeps().empty(), "a removed sweep is there");
}

// SQLite's log: a head of 32 bytes, then frames of 24 and a page, each with a sum over all before it.
constexpr std::size_t kHead = 32;
constexpr std::size_t kFrameHead = 24;

struct Sum {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  bool little = true;

  std::uint32_t word(const char* at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return little == (std::endian::native == std::endian::little) ? value : __builtin_bswap32(value);
  }
  void add(const char* text, std::size_t size) {
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
      a += word(text + i) + b;
      b += word(text + i + 4) + a;
    }
  }
  // Stored with the most significant byte first whatever the sum is made of.
  void store(char* at) const {
    for (const std::uint32_t value : {a, b})
      for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<char>(value >> shift);
  }
};

std::string with_sums(std::string log) {
  if (log.size() < kHead) return log;
  Sum sum;
  sum.little = (log[3] & 1) == 0;
  std::size_t page = 0;
  for (std::size_t i = 8; i < 12; ++i) page = page << 8 | static_cast<unsigned char>(log[i]);
  if (page < 512 || page > 65536 || page % 8 != 0) return log;
  sum.add(log.data(), kHead - 8);
  sum.store(log.data() + kHead - 8);
  for (std::size_t at = kHead; at + kFrameHead + page <= log.size(); at += kFrameHead + page) {
    std::memcpy(log.data() + at + 8, log.data() + 16, 8);  // what tells this log from older ones
    sum.add(log.data() + at, 8);
    sum.add(log.data() + at + kFrameHead, page);
    sum.store(log.data() + at + 16);
  }
  return log;
}

}  // namespace

bool read_store(const std::string& text) {
  const Scratch scratch("store");
  read_and_write(scratch, scratch.write("read", text));
  return true;
}

bool read_log(const std::string& text) {
  static const std::string store = file::read(source_path("tests/fixtures/logged.sqlite"));
  bool accepted = false;
  std::optional<UserError> refused;
  for (const std::string& log : {text, with_sums(text)}) {
    const Scratch scratch("log");
    const std::string path = scratch.write("read", store);
    scratch.write("read-wal", log);
    try {
      read_and_write(scratch, path);
      accepted = true;
    } catch (const UserError& e) {
      refused = e;
    }
  }
  if (!accepted) throw UserError(*refused);
  return true;
}

}  // namespace stretto::fuzz
