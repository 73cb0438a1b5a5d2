// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analysis/words.hpp"
#include "report/jobs.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::Figure;
using analysis::Gain;
using analysis::PolicyResult;
using analysis::ResourceKind;
using analysis::ResourceUse;
using analysis::ServerLoad;

constexpr std::size_t kNarrow = 80;
constexpr std::size_t kWide = 100;
constexpr std::size_t kServersShown = 8;

// One unit and number of decimals for all times of a table.
struct TimeScale {
  const char* unit = "s";
  double factor = 1;
  int decimals = 3;
  std::string number(double seconds) const { return fmt::format("{:.{}f}", seconds * factor, decimals); }
  std::string operator()(double seconds) const { return number(seconds) + ' ' + unit; }
};

TimeScale scale_for(double largest) {
  TimeScale scale;
  constexpr std::pair<const char*, double> kUnits[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};
  for (const auto& [unit, factor] : kUnits) {
    scale.unit = unit;
    scale.factor = factor;
    if (largest * factor >= 1) break;
  }
  const double value = largest * scale.factor;
  scale.decimals = value < 10 ? 3 : value < 100 ? 2 : 1;
  return scale;
}

std::string point_title(const PolicyResult& r) {
  std::string title;
  for (const auto& [path, value] : r.vary) {
    if (!title.empty()) title += ", ";
    title += escape_control(path) + " = " + escape_control(value);
  }
  return title;
}

Cell percent_cell(const Figure& figure) { return {figure.value ? analysis::percent(*figure.value) : "-", ""}; }

Cell gain_cell(const Gain& gain) {
  if (!gain.estimate) return {"-", ""};
  const double half = (gain.estimate->ci95_high - gain.estimate->ci95_low) / 2;
  return {analysis::signed_percent(gain.estimate->mean), half > 0 ? fmt::format(" ± {:.1f}", half * 100) : ""};
}

Cell step_cell(const PolicyResult& r, const TimeScale& scale) {
  const auto& estimate = r.step_time.estimate;
  const double half = (estimate.ci95_high - estimate.ci95_low) / 2;
  return {scale(estimate.mean), half > 0 ? " ± " + scale.number(half) : ""};
}

std::string rate_text(double per_second) {
  const int decimals = per_second < 10 ? 3 : per_second < 100 ? 2 : per_second < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", per_second, decimals);
}

Table point_table(std::span<const PolicyResult> point) {
  double largest = 0;
  const Figure* any_layout = nullptr;
  for (const PolicyResult& r : point) {
    largest = std::max(largest, r.step_time.estimate.mean);
    if (any_layout == nullptr && r.lower_bound_any_layout_s.value) any_layout = &r.lower_bound_any_layout_s;
  }
  const TimeScale scale = scale_for(largest);
  Table table;
  table.columns = {{"policy", Align::Left},
                   {"step time"},
                   {"samples/s"},
                   {"vs random"},
                   {"vs fifo"},
                   {"bound"},
                   {"gap"},
                   {"straggler"}};
  const auto bound_cell = [&](const Figure& bound) { return Cell{bound.value ? scale(*bound.value) : "-", ""}; };
  for (const PolicyResult& r : point) {
    const std::string name = escape_control(r.policy);
    if (r.deadlock)
      table.rows.push_back(
          {{name, ""}, {"deadlock", ""}, {"-", ""}, {"-", ""}, {"-", ""}, {"-", ""}, {"-", ""}, {"-", ""}});
    else
      table.rows.push_back({{name, ""},
                            step_cell(r, scale),
                            {rate_text(r.samples_per_s), ""},
                            gain_cell(r.gain_over_random),
                            gain_cell(r.gain_over_fifo),
                            bound_cell(r.lower_bound_s),
                            percent_cell(r.gap),
                            percent_cell(r.straggler_effect)});
  }
  if (any_layout != nullptr)
    table.rows.push_back({{"any layout", ""}, {}, {}, {}, {}, bound_cell(*any_layout), {}, {}});
  return table;
}

