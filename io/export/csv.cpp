// SPDX-License-Identifier: Apache-2.0
#include "io/export/csv.hpp"

#include <fmt/format.h>

namespace stretto::io {

namespace {

// Element i of list r, or none.
template <typename T>
T at(const std::vector<std::vector<T>>& lists, std::size_t r, std::size_t i) {
  return r < lists.size() && i < lists[r].size() ? lists[r][i] : T();
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string hexadecimal(std::uint64_t value) { return value == 0 ? "" : fmt::format("{:016x}", value); }

}  // namespace

std::string csv_cell(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string cell;
  if (!text.empty() && kFormula.find(text[0]) != std::string_view::npos) cell = "'";
  cell += text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string write_steps_csv(const std::vector<StepSeries>& series, std::size_t first_step) {
  std::string out;
  if (!series.empty())
    for (const auto& [path, value] : series.front().vary) out += csv_cell(path) + ',';
  out += "policy,replication,step,time_s,ordering_efficiency,pull_order\n";
  for (const StepSeries& s : series) {
    std::string head;
    for (const auto& [path, value] : s.vary) head += csv_cell(value) + ',';
    head += csv_cell(s.policy);
    for (std::size_t r = 0; r < s.steps.size(); ++r)
      for (std::size_t i = 0; i < s.steps[r].size(); ++i)
        out += fmt::format("{},{},{},{},{},{}\n", head, r, first_step + i, s.steps[r][i],
                           number(at(s.efficiencies, r, i)), hexadecimal(at(s.pull_orders, r, i)));
  }
  return out;
}

}  // namespace stretto::io
