// SPDX-License-Identifier: Apache-2.0
// What the harness measured ("format": "stretto-measurement"), as data. docs/reference/harness.md lists every key.
// Limits: 1 GiB.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::validation {

struct Arrival {
  std::uint32_t transfer = 0;
  double ms = 0;
};

struct OpTime {
  std::string op;
  double start_ms = 0;
  double end_ms = 0;
};

// One step of one worker; times from the worker's start of the step.
struct WorkerStep {
  double step_ms = 0;
  double start_ms = 0;  // since the cell's first step
  std::int64_t inversions = 0;
  std::vector<Arrival> pulls;
  std::vector<Arrival> pushes;
  std::vector<OpTime> ops;
};

struct Cell {
  std::string policy;
  std::vector<std::vector<WorkerStep>> steps;  // at least one, each with one entry per worker
  std::int64_t pairs = 0;                      // of pulls whose order was asked for
  double own_cores = 0;                        // used by the cluster while measuring
  double other_cores = 0;                      // used by others
};

struct Measurement {
  std::string name;
  std::string tensorflow;
  std::string network;  // namespaces or loopback
  std::string reason;   // for loopback
  std::int64_t cores = 1;
  std::vector<Cell> cells;
};

Measurement read_measurement(const std::string& path);
Measurement parse_measurement(const std::string& text, const std::string& path);

}  // namespace stretto::validation
