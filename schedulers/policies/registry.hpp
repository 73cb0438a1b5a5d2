// SPDX-License-Identifier: Apache-2.0
// Transfer policies: pure functions from (replica graph, layout, transfer times, seed) to plan::Order. This registry is
// the only place that names them all; the engine executes orders and knows no policy.
//
// Every policy ranks the pulls by parameter; the slices of a parameter take adjacent ranks, servers in turn or by
// number. Pushes go when ready (Free). Discipline of the pulls: Strict with a barrier, Priority without one; `random`
// and `recorded` are Unordered in both, `wfbp` is Free. Ties are broken by parameter name, then id, so that no order
// depends on the order of the input's containers. The options that all ranking policies share (discipline, window,
// credit, partition, direction) are read and applied by the caller; the registry says which of them a policy takes. For
// all-reduce the caller makes of the ranks turns of collectives (experiment/setup/all_reduce_plan.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/named.hpp"
#include "models/plan/plan.hpp"

namespace stretto::policies {

// What an all-reduce of b bytes takes alone: start + b x per_byte.
struct CollectiveCost {
  Duration start;
  double per_byte_ps = 0;
};

// `graph` has passed graph::check. `transfer_time`: per parameter, the time of its pull alone on its route to one
// worker (all slices one after another), >= 0; only `tac` looks at it. `named`: what the file of the policy says, for
// the policies that take one.
struct PolicyInput {
  const graph::Graph& graph;
  const plan::Layout& layout;
  std::vector<Duration> transfer_time;
  std::uint64_t seed = 1;
  bool barrier = true;
  std::vector<plan::NamedOrder> named = {};
  std::uint32_t workers = 1;
  // Time of one worker's pulls, all servers together: at the worker's NIC, and at the server whose NIC needs longest.
  Duration pulls_at_worker = {};
  Duration pulls_at_server = {};
  CollectiveCost collective = {};  // all-reduce only
  double speed = 1;                // of a worker's device, all its cores together
};

// Option -> value, as text: {"ties", "random"}; a count as its digits, a duration in ps.
using PolicyOptions = std::map<std::string, std::string>;

enum class OptionKind : std::uint8_t { Text, Count, Duration };

struct PolicyOption {
  std::string_view name;
  std::string_view values;  // Text: valid values, separated by spaces, the first is the default; empty: any text
  std::string_view help;
  OptionKind kind = OptionKind::Text;
  std::int64_t low = 0;  // Count: range. A duration is at most an hour
  std::int64_t high = 0;
};

// Which of the shared options a policy takes.
enum class Shared : std::uint8_t { All, Partition, None };

// How gradients must be exchanged for the policy to mean something.
enum class For : std::uint8_t { Both, Servers, AllReduce };

// What the option `file` of a policy names.
enum class FileKind : std::uint8_t { None, Order, Recorded, Schedule };

struct Policy {
  std::string_view name;
  std::string_view help;  // one line
  std::vector<PolicyOption> options;
  plan::Order (*make)(const PolicyInput& input, const PolicyOptions& options);  // null: the file is the whole plan
  Shared shared = Shared::All;
  PolicyOptions defaults = {};  // of shared options, where they differ from those of other policies
  FileKind file = FileKind::None;
  // The placement that the policy brings, with slices of its partition; empty: that of the experiment. Such a policy
  // has the option `placement`, with which the experiment's is taken.
  std::string_view placement = {};
  For exchange = For::Both;
  // All-reduce: makes the layout's buckets and says if it is split; null: as the experiment says.
  void (*fuse)(const PolicyInput& input, const PolicyOptions& options, plan::Layout& layout) = nullptr;
  PolicyOptions all_reduce_defaults = {};  // of shared options, in place of `defaults`
};

// The registry, in the order of `stretto list policies`.
std::span<const Policy> policies();
std::vector<std::string> policy_names();

// UserError with the nearest or all names if there is none of this name.
const Policy& find_policy(std::string_view name);

// UserError that lists the valid options (or values) for each one that `policy` does not take.
void check_options(const Policy& policy, const PolicyOptions& options);

// A count or a duration (ps) of PolicyOptions, if it is a whole number.
std::optional<std::int64_t> number_of(std::string_view text);

// find_policy, check_options, make. The policy is not one whose file is the whole plan.
plan::Order make_order(std::string_view name, const PolicyInput& input, const PolicyOptions& options = {});

}  // namespace stretto::policies