// A figure that no policy of the point has is explained once.
std::string absent_notes(std::span<const PolicyResult> point, std::size_t width) {
  std::string out;
  constexpr std::pair<const char*, Figure PolicyResult::*> kFigures[] = {
      {"bound", &PolicyResult::lower_bound_s},
      {"bound of any layout", &PolicyResult::lower_bound_any_layout_s},
      {"gap", &PolicyResult::gap},
      {"straggler", &PolicyResult::straggler_effect}};
  std::string last_reason;
  for (const auto& [name, member] : kFigures) {
    std::string reason;
    bool absent = true;
    for (const PolicyResult& r : point) {
      if (r.deadlock) continue;
      if ((r.*member).value) absent = false;
      if (reason.empty()) reason = (r.*member).reason;
    }
    if (!absent || reason.empty() || reason == last_reason) continue;
    last_reason = reason;
    out += wrap(fmt::format("no {}: {}", name, escape_control(reason)), width, 2);
  }
  return out;
}

// "8 worker NICs up"
std::string kind_text(std::size_t count, ResourceKind kind) {
  const char* s = count == 1 ? "" : "s";
  switch (kind) {
    case ResourceKind::Device:
      return fmt::format("{} worker device{}", count, s);
    case ResourceKind::WorkerNicUp:
      return fmt::format("{} worker NIC{} up", count, s);
    case ResourceKind::WorkerNicDown:
      return fmt::format("{} worker NIC{} down", count, s);
    case ResourceKind::ServerNicUp:
      return fmt::format("{} server NIC{} up", count, s);
    case ResourceKind::ServerNicDown:
      return fmt::format("{} server NIC{} down", count, s);
    case ResourceKind::ServerThreads:
      return fmt::format("threads of {} server{}", count, s);
    case ResourceKind::WorkerThreads:
      return fmt::format("threads of {} worker{}", count, s);
    case ResourceKind::CopyEngine:
      return fmt::format("{} copy engine{}", count, s);
    case ResourceKind::Fabric:
      return fmt::format("{} link{} between switches", count, s);
    case ResourceKind::Inside:
      return fmt::format("{} link{} inside hosts", count, s);
  }
  return "other";
}

// One row per kind of resource, most used first.
std::string resources_text(const PolicyResult& r, std::size_t width) {
  struct Group {
    ResourceKind kind;
    std::size_t count = 0;
    const ResourceUse* most = nullptr;
    double sum = 0;
    double bytes = 0;
  };
  std::vector<Group> groups;
  for (const ResourceUse& use : r.resources) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.kind == use.kind; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{use.kind});
    ++group->count;
    group->sum += use.utilisation;
    group->bytes += use.bytes_per_step;
    if (group->most == nullptr || use.utilisation > group->most->utilisation) group->most = &use;
  }
  std::erase_if(groups, [](const Group& g) { return g.most->utilisation <= 0; });
  if (groups.empty()) return "";
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.most->utilisation > b.most->utilisation; });
  Table table;
  table.columns = {
      {"used by " + escape_control(r.policy), Align::Left}, {"most used", Align::Right}, {"mean"}, {"bytes per step"}};
  for (const Group& g : groups)
    table.rows.push_back(
        {{kind_text(g.count, g.kind), ""},
         {analysis::percent(g.most->utilisation), g.count > 1 ? "  " + escape_control(g.most->name) : ""},
         {analysis::percent(g.sum / static_cast<double>(g.count)), ""},
         {g.bytes > 0 ? analysis::bytes_text(g.bytes) : "-", ""}});
  return render(table, width);
}

