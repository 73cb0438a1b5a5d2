// SPDX-License-Identifier: Apache-2.0
#include "report/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/words.hpp"
#include "io/json/writer.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::AttributedPolicy;
using analysis::Cause;
using analysis::Estimate;
using analysis::kPathKinds;
using analysis::NamedLink;
using analysis::NamedPath;
using analysis::PathKind;
using json::Writer;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLinksShown = 8;
constexpr Writer::Style kInline = Writer::Style::Inline;

double half(const Estimate& e) { return (e.ci95_high - e.ci95_low) / 2; }

Cell percent_cell(const Estimate& e) {
  return {analysis::percent(e.mean), half(e) > 0 ? fmt::format(" ± {:.1f}", 100 * half(e)) : ""};
}

Cell time_cell(double seconds) {
  return {fmt::format("{}{}", seconds < 0 ? "-" : "", analysis::seconds_text(std::abs(seconds))), ""};
}

std::string title(const AttributedPolicy& r) {
  std::string text;
  for (const auto& [path, value] : r.vary)
    text += (text.empty() ? "" : ", ") + escape_control(path) + " = " + escape_control(value);
  return text;
}

Table causes_table(const analysis::Attribution& a) {
  Table table{{{"cause", Align::Left}, {"share of the step"}, {"time"}, {"goes if it alone goes"}}, {}};
  for (std::size_t i = 0; i < analysis::kCauses; ++i) {
    const analysis::CauseCost& c = a.causes[i];
    table.rows.push_back({{std::string(cause_words(static_cast<Cause>(i))), ""},
                          percent_cell(c.cost.share),
                          time_cell(c.cost.seconds.mean),
                          percent_cell(c.alone)});
  }
  table.rows.push_back(
      {{"left: compute, transfers alone", ""}, percent_cell(a.left.share), time_cell(a.left.seconds.mean), {"", ""}});
  table.rows.push_back({{"the whole step", ""}, {"100.0 %", ""}, time_cell(a.step_s.mean), {"", ""}});
  return table;
}

// Kinds by time, longest first; those that take none are left out.
std::vector<std::size_t> kinds_by_time(const std::array<double, kPathKinds>& seconds) {
  std::vector<std::size_t> kinds;
  for (std::size_t k = 0; k < kPathKinds; ++k)
    if (seconds[k] > 0) kinds.push_back(k);
  std::stable_sort(kinds.begin(), kinds.end(), [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  return kinds;
}

std::string words(std::size_t kind) { return std::string(analysis::path_words(static_cast<PathKind>(kind))); }

std::string left_text(const NamedPath& path) {
  std::string text;
  for (const std::size_t k : kinds_by_time(path.total_s))
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : "; ", analysis::percent(path.total_s[k] / path.step_s), words(k));
  return "What is left, along its critical path: " + text + ".";
}

Table kinds_table(const NamedPath& path) {
  Table table{{{"critical path of one step", Align::Left}, {"time"}, {"share"}}, {}};
  for (const std::size_t k : kinds_by_time(path.total_s))
    table.rows.push_back(
        {{words(k), ""}, time_cell(path.total_s[k]), {analysis::percent(path.total_s[k] / path.step_s), ""}});
  table.rows.push_back({{"sum: the step", ""}, time_cell(path.step_s), {"100.0 %", ""}});
  return table;
}

Table links_table(const NamedPath& path) {
  std::vector<const NamedLink*> longest;
  for (const NamedLink& link : path.links) longest.push_back(&link);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const NamedLink* a, const NamedLink* b) { return a->to_s - a->from_s > b->to_s - b->from_s; });
  longest.resize(std::min(longest.size(), kLinksShown));
  Table table{{{"longest links of it", Align::Left}, {"time"}, {"mostly", Align::Left}}, {}};
  for (const NamedLink* link : longest)
    table.rows.push_back({{escape_control(link->name), ""},
                          time_cell(link->to_s - link->from_s),
                          {words(kinds_by_time(link->parts_s).front()), ""}});
  return table;
}

const char* starts_text(const AttributedPolicy& r) {
  if (r.start_offsets) return " Start offsets of workers count as part of it.";
  return r.may_be_staggered ? " In all of these workers start together; policy staggered is not among them." : "";
}

