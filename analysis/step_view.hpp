// SPDX-License-Identifier: Apache-2.0
// One simulated step for the eye: rows of bars, the critical path through them and the use of every resource over time.
// Data only; experiment/run/step_view.hpp makes it, report/ draws it.
//
// All times count from the begin of the step. A bar of an op, a sum, an update or a copy is ready <= begin <= arrived
// = end. A message is ready <= handed (its turn came) <= on_wire (sender's service ended) <= begin (first byte) <=
// arrived (last byte) <= end (receiver's service ended); of arrived - begin, `alone` is what it would take without
// others on its route, of begin - on_wire, `latency` is the channel's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution.hpp"
#include "analysis/result.hpp"
#include "sim/base/units.hpp"

namespace stretto::analysis {

enum class BarKind : std::uint8_t { Op, Pull, Push, Collective, Sum, Update, Copy };

// What one process does in one place: "worker 0", "device". Bars of a row may overlap.
struct BarRow {
  std::string process;
  std::string track;
};

inline constexpr std::uint32_t kNoRow = 0xFFFFFFFFU;

struct Bar {
  BarKind kind = BarKind::Op;
  std::uint32_t row = 0;
  std::uint32_t other_row = kNoRow;  // message: the same seen from its server
  std::uint32_t name = 0;            // place in StepView::names
  std::uint32_t activity = 0;
  bool critical = false;
  std::int64_t bytes = 0;  // op: 0
  Time ready, handed, on_wire, begin, arrived, end;
  Duration alone;  // op: its time without noise and slowness
  Duration latency;
};

// Share of a resource that is in use from one moment to the next.
struct UseOverTime {
  std::string name;
  ResourceKind kind = ResourceKind::Device;
  std::vector<double> share;  // one less than StepView::moments_s
};

struct StepView {
  std::string policy;
  double step_s = 0;
  std::vector<std::string> names;
  std::vector<BarRow> rows;
  std::vector<Bar> bars;          // in order of begin
  std::size_t workers = 0;        // of the job
  std::size_t workers_drawn = 0;  // fewer where the bars of all would be too many
  NamedPath path;                 // critical path
  std::vector<double> moments_s;  // rising, from 0 to the end of the step
  std::vector<UseOverTime> use;
};

}  // namespace stretto::analysis
