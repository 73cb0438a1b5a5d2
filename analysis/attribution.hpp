// SPDX-License-Identifier: Apache-2.0
// Attribution of the step time to its causes, from replays in which causes are idealised
// (experiment/run/attribution.hpp says what each idealisation is and makes the replays).
//
// v(S) is the mean step time of a replication where the causes in S are idealised. What each cause costs is its Shapley
// value (Shapley, "A value for n-person games", 1953): the mean, over all orders in which the n causes could be
// idealised one after the other, of what the step loses when it is this one's turn,
//   c_i = sum over S without i of |S|! (n - |S| - 1)! / n! * (v(S) - v(S + i)).
// It is the one rule that sums to the whole (sum of c_i = v(none) - v(all)), gives a cause that never matters 0, treats
// equal causes alike and adds up over steps (ibid.). Savings by one idealisation at a time add up to less or more than
// the whole, since causes hide behind each other. What is left, v(all), is compute and transfers alone.
// A cause can have a negative cost: taking it away makes the step longer (anomalies of list scheduling: Graham, 1969).
//
// Interval: replications meet the same draws in every replay (common random numbers), so that each gives its own c_i
// and the t interval over replications is paired. A share is the ratio mean(c_i) / mean(v(none)) with the delta method
// of a ratio of paired means (statistics.hpp). In every replication shares and rest sum to 1 up to rounding.
// Cost: O(n 2^n) a replication. Validated: permutations by brute force, additive and hidden causes
// (tests/unit/attribution_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/critical_path.hpp"
#include "analysis/result.hpp"

namespace stretto::analysis {

enum class Cause : std::uint8_t { Order, Links, Servers, SlowWorkers, Noise };
inline constexpr std::size_t kCauses = 5;
inline constexpr std::size_t kCauseSets = std::size_t{1} << kCauses;

// Bit i: cause i is idealised.
using CauseSet = std::uint32_t;
inline constexpr CauseSet kNoCause = 0;
inline constexpr CauseSet kAllCauses = kCauseSets - 1;
constexpr bool holds(CauseSet set, Cause cause) { return (set >> static_cast<unsigned>(cause) & 1U) != 0; }

// "slow_workers", as in JSON; "slow workers", for people.
std::string_view cause_key(Cause cause);
std::string_view cause_words(Cause cause);

// Shapley costs of n causes from 2^n values, by bit set.
std::vector<double> shapley_costs(std::span<const double> values);

struct Part {
  Estimate seconds;  // of a step
  Estimate share;    // of the mean step
};

struct CauseCost {
  Part cost;       // Shapley
  Estimate alone;  // share of the step that goes if this cause alone is idealised
};

struct Attribution {
  std::int64_t replications = 1;
  Estimate step_s;
  std::array<CauseCost, kCauses> causes;  // by Cause
  Part left;                              // all of them idealised
};

// times[set][replication], seconds: kCauseSets rows of equal length, not empty, > 0.
Attribution attribute(std::span<const std::vector<double>> times);

// A link of a critical path for people and files.
struct NamedLink {
  std::string name;
  double from_s = 0;  // since the begin of the step
  double to_s = 0;
  std::array<double, kPathKinds> parts_s{};
};

// One step, with its time by kind.
struct NamedPath {
  double step_s = 0;
  std::array<double, kPathKinds> total_s{};
  std::vector<NamedLink> links;
};

// One policy at one point.
struct AttributedPolicy {
  std::string policy;
  std::vector<std::pair<std::string, std::string>> vary;
  std::optional<std::string> deadlock;  // then nothing below
  Attribution attribution;
  std::string best_order;          // what the order was idealised to, all else as it is
  std::vector<std::string> tried;  // all orders that it was taken from, its own first
  bool start_offsets = false;      // workers start one after the other in some of these
  bool may_be_staggered = false;   // there are workers and servers for policy staggered
  NamedPath path;                  // of the first measured step of replication 0
  NamedPath left_path;             // of the same step with all causes idealised
};

struct AttributionResult {
  std::string name;
  std::uint64_t seed = 1;
  std::vector<AttributedPolicy> results;
};

}  // namespace stretto::analysis
