// SPDX-License-Identifier: Apache-2.0
// Step times as CSV (RFC 4180, lines end with \n): one row per simulated step. Names come from files and are hostile
// text: a cell is quoted where it holds a comma, quote or line break, and one that begins with = + - @, a tab or a
// carriage return gets an apostrophe in front, so that no spreadsheet takes it for a formula.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stretto::io {

std::string csv_cell(std::string_view text);

// Measured steps of one policy at one point of an experiment.
struct StepSeries {
  std::vector<std::pair<std::string, std::string>> vary;  // path -> value
  std::string policy;
  std::vector<std::vector<double>> steps;  // seconds, per replication
  // Of the same steps, or shorter where there is none: ordering efficiency, hash of the order in which pulls arrive.
  std::vector<std::vector<std::optional<double>>> efficiencies;
  std::vector<std::vector<std::uint64_t>> pull_orders;
};

// Columns: one per path of `vary` (those of the first series), policy, replication, step, time_s, ordering_efficiency
// and pull_order (16 hexadecimal digits), empty where there is none. Replications and steps count from 0; `first_step`
// is the number of the first measured step.
std::string write_steps_csv(const std::vector<StepSeries>& series, std::size_t first_step);

}  // namespace stretto::io