std::string policy_text(const AttributedPolicy& r) {
  std::string out = "\n";
  if (!r.vary.empty()) out += wrap(title(r), kWidth, 2);
  if (r.deadlock)
    return out +
           wrap(fmt::format("{}: deadlock: {}", escape_control(r.policy), escape_control(*r.deadlock)), kWidth, 2);
  const analysis::Attribution& a = r.attribution;
  out += wrap(fmt::format("{}: a step takes {}{}", escape_control(r.policy), analysis::seconds_text(a.step_s.mean),
                          a.replications > 1 ? fmt::format(" (± {}, {} replications)",
                                                           analysis::seconds_text(half(a.step_s)), a.replications)
                                             : ""),
              kWidth, 2);
  out += render(causes_table(a), kWidth);
  std::string tried;
  for (const std::string& name : r.tried) tried += (tried.empty() ? "" : ", ") + escape_control(name);
  out += wrap(fmt::format("The transfer order is held against the best one known, {} (of {}).{}",
                          escape_control(r.best_order), tried, starts_text(r)),
              kWidth, 2);
  out += wrap(left_text(r.left_path), kWidth, 2);
  out += '\n' + render(kinds_table(r.path), kWidth);
  return out + '\n' + render(links_table(r.path), kWidth);
}

void interval(Writer& w, const char* key, const Estimate& e) {
  w.key(key).begin_object(kInline);
  w.member("mean", e.mean).member("ci95_low", e.ci95_low).member("ci95_high", e.ci95_high).end_object();
}

void parts(Writer& w, const std::array<double, kPathKinds>& seconds) {
  w.begin_object(kInline);
  for (std::size_t k = 0; k < kPathKinds; ++k)
    if (seconds[k] > 0) w.member(analysis::path_key(static_cast<PathKind>(k)), seconds[k]);
  w.end_object();
}

void path(Writer& w, const char* key, const NamedPath& p) {
  w.key(key).begin_object();
  w.member("step_s", p.step_s);
  w.key("kinds_s");
  parts(w, p.total_s);
  w.key("links").begin_array();
  for (const NamedLink& link : p.links) {
    w.begin_object(kInline);
    w.member("name", link.name).member("from_s", link.from_s).member("to_s", link.to_s);
    w.key("kinds_s");
    parts(w, link.parts_s);
    w.end_object();
  }
  w.end_array().end_object();
}

void policy_json(Writer& w, const AttributedPolicy& r) {
  w.begin_object();
  w.member("policy", r.policy);
  w.key("vary").begin_object(kInline);
  for (const auto& [axis, value] : r.vary) w.member(axis, value);
  w.end_object();
  if (r.deadlock) {
    w.member("deadlock", *r.deadlock).end_object();
    return;
  }
  const analysis::Attribution& a = r.attribution;
  w.key("deadlock").value(nullptr).member("deadlock_reason", "the simulation ended");
  w.member("replications", a.replications);
  interval(w, "step_s", a.step_s);
  w.key("causes").begin_array();
  for (std::size_t i = 0; i < analysis::kCauses; ++i) {
    w.begin_object();
    w.member("cause", analysis::cause_key(static_cast<Cause>(i)));
    interval(w, "share", a.causes[i].cost.share);
    interval(w, "seconds", a.causes[i].cost.seconds);
    interval(w, "alone", a.causes[i].alone);
    w.end_object();
  }
  w.end_array();
  w.key("left").begin_object();
  interval(w, "share", a.left.share);
  interval(w, "seconds", a.left.seconds);
  w.end_object();
  w.member("best_order", r.best_order);
  w.key("orders_tried").begin_array(kInline);
  for (const std::string& name : r.tried) w.value(name);
  w.end_array();
  w.member("start_offsets", r.start_offsets);
  path(w, "critical_path", r.path);
  path(w, "left_path", r.left_path);
  w.end_object();
}

}  // namespace

std::string attribution_text(const analysis::AttributionResult& result) {
  std::string out = wrap(escape_control(result.name), kWidth);
  out += fmt::format("seed {}\n", result.seed);
  for (const AttributedPolicy& r : result.results) out += policy_text(r);
  return out;
}

std::string attribution_json(const analysis::AttributionResult& result) {
  Writer w;
  w.begin_object();
  w.member("format", kAttributionFormat).member("version", kAttributionVersion);
  w.member("name", result.name).member("seed", result.seed);
  w.key("results").begin_array();
  for (const AttributedPolicy& r : result.results) policy_json(w, r);
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::report
