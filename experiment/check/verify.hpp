// SPDX-License-Identifier: Apache-2.0
// `stretto verify`: is a schedule file sound for an experiment, are its times possible, and is what it predicts right?
//
// Five parts, each passed, violated or not covered with the reason (docs/verify.md): the schedule itself
// (schedulers/check/layout.hpp), the engine's timeline of it (timeline.hpp), the times replayed by another route
// (replay.hpp), the lower bound, and the file's prediction. The first violation ends it. Noise of the experiment is
// left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/spec/spec.hpp"
#include "schedulers/check/job.hpp"

namespace stretto::experiment {

// How far replay and engine may differ, relative to the time of a step's end: kExact; where more, kSpreads times what
// rounding and the order of ties do to the replay itself (check::spread); where services were asked for at one time,
// whose order the variants of the replay do not exhaust, kTies.
inline constexpr double kExact = 1e-9;
inline constexpr double kSpreads = 10;
inline constexpr double kTies = 0.25;
inline constexpr double kMostEvents = 3e6;      // of an audit
inline constexpr double kMostReplayWork = 2e9;  // messages x messages under way, of a replay

struct VerifyPart {
  enum class Status : std::uint8_t { Passed, Violated, NotCovered };
  std::string name;
  Status status = Status::Passed;
  std::string text;
};

struct VerifyResult {
  std::string workload;
  std::string policy;
  std::vector<VerifyPart> parts;
  std::optional<check::Violation> violation;
  std::optional<double> predicted_s;  // by the file
  std::optional<double> engine_s;     // a step, without noise
  std::optional<double> replay_s;     // the same, replayed
  std::optional<double> bound_s;
};

// The first point of the experiment; UserError if there are more, or for a file that is no schedule.
VerifyResult verify_schedule(const Experiment& experiment, const std::string& path);

std::string verify_json(const VerifyResult& result);

}  // namespace stretto::experiment