std::string servers_text(const PolicyResult& r, std::size_t width) {
  if (r.servers.empty()) return "";
  std::vector<const ServerLoad*> servers;
  for (const ServerLoad& s : r.servers) servers.push_back(&s);
  const bool cut = servers.size() > kServersShown;
  if (cut) {
    std::stable_sort(servers.begin(), servers.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    servers.resize(kServersShown);
  }
  Table table;
  table.columns = {{"server", Align::Left}, {"holds"}, {"transfers"}, {"largest"}, {"of", Align::Left}};
  for (const ServerLoad* s : servers)
    table.rows.push_back({{escape_control(s->name), ""},
                          {analysis::bytes_text(static_cast<double>(s->bytes)), ""},
                          {fmt::format("{}", s->transfers), ""},
                          {analysis::bytes_text(static_cast<double>(s->largest_bytes)), ""},
                          {escape_control(s->largest), ""}});
  std::string out = render(table, width);
  if (cut) out += fmt::format("and {} servers that hold less\n", r.servers.size() - kServersShown);
  return out;
}

// "Gradients by staleness: 0: 12.0 %, 1: 71.3 %, 2: 16.7 %; mean 1.05, at most 2."
std::string staleness_text(const PolicyResult& r, std::size_t width) {
  if (!r.staleness.known) return "";
  constexpr std::size_t kShown = 10;
  std::string out;
  double rest = 1;
  for (std::size_t s = 0; s < std::min(kShown, r.staleness.histogram.size()); ++s) {
    rest -= r.staleness.histogram[s];
    if (r.staleness.histogram[s] > 0)
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", s, analysis::percent(r.staleness.histogram[s]));
  }
  if (r.staleness.histogram.size() > kShown)
    out += fmt::format("{}{} and more: {}", out.empty() ? "" : ", ", kShown, analysis::percent(std::max(rest, 0.0)));
  return wrap(fmt::format("Gradients of {} by staleness: {}; mean {:.2f}, at most {}.", escape_control(r.policy), out,
                          r.staleness.mean, r.staleness.max),
              width, 2);
}

// "tac, the fastest" or "tic, the fastest, with tac less than 0.1 % behind".
std::string fastest_text(std::span<const PolicyResult> point, const PolicyResult& fastest) {
  std::string alike;
  for (const PolicyResult& r : point)
    if (&r != &fastest && !r.deadlock && r.step_time.estimate.mean < fastest.step_time.estimate.mean * 1.001)
      alike += (alike.empty() ? "" : ", ") + escape_control(r.policy);
  const std::string text = escape_control(fastest.policy) + ", the fastest";
  return alike.empty() ? text : text + ", with " + alike + " less than 0.1 % behind";
}

// The fastest policy that did not end in a deadlock, or null; fifo where it is as good, since it needs no explaining.
const PolicyResult* fastest_of(std::span<const PolicyResult> point) {
  const PolicyResult* fastest = nullptr;
  for (const PolicyResult& r : point)
    if (!r.deadlock && (fastest == nullptr || r.step_time.estimate.mean < fastest->step_time.estimate.mean))
      fastest = &r;
  for (const PolicyResult& r : point)
    if (r.policy == "fifo" && !r.deadlock && r.step_time.estimate.mean < fastest->step_time.estimate.mean * 1.0005)
      return &r;
  return fastest;
}

const ResourceUse* busiest(const PolicyResult& r) {
  const auto most =
      std::max_element(r.resources.begin(), r.resources.end(),
                       [](const ResourceUse& a, const ResourceUse& b) { return a.utilisation < b.utilisation; });
  return most == r.resources.end() ? nullptr : &*most;
}

// One row per point: its fastest policy, what it reaches and what is used most.
std::string summary_text(const std::vector<std::span<const PolicyResult>>& points) {
  Table table;
  for (const auto& [path, value] : points.front().front().vary)
    table.columns.push_back({escape_control(path), Align::Left});
  table.columns.push_back({"fastest", Align::Left});
  for (const char* header : {"step time", "samples/s", "scaling", "gap"}) table.columns.push_back({header});
  table.columns.push_back({"most used", Align::Left});
  for (const auto& point : points) {
    std::vector<Cell> row;
    for (const auto& [path, value] : point.front().vary) row.push_back({escape_control(value), ""});
    if (const PolicyResult* r = fastest_of(point)) {
      const ResourceUse* use = busiest(*r);
      row.push_back({escape_control(r->policy), ""});
      row.push_back({analysis::seconds_text(r->step_time.estimate.mean), ""});
      row.push_back({fmt::format("{:.1f}", r->samples_per_s), ""});
      row.push_back({r->scaling_efficiency.value ? analysis::percent(*r->scaling_efficiency.value) : "-", ""});
      row.push_back({r->gap.value ? analysis::percent(std::max(0.0, *r->gap.value)) : "-", ""});
      row.push_back({use == nullptr ? "-" : escape_control(use->name) + " " + analysis::percent(use->utilisation), ""});
    } else {
      row.push_back({"deadlock", ""});
      for (int i = 0; i < 5; ++i) row.push_back({"-", ""});
    }
    table.rows.push_back(std::move(row));
  }
  return render(table, kWide) +
         wrap("scaling: samples/s over workers times those of one worker; gap: above the lower bound", kNarrow, 2);
}

std::string point_text(std::span<const PolicyResult> point) {
  std::string out;
  const std::string title = point_title(point.front());
  if (point.front().job) return (title.empty() ? "" : wrap(title, kWide, 2)) + jobs_text(point, kWide);
  const std::string table = render(point_table(point), kWide);
  std::size_t width = kNarrow;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    width = std::clamp(display_width(std::string_view(table).substr(at, end - at)), width, kWide);
    at = end + 1;
  }
  if (!title.empty()) out += wrap(title, width, 2);
  out += table + absent_notes(point, width);
  for (const PolicyResult& r : point)
    if (r.deadlock)
      out += wrap(fmt::format("{}: deadlock: {}", escape_control(r.policy), escape_control(*r.deadlock)), width, 2);
  const PolicyResult* fastest = fastest_of(point);
  if (fastest == nullptr) return out;
  if (!fastest->verdict.empty()) {
    const std::string who = point.size() == 1 ? "" : " (" + fastest_text(point, *fastest) + ")";
    out += '\n' + wrap(fmt::format("Verdict{}: {}", who, escape_control(fastest->verdict)), width, 2);
  }
  for (const std::string& part :
       {resources_text(*fastest, width), servers_text(*fastest, width), staleness_text(*fastest, width)})
    if (!part.empty()) out += '\n' + part;
  return out;
}

