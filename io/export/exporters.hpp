// SPDX-License-Identifier: Apache-2.0
// The forms in which a schedule can be carried away: a registry, one pair of files per format. What a format cannot
// carry is told with the text, one sentence each. docs/export.md says where each is loaded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/schedule.hpp"

namespace stretto::io {

struct Exported {
  std::string text;
  std::vector<std::string> lost;  // what the text leaves out, for people
};

// Adds what formats without a time of start leave out, if the plan has any.
void lose_start_offsets(const plan::Order& order, std::vector<std::string>& lost);

struct Exporter {
  std::string_view name;
  std::string_view help;  // one line
  // `parameters` has those of the layout, by name and bytes. Throws UserError where the format cannot hold the plan at
  // all. Null: made from a simulated step, which needs the experiment.
  Exported (*write)(const plan::Schedule& schedule, const graph::Graph& parameters);
  bool all_reduce = true;  // takes schedules of all-reduce
  bool servers = true;     // takes those of parameter servers
};

std::span<const Exporter> exporters();

// UserError with the nearest or all names if there is none of this name.
const Exporter& find_exporter(std::string_view name);

}  // namespace stretto::io
