// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto run` as plain data: one PolicyResult per policy and point of `vary`. experiment/ fills it,
// report/ prints it (text, JSON). Keys and units: docs/reference/result.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::analysis {

// A value that may be absent; then `reason` says why in a few words and JSON shows null.
struct Figure {
  std::optional<double> value;
  std::string reason;
};

// A mean with a two-sided 95 % t interval over n replications; n = 1: low = mean = high.
struct Estimate {
  double mean = 0;
  double ci95_low = 0;
  double ci95_high = 0;
};

// Step time in seconds. min and max are over all measured steps of all replications.
struct StepTime {
  Estimate estimate;
  double min = 0;
  double max = 0;
  std::int64_t n = 1;      // replications
  std::int64_t steps = 0;  // measured steps in all
  // Mean of the last third of the measured steps over the mean of the first third, minus 1 (0.02 = 2 % slower): shows
  // a run that is not stationary.
  double trend = 0;
};

// A gain (fraction, 0.31 = 31 % more steps per time than the baseline) with a paired 95 % interval; absent for the
// baseline itself.
struct Gain {
  std::optional<Estimate> estimate;
  std::string reason;
};

enum class ResourceKind : std::uint8_t {
  Device,
  WorkerNicUp,
  WorkerNicDown,
  ServerNicUp,
  ServerNicDown,
  ServerThreads,
  WorkerThreads,
  CopyEngine,
  Fabric,  // links between switches
  Inside   // links inside a host: loopback, PCIe, NVLink
};

// Mean busy fraction of one resource over the measured steps. Resources are listed in host order within a kind: the
// i-th ServerNicUp and the i-th ServerNicDown are one NIC.
struct ResourceUse {
  std::string name;  // "server 0 NIC up"
  ResourceKind kind = ResourceKind::Device;
  double utilisation = 0;     // 0..1
  double bytes_per_step = 0;  // links only
  std::string opposite = {};  // Fabric: the link that leads back, or ""
};

struct ServerLoad {
  std::string name;
  std::int64_t bytes = 0;  // of the variables that live there
  std::int64_t transfers = 0;
  std::string largest;  // name of its largest parameter
  std::int64_t largest_bytes = 0;
};

// Mean seconds per step and worker that pulls (or pushes) spent in each stage, summed over the messages (model 10).
struct Waits {
  double sender_not_ready = 0;  // request was there, tensor was not
  double turn = 0;              // waiting for its turn under the order
  double service = 0;           // queue and service at both ends
  double wire_queue = 0;        // waiting for a slot of the connection
  double wire_own = 0;          // time alone on the route
  double wire_shared = 0;       // lost to other transfers on the route

  Waits& operator+=(const Waits& more);
  Waits& operator*=(double factor);
};

// Hardware and Mode (how the job synchronises) move the bound over all layouts; Layout and Order do not.
enum class ChangeKind : std::uint8_t { Hardware, Mode, Layout, Order };

// A change that was simulated to say what would help: "server NICs 2x faster" -> gain of step rate.
struct WhatIf {
  std::string change;
  double gain = 0;  // fraction
  ChangeKind kind = ChangeKind::Hardware;
};

// A change that the policy's plan does not go with.
struct NotTried {
  std::string change;
  std::string reason;
};

// How old gradients are when they take effect: updates of the same transfer by other workers between the hand-over of a
// worker's pull and its own update, over all transfers and steps that are measured.
struct Staleness {
  static constexpr std::size_t kBins = 1024;
  bool known = false;
  std::string reason;
  double mean = 0;
  std::uint64_t max = 0;
  std::vector<double> histogram;  // share of gradients by staleness 0, 1, ...; the last of kBins holds all above
};

// Share of the bytes that cross a link.
struct JobShare {
  std::string job;
  double share = 0;
};

// One of several jobs on a network.
struct JobResult {
  std::string name;
  std::string compared;              // the policy of the jobs without one of their own; "" where all have one
  double start = 0;                  // s
  Figure alone_s;                    // mean step time on the same network without the others
  std::optional<Estimate> slowdown;  // mean step time over that alone, paired; none after a deadlock
  // The link that is used most of those that this job shares with others; "" where it shares none.
  std::string contended;
  double contended_use = 0;            // utilisation while the job's steps are measured
  std::vector<JobShare> contended_by;  // by job, those that use it
};

struct PolicyResult {
  std::string policy;
  std::optional<JobResult> job;
  bool all_reduce = false;  // no servers; pulls are all-gathers, pushes the other collectives
  std::vector<std::pair<std::string, std::string>> vary;  // path -> value as text, in the order of the file
  StepTime step_time;
  double samples_per_s = 0;
  Figure scaling_efficiency;
  Gain gain_over_random;
  Gain gain_over_fifo;
  Figure lower_bound_s;
  Figure lower_bound_any_layout_s;
  std::string lower_bound_name;  // "tail bound of server 0 NIC up", may be empty
  Figure gap;                    // mean / lower_bound - 1
  Figure ordering_efficiency;    // E of the paper, mean over workers and steps
  Figure speedup_limit;          // S of the paper
  Figure straggler_effect;
  Staleness staleness;
  Figure dropped_gradients;  // share of the gradients sent that came too late for their step
  std::vector<ResourceUse> resources;
  std::vector<ServerLoad> servers;
  Waits pull_waits;
  Waits push_waits;
  std::vector<WhatIf> what_if;  // any order; printed largest gain first
  std::vector<NotTried> not_tried;
  std::string verdict;
  std::optional<std::string> deadlock;  // the simulation cannot finish: who waits for what; figures above are then 0
};

// Everything that `stretto run` says.
struct RunResult {
  std::string name;
  std::string setup;  // "8 workers (v100), 2 servers, 10 Gbit/s, sync with barrier"
  std::uint64_t seed = 1;
  std::vector<std::string> assumptions;  // what the answer rests on
  std::vector<PolicyResult> results;     // by point of vary, then policy in the order asked for
};

}  // namespace stretto::analysis