// "10 replications" or "5-20 replications" over the results.
std::string replications_text(const analysis::RunResult& result) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (const PolicyResult& r : result.results) {
    if (r.deadlock) continue;
    least = least == 0 ? r.step_time.n : std::min(least, r.step_time.n);
    most = std::max(most, r.step_time.n);
  }
  if (most == 0) return "";
  if (least == most) return fmt::format(", {} replication{}", most, most == 1 ? "" : "s");
  return fmt::format(", {}-{} replications", least, most);
}

}  // namespace

std::string text(const analysis::RunResult& result) {
  const std::vector<PolicyResult>& all = result.results;
  std::vector<std::span<const PolicyResult>> points;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].vary == all[begin].vary) ++end;
    points.push_back(std::span(all).subspan(begin, end - begin));
    begin = end;
  }
  std::string out = wrap(escape_control(result.name), kNarrow);
  out += wrap(escape_control(result.setup), kNarrow, 2);
  if (points.size() > 1) out += fmt::format("the first of {} points; ", points.size());
  out += fmt::format("seed {}{}\n", result.seed, replications_text(result));
  if (points.size() > 1 && !all.front().job) out += '\n' + summary_text(points);
  for (const auto& point : points) out += '\n' + point_text(point);
  if (!result.assumptions.empty()) {
    out += "\nThe answer rests on:\n";
    for (const std::string& a : result.assumptions) out += wrap("- " + escape_control(a), kNarrow, 2);
  }
  return out;
}

}  // namespace stretto::report
