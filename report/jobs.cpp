// SPDX-License-Identifier: Apache-2.0
#include "report/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/words.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::PolicyResult;

std::string gain_text(const analysis::Gain& gain) {
  return gain.estimate ? analysis::signed_percent(gain.estimate->mean) : "-";
}

// Jobs of the compared policy under which they are slowed down least, on average.
std::string best_compared(std::span<const PolicyResult> point) {
  std::map<std::string, double> sums;
  for (const PolicyResult& r : point)
    if (!r.deadlock) sums[r.job->compared] += r.step_time.estimate.mean / *r.job->alone_s.value;
  std::string best;
  double least = 0;
  for (const PolicyResult& r : point) {
    const auto sum = sums.find(r.job->compared);
    if (sum == sums.end() || (least > 0 && sum->second >= least * (1 - 1e-6))) continue;
    least = sum->second;
    best = sum->first;
  }
  return best;
}

}  // namespace

std::string jobs_text(std::span<const PolicyResult> point, std::size_t width) {
  const bool compares = !point.front().job->compared.empty();
  Table table;
  if (compares) table.columns.push_back({"compared", Align::Left});
  table.columns.push_back({"job", Align::Left});
  table.columns.push_back({"policy", Align::Left});
  for (const char* header : {"step time", "alone", "slowdown", "samples/s", "bound alone"})
    table.columns.push_back({header});
  if (compares) table.columns.push_back({"vs fifo"});
  for (const PolicyResult& r : point) {
    std::vector<Cell> row;
    if (compares) row.push_back({escape_control(r.job->compared), ""});
    row.push_back({escape_control(r.job->name), ""});
    row.push_back({escape_control(r.policy), ""});
    if (r.deadlock) {
      row.push_back({"deadlock", ""});
      for (int i = 0; i < 4 + (compares ? 1 : 0); ++i) row.push_back({"-", ""});
    } else {
      const analysis::Estimate& slow = *r.job->slowdown;
      const double half = (slow.ci95_high - slow.ci95_low) / 2;
      row.push_back({analysis::seconds_text(r.step_time.estimate.mean), ""});
      row.push_back({analysis::seconds_text(*r.job->alone_s.value), ""});
      row.push_back({fmt::format("{:.3f}", slow.mean), half > 0 ? fmt::format(" ± {:.3f}", half) : ""});
      row.push_back({fmt::format("{:.1f}", r.samples_per_s), ""});
      row.push_back({r.lower_bound_s.value ? analysis::seconds_text(*r.lower_bound_s.value) : "-", ""});
      if (compares) row.push_back({gain_text(r.gain_over_fifo), ""});
    }
    table.rows.push_back(std::move(row));
  }
  std::string out = render(table, width);
  out += wrap(
      "slowdown: step time over that of the job alone on the same network; bound: of the job alone, which others "
      "can only move away from",
      width, 2);
  for (const PolicyResult& r : point)
    if (r.deadlock)
      out += wrap(fmt::format("{} ({}): deadlock: {}", escape_control(r.job->name), escape_control(r.policy),
                              escape_control(*r.deadlock)),
                  width, 2);
  const std::string best = best_compared(point);
  for (const PolicyResult& r : point)
    if (!r.deadlock && r.job->compared == best) {
      const std::string who = compares ? fmt::format(" ({}, which slows the jobs least)", escape_control(best)) : "";
      out += '\n' + wrap(fmt::format("Verdict{}: {}", who, escape_control(r.verdict)), width, 2);
    }
  return out;
}

}  // namespace stretto::report
