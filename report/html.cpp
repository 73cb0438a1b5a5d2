// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "io/json/writer.hpp"
#include "report/attribution.hpp"
#include "report/json.hpp"
#include "report/kinds.hpp"
#include "report/template.hpp"

namespace stretto::report {

namespace {

using analysis::Bar;
using analysis::StepView;
using json::Writer;

constexpr Writer::Style kInline = Writer::Style::Inline;

template <class List, class F>
void array(Writer& w, const char* key, const List& list, F value) {
  w.key(key).begin_array(kInline);
  for (const auto& e : list) w.value(value(e));
  w.end_array();
}

// Picoseconds of the unit in which bars are written: no step has fewer than a million.
std::int64_t tick_of(const StepView& view) { return view.step_s >= 1e-3 ? 1000 : 1; }

void bars(Writer& w, const StepView& view) {
  const std::int64_t tick = tick_of(view);
  const auto ticks = [tick](auto t) { return (t.ps() + (t.ps() < 0 ? -tick : tick) / 2) / tick; };
  const auto apart = [&](Time from, Time to) { return ticks(to) - ticks(from); };
  w.key("bars").begin_object();
  array(w, "kind", view.bars, [](const Bar& b) { return static_cast<int>(b.kind); });
  array(w, "row", view.bars, [](const Bar& b) { return b.row; });
  array(w, "other_row", view.bars,
        [](const Bar& b) { return b.other_row == analysis::kNoRow ? -1 : static_cast<std::int64_t>(b.other_row); });
  array(w, "name", view.bars, [](const Bar& b) { return b.name; });
  array(w, "critical", view.bars, [](const Bar& b) { return b.critical ? 1 : 0; });
  array(w, "bytes", view.bars, [](const Bar& b) { return b.bytes; });
  std::int64_t last = 0;
  array(w, "begin_after_last", view.bars, [&](const Bar& b) {
    const std::int64_t begin = ticks(b.begin);
    return begin - std::exchange(last, begin);
  });
  array(w, "wait", view.bars, [&](const Bar& b) { return apart(b.ready, b.begin); });
  array(w, "turn", view.bars, [&](const Bar& b) { return apart(b.ready, b.handed); });
  array(w, "send", view.bars, [&](const Bar& b) { return apart(b.handed, b.on_wire); });
  array(w, "length", view.bars, [&](const Bar& b) { return apart(b.begin, b.arrived); });
  array(w, "receive", view.bars, [&](const Bar& b) { return apart(b.arrived, b.end); });
  array(w, "alone", view.bars, [&](const Bar& b) { return ticks(b.alone); });
  array(w, "latency", view.bars, [&](const Bar& b) { return ticks(b.latency); });
  w.end_object();
}

void path(Writer& w, const analysis::NamedPath& p) {
  w.key("path").begin_array();
  for (const analysis::NamedLink& link : p.links) {
    w.begin_object(kInline).member("name", link.name).member("from_s", link.from_s).member("to_s", link.to_s);
    w.key("parts_s").begin_array(kInline);
    for (const double part : link.parts_s) w.value(part);
    w.end_array().end_object();
  }
  w.end_array();
  array(w, "path_total_s", p.total_s, [](double part) { return part; });
}

std::string step_json(const StepView& view) {
  Writer w(0);
  w.begin_object();
  w.member("policy", view.policy).member("step_s", view.step_s);
  w.member("tick_s", static_cast<double>(tick_of(view)) * 1e-12);
  array(w, "names", view.names, [](const std::string& name) { return name; });
  array(w, "processes", view.rows, [](const analysis::BarRow& row) { return row.process; });
  array(w, "tracks", view.rows, [](const analysis::BarRow& row) { return row.track; });
  bars(w, view);
  path(w, view.path);
  array(w, "moments_s", view.moments_s, [](double t) { return t; });
  w.key("use").begin_array();
  for (const analysis::UseOverTime& use : view.use) {
    w.begin_object(kInline).member("name", use.name).member("kind", kind_key(use.kind));
    const bool used = std::any_of(use.share.begin(), use.share.end(), [](double s) { return s >= 5e-4; });
    w.key("permille").begin_array(kInline);
    if (used)
      for (const double share : use.share) w.value(static_cast<std::int64_t>(1000 * share + 0.5));
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

std::string steps_json(const Page& page) {
  Writer w(0);
  w.begin_object().member("note", page.steps_note);
  w.key("path_kinds").begin_array(kInline);
  for (std::size_t k = 0; k < analysis::kPathKinds; ++k)
    w.value(analysis::path_words(static_cast<analysis::PathKind>(k)));
  w.end_array();
  w.key("steps").begin_array();
  for (const StepView& view : page.steps)
    w.begin_object(kInline)
        .member("policy", view.policy)
        .member("workers", view.workers)
        .member("workers_drawn", view.workers_drawn)
        .end_object();
  w.end_array().end_object();
  return w.finish();
}

std::string origin_json(const Origin& origin) {
  Writer w(0);
  w.begin_object().member("version", origin.version).member("commit", origin.commit);
  array(w, "command", origin.command, [](const std::string& word) { return word; });
  w.member("configuration", origin.configuration);
  w.key("inputs").begin_array();
  for (const auto& [file, hash] : origin.inputs)
    w.begin_object(kInline).member("path", file).member("sha256", hash).end_object();
  w.end_array().end_object();
  return w.finish();
}

// The page tells results apart by their policy.
void name_by_job(analysis::PolicyResult& r) {
  if (!r.job) return;
  const std::string beside =
      r.job->compared.empty() || r.job->compared == r.policy ? std::string() : " (others: " + r.job->compared + ")";
  r.policy = r.job->name + ": " + r.policy + beside;
}

void add(std::string& out, std::string_view id, std::string_view json) {
  out += "<script type=\"application/json\" id=\"data-";
  out += id;
  out += "\">";
  out += script_safe(json);
  out += "</script>\n";
}

}  // namespace

std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      case '\xE2':
        if (json.substr(i, 3) == "\xE2\x80\xA8" || json.substr(i, 3) == "\xE2\x80\xA9") {
          out += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        out += json[i];
    }
  }
  return out;
}

std::string html(const Page& page) {
  std::string out(kPageHead);
  add(out, "origin", origin_json(page.origin));
  if (page.result) {
    analysis::RunResult named = *page.result;
    for (analysis::PolicyResult& r : named.results) name_by_job(r);
    add(out, "result", json(named));
    add(out, "steps", steps_json(page));
    // Each apart, so that a page reads only the two that it shows.
    for (std::size_t i = 0; i < page.steps.size(); ++i) add(out, fmt::format("step-{}", i), step_json(page.steps[i]));
  }
  if (page.attribution) add(out, "attribution", attribution_json(*page.attribution));
  if (!page.sweep.empty()) add(out, "sweep", page.sweep);
  return out + std::string(kPageTail);
}

}  // namespace stretto::report
