// SPDX-License-Identifier: Apache-2.0
// The results store: one SQLite file of sweeps, their points and the figures of every policy at every point, readable
// by anyone's tools. Format: application_id "strt", user_version is the version of the tables (docs/sweep.md).
//
// Writers use a write-ahead log and one transaction per batch of points: what add() has returned for outlives the
// process (kill -9), and after a loss of power the store is as it was some batches before. Several processes may write:
// each waits for the other. A point is stored once: the first writer wins. A sweep is known by the hash of everything
// that decides its points; so other configurations, inputs and versions stand beside each other and never mix. Every
// point has a sum of all that is stored of it, every sweep its hash: a reader notices what has changed since.
// Cost: about 20 us and 300 B per policy and point. Tested in tests/unit/study_test.cpp and tests/cli/sweep_test.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/database.hpp"

namespace stretto::study {

inline constexpr std::int64_t kApplicationId = 0x73747274;  // "strt"
inline constexpr std::int64_t kStoreVersion = 2;

struct SweepInfo {
  std::int64_t id = 0;  // within this store
  std::string hash;
  std::string name;
  std::string version;        // of the program, with its commit
  std::string configuration;  // what the hash is of, as text
  std::string inputs;         // "SHA-256  PATH" lines
  std::vector<std::string> paths;
  std::int64_t size = 0;  // points before constraints
};

// The hash of version, configuration and inputs.
std::string sweep_hash(const SweepInfo& info);

enum class PointStatus : std::uint8_t { Done, Deadlock, Failed };
std::string_view status_text(PointStatus status);

// One policy at one point: its figures in the order of figure_names().
struct StoredResult {
  std::string policy;
  std::string bound;    // name of the lower bound
  std::string busiest;  // resource
  std::string deadlock;
  std::vector<std::optional<double>> figures;
  bool operator==(const StoredResult&) const = default;
};

struct StoredPoint {
  std::int64_t index = 0;
  std::string key;                  // hash of the point's experiment with every default filled in
  std::vector<std::string> values;  // of the sweep's paths
  PointStatus status = PointStatus::Done;
  std::string error;   // Failed only
  double seconds = 0;  // that it took; not part of any comparison
  std::vector<StoredResult> results;
};

// Columns of numbers, "step_time_s" first.
const std::vector<std::string>& figure_names();

class Store {
 public:
  enum class Access : std::uint8_t { Read, Write, Create };
  // Creates tables where the file is new or empty, brings old ones to kStoreVersion, refuses what is no store, newer or
  // damaged. Read never changes the file, and reads old tables and stores where nothing can be written.
  Store(const std::string& path, Access access);

  // UserError where one is not what its hash says, as for a point in each_point and point.
  std::vector<SweepInfo> sweeps();
  // The sweep of this hash, added if there is none.
  std::int64_t add_sweep(const SweepInfo& info);
  // Which of the sweep's points are stored, by index.
  std::vector<bool> stored(const SweepInfo& sweep);
  struct Counts {
    std::int64_t done = 0;
    std::int64_t deadlock = 0;
    std::int64_t failed = 0;
  };
  Counts counts(std::int64_t sweep);
  // Stores all or none; points that are there stay as they are.
  void add(std::int64_t sweep, std::span<const StoredPoint> points);
  // Every point by index, one at a time.
  void each_point(std::int64_t sweep, const std::function<void(const StoredPoint&)>& visit);
  std::optional<StoredPoint> point(std::int64_t sweep, std::int64_t index);
  // Removes a sweep and everything of it.
  void remove(std::int64_t sweep);
  // Gives room of removed sweeps back to the disk.
  void shrink();
  const std::string& path() const { return database_.path(); }

 private:
  void prepare(Access access);
  void migrate(std::int64_t version);
  void each_point(std::int64_t sweep, std::int64_t first, std::int64_t last,
                  const std::function<void(const StoredPoint&)>& visit);
  // Without a look at the sums.
  void read_points(std::int64_t sweep, std::int64_t first, std::int64_t last,
                   const std::function<void(const StoredPoint&, const std::string& sum)>& visit);
  Database database_;
  bool sums_ = true;         // tables of version 1 have none
  bool no_orphans_ = false;  // known after a look at all points
};

// Adds what `from` has to `into`. Throws UserError, with `into` as it was, where both have a point with other results.
struct MergeReport {
  std::int64_t sweeps = 0;
  std::int64_t points = 0;  // added
  std::int64_t known = 0;   // that were there
};
MergeReport merge(Store& into, Store& from);

}  // namespace stretto::study
