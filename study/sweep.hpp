// SPDX-License-Identifier: Apache-2.0
// Runs the points of a sweep into a store: all cores, one point per thread, each point made when a thread is free and
// stored when it is done. What is stored is not run again, so that a sweep that was ended in any way goes on where it
// stopped. A point that cannot be run is stored with its error; the others go on.
//
// Shards have equal parts of what all points are predicted to cost (experiment/run/sweep_costs.hpp): the costliest
// point goes first, each to the shard that has least so far; equal ones in an order drawn from a fixed seed, so that no
// field's values gather in one shard. Every shard finds the same division by itself, and together they are the whole
// sweep.
// Memory: one spec and one simulation per thread, a bit per point (with shards some 100 bytes while they are divided),
// and at most kWaiting results that wait for the disk.
// The wall clock and progress come from the caller. Tested in tests/unit/study_test.cpp and tests/cli/sweep_test.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiment/run/manifest.hpp"
#include "experiment/spec/sweep_points.hpp"
#include "study/store.hpp"

namespace stretto::study {

inline constexpr std::size_t kWaiting = 1024;

// Shard `index` of `count`, from 1.
struct Shard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;
};

// The shard of each point, from 1, by the costs of all. Adds at most the cost of one point to the mean of a shard.
// Cost: O(points log points), 12 bytes per point.
std::vector<std::uint32_t> divide(const std::vector<std::uint64_t>& costs, std::uint64_t shards);

// What a shard has to do.
struct ShardLoad {
  std::size_t points = 0;
  double share = 0;  // of the predicted cost of the whole sweep
};
std::vector<ShardLoad> shard_loads(const std::vector<std::uint64_t>& costs, std::uint64_t shards);

struct SweepProgress {
  std::size_t done = 0;      // looked at, of those of the shard; also what was stored before
  std::size_t total = 0;     // of the shard
  std::size_t run = 0;       // by this call
  std::size_t failed = 0;    // of those
  double seconds_left = -1;  // < 0: not known yet
  double per_second = 0;
};

struct SweepRun {
  std::size_t total = 0;     // points of the shard before constraints
  std::size_t before = 0;    // were stored already
  std::size_t left_out = 0;  // by constraints
  std::size_t run = 0;
  bool interrupted = false;
};

struct SweepOptions {
  std::size_t threads = 1;
  Shard shard;
  std::function<double()> clock;                       // seconds
  std::function<bool(const SweepProgress&)> progress;  // some times a second; false ends the sweep
};

// The program that runs a sweep.
struct Program {
  std::string version;
  std::string commit;
};

// SweepInfo::version, and what it says of the program.
std::string version_text(const Program& program);
Program program_of(const SweepInfo& sweep);

// What the store knows a sweep by. `version` is the program's. Throws UserError for inputs that cannot be read.
SweepInfo describe(const experiment::SweepPoints& points, const std::string& version);

// SweepInfo::inputs as data. Lines of another form are passed over.
std::vector<experiment::InputFile> inputs_of(const SweepInfo& sweep);

// `sweep` is in the store. Throws UserError where the store cannot be written; all that was stored stays.
SweepRun run_sweep(const experiment::SweepPoints& points, const SweepInfo& sweep, Store& store,
                   const SweepOptions& options);

}  // namespace stretto::study
