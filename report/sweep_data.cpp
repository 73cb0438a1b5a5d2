// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "io/json/writer.hpp"

namespace stretto::report {

namespace {

using json::Writer;

constexpr Writer::Style kInline = Writer::Style::Inline;
constexpr std::size_t kMostErrors = 100;

// Figures of the store that the page shows.
constexpr const char* kShown[] = {"step_time_s",
                                  "step_time_ci95_low_s",
                                  "step_time_ci95_high_s",
                                  "samples_per_s",
                                  "scaling_efficiency",
                                  "gain_over_random",
                                  "gain_over_random_ci95_low",
                                  "gain_over_random_ci95_high",
                                  "gain_over_fifo",
                                  "gain_over_fifo_ci95_low",
                                  "gain_over_fifo_ci95_high",
                                  "lower_bound_s",
                                  "gap",
                                  "straggler_effect",
                                  "busiest_utilisation"};

struct Policy {
  std::string name;
  std::vector<std::vector<std::optional<double>>> figures;  // [shown][point]
};

struct Columns {
  std::vector<std::vector<std::string>> texts;  // all values of each path, in order of appearance
  std::vector<std::vector<std::size_t>> value;  // [path][point]
  std::vector<std::int64_t> index;
  std::vector<int> status;
  std::vector<std::pair<std::int64_t, std::string>> errors;
  std::vector<Policy> policies;
};

std::vector<std::size_t> shown_columns() {
  const auto& names = study::figure_names();
  std::vector<std::size_t> columns;
  for (const char* name : kShown)
    columns.push_back(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  return columns;
}

Columns read(study::Store& store, const study::SweepInfo& sweep) {
  const std::vector<std::size_t> columns = shown_columns();
  Columns out;
  out.texts.resize(sweep.paths.size());
  out.value.resize(sweep.paths.size());
  std::vector<std::map<std::string, std::size_t>> known(sweep.paths.size());
  std::map<std::string, std::size_t> policies;
  store.each_point(sweep.id, [&](const study::StoredPoint& p) {
    const std::size_t at = out.index.size();
    out.index.push_back(p.index);
    out.status.push_back(static_cast<int>(p.status));
    for (std::size_t i = 0; i < sweep.paths.size(); ++i) {
      const std::string text = i < p.values.size() ? p.values[i] : "";
      const auto [place, is_new] = known[i].emplace(text, out.texts[i].size());
      if (is_new) out.texts[i].push_back(text);
      out.value[i].push_back(place->second);
    }
    if (p.status != study::PointStatus::Done && out.errors.size() < kMostErrors) {
      std::string why = p.error.substr(0, p.error.find('\n'));
      for (const study::StoredResult& r : p.results)
        if (why.empty() && !r.deadlock.empty()) why = fmt::format("deadlock of {}: {}", r.policy, r.deadlock);
      out.errors.emplace_back(p.index, why);
    }
    for (const study::StoredResult& r : p.results) {
      const auto [place, is_new] = policies.emplace(r.policy, out.policies.size());
      if (is_new) out.policies.push_back({r.policy, std::vector<std::vector<std::optional<double>>>(columns.size())});
      auto& figures = out.policies[place->second].figures;
      for (std::size_t f = 0; f < columns.size(); ++f) {
        figures[f].resize(at);
        figures[f].push_back(r.figures[columns[f]]);
      }
    }
  });
  for (Policy& policy : out.policies)
    for (auto& figure : policy.figures) figure.resize(out.index.size());
  return out;
}

void number(Writer& w, const std::optional<double>& value) {
  if (value && std::isfinite(*value))
    w.number(fmt::format("{:.5g}", *value));
  else
    w.value(nullptr);
}

}  // namespace

std::string sweep_json(study::Store& store, const study::SweepInfo& sweep) {
  const Columns data = read(store, sweep);
  const study::Store::Counts counts = store.counts(sweep.id);
  Writer w(0);
  w.begin_object().member("name", sweep.name).member("number", sweep.id).member("hash", sweep.hash);
  w.member("size", sweep.size).member("done", counts.done);
  w.member("deadlock", counts.deadlock).member("failed", counts.failed);
  w.key("paths").begin_array(kInline);
  for (const std::string& path : sweep.paths) w.value(path);
  w.end_array();
  w.key("texts").begin_array();
  for (const auto& texts : data.texts) {
    w.begin_array(kInline);
    for (const std::string& text : texts) w.value(text);
    w.end_array();
  }
  w.end_array();
  w.key("values").begin_array();
  for (const auto& column : data.value) {
    w.begin_array(kInline);
    for (const std::size_t v : column) w.value(v);
    w.end_array();
  }
  w.end_array();
  w.key("index").begin_array(kInline);
  for (const std::int64_t i : data.index) w.value(i);
  w.end_array();
  w.key("status").begin_array(kInline);
  for (const int s : data.status) w.value(s);
  w.end_array();
  w.key("errors").begin_array();
  for (const auto& [index, why] : data.errors) w.begin_array(kInline).value(index).value(why).end_array();
  w.end_array();
  w.key("figures").begin_array(kInline);
  for (const char* name : kShown) w.value(name);
  w.end_array();
  w.key("policies").begin_array();
  for (const Policy& policy : data.policies) {
    w.begin_object().member("name", policy.name).key("figures").begin_array();
    for (const auto& figure : policy.figures) {
      w.begin_array(kInline);
      for (const auto& value : figure) number(w, value);
      w.end_array();
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::report
