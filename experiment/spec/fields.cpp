// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "experiment/spec/rows.hpp"
#include "sim/base/join.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

void read_version(Reader& reader, const Node& node, const std::string& key, Spec&) {
  const auto version = reader.read_integer(node, key, 1, std::numeric_limits<std::int64_t>::max());
  if (version && *version > config::kFormatVersion)
    reader.error(node.place, key, fmt::format("version {} of the file format is newer than this program", *version),
                 fmt::format("this program reads version {}", config::kFormatVersion));
}

void add_head(Rows& rows) {
  rows.push_back(custom("stretto", "integer", "1", "", "version of the file format; every experiment says it",
                        read_version, [](const Spec&) { return std::to_string(config::kFormatVersion); }));
  rows.push_back(config::text<Spec>(
      "name", "", "name of the experiment; the file's name if left out", [](auto& s) -> auto& { return s.name; }));
}

void add_runs(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "runs.iterations", 1, 1'000'000, "20", "steps of one replication, warm-up included",
      [](auto& s) -> auto& { return s.runs.iterations; }));
  rows.push_back(config::integer<Spec>(
      "runs.warm_up", 0, 1'000'000, "2", "steps that are not measured",
      [](auto& s) -> auto& { return s.runs.warm_up; }));
  rows.push_back(config::integer<Spec>(
      "runs.replications.min", 1, 100'000, "5", "replications at least; replications: N sets min and max",
      [](auto& s) -> auto& { return s.runs.min_replications; }, "runs.replications"));
  rows.push_back(config::integer<Spec>(
      "runs.replications.max", 1, 100'000, "50", "replications at most",
      [](auto& s) -> auto& { return s.runs.max_replications; }, "runs.replications"));
  rows.push_back(config::number<Spec>(
      "runs.replications.precision", true, {0, 1, true, "more than 0, at most 1"}, "0.01",
      "replications end when the 95 % interval is this narrow, relative to the mean",
      [](auto& s) -> auto& { return s.runs.precision; }));
  rows.push_back(config::integer<Spec>(
      "runs.seed", 0, std::numeric_limits<std::int64_t>::max(), "1", "root of all random numbers",
      [](auto& s) -> auto& { return s.runs.seed; }));
  rows.push_back(custom(
      "vary", "mapping", fmt::format("at most {} points", kMaxPoints), "",
      "path: list of values; every combination is run, the first path varies slowest",
      [](Reader&, const Node&, const std::string&, Spec&) {}, [](const Spec&) { return ""; }));
}

}  // namespace

config::Field<Spec> custom(std::string path, std::string type, std::string range, std::string fallback,
                           std::string help, std::function<void(Reader&, const Node&, const std::string&, Spec&)> read,
                           std::function<std::string(const Spec&)> write) {
  return {{std::move(path), std::move(type), std::move(range), std::move(fallback), std::move(help), ""},
          std::move(read),
          std::move(write)};
}

void only(Rows& rows, std::function<bool(const Spec&)> shown) {
  rows.back().write = [write = rows.back().write, shown = std::move(shown)](const Spec& s) {
    return shown(s) ? write(s) : std::string();
  };
}

void read_item(Reader& reader, const Node& node, const std::string& key, const std::vector<std::string>& names,
               const std::function<void(const config::Entry&, const std::string& path)>& read) {
  if (!node.is_map())
    return reader.error(node.place, key, "expected a mapping, found " + config::describe(node), "keys: " + join(names));
  for (const config::Entry& entry : node.entries) {
    const std::string path = key + "." + entry.key;
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) {
      read(entry, path);
      continue;
    }
    const std::string guess = nearest_name(entry.key, names);
    reader.error(entry.place, path, "unknown key",
                 (guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess)) + "valid here: " + join(names));
  }
}

void read_list(Reader& reader, const Node& node, const std::string& key, const char* example,
               const std::function<void(const Node&, const std::string&)>& read) {
  if (!node.is_sequence())
    return reader.error(node.place, key, "expected a list, found " + config::describe(node), example);
  for (std::size_t i = 0; i < node.items.size(); ++i) read(node.items[i], fmt::format("{}[{}]", key, i));
}

config::Place place_of(const Node& root, std::string path) {
  while (!path.empty()) {
    if (const config::Entry* entry = config::find_entry(root, path)) {
      const bool value = entry->value.is_scalar() || entry->value.is_sequence();
      return value ? entry->value.place : entry->place;
    }
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  return root.place;
}

const std::vector<config::Field<Spec>>& spec_fields() {
  static const Rows kRows = [] {
    Rows rows;
    add_head(rows);
    add_workload_fields(rows);
    add_cluster_fields(rows);
    add_exchange_field(rows);
    add_training_fields(rows);
    add_all_reduce_fields(rows);
    add_policies_field(rows);
    add_noise_fields(rows);
    add_jobs_field(rows);
    add_search_fields(rows);
    add_runs(rows);
    add_sweep_fields(rows);
    hide_servers(rows);
    return rows;
  }();
  return kRows;
}

}  // namespace stretto::experiment
