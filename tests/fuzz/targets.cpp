// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/load.hpp"
#include "experiment/spec/spec.hpp"
#include "io/export/schedule.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/order_file.hpp"
#include "io/import/schedule.hpp"
#include "io/import/workload.hpp"
#include "models/plan/named.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/stores.hpp"
#include "tests/support/paths.hpp"

namespace stretto::fuzz {

namespace {

const char* const kPath = "fuzz";

bool says_include(const config::Node& node) {
  return std::any_of(node.entries.begin(), node.entries.end(),
                     [](const config::Entry& e) {
                       return e.key.find("include") != std::string::npos || says_include(e.value);
                     }) ||
         std::any_of(node.items.begin(), node.items.end(), says_include);
}

// Files that a text includes are not read: it may name any.
bool read_experiment(const std::string& text) {
  if (says_include(config::parse_text(text, kPath))) return false;
  experiment::Options options;
  options.shipped = source_path("configs");
  const experiment::Experiment experiment = experiment::read_experiment(text, kPath, {}, options);
  const std::string written = experiment::effective_yaml(experiment);
  again("an effective configuration", [&] {
    const experiment::Experiment second = experiment::read_experiment(written, kPath, {}, options);
    require(second.points.size() == experiment.points.size(), "the effective configuration has other points");
    for (std::size_t i = 0; i < second.points.size(); ++i)
      require(second.points[i].spec == experiment.points[i].spec, "the effective configuration says something else");
    return true;
  });
  return true;
}

bool import_as(const std::string& text, const char* format, const std::string& graph = "") {
  io::ImportOptions options;
  options.format = format;
  options.graph_path = graph;
  const io::ImportResult result = io::import_text(text, kPath, options);
  const std::string written = io::write_workload(result.graph);
  again("a written workload", [&] {
    require(io::write_workload(io::parse_workload(written, kPath)) == written, "a workload changes when it is read");
    return true;
  });
  return true;
}

bool read_workload(const std::string& text) { return import_as(text, "workload"); }
bool read_pipedream(const std::string& text) { return import_as(text, "pipedream"); }
bool read_tensorflow(const std::string& text) { return import_as(text, "tensorflow"); }
bool read_trace(const std::string& text) {
  return import_as(text, "tensorflow", source_path("tests/fixtures/tf_step.graph.pb"));
}

const graph::Graph& toy() {
  static const graph::Graph graph = io::read_workload(source_path("tests/fixtures/toy_chain.workload.json"));
  return graph;
}

bool read_schedule(const std::string& text) {
  const plan::Schedule schedule = io::parse_schedule(text, kPath, toy(), {2, 2});
  const std::string written = io::write_schedule(toy(), schedule);
  again("a written schedule", [&] {
    require(io::write_schedule(toy(), io::parse_schedule(written, kPath, toy(), {2, 2})) == written,
            "a schedule changes when it is read");
    return true;
  });
  return true;
}

// Both forms of orders, as text says; then their ranks.
bool read_order(const std::string& text) {
  const bool json = text.find('{') < text.find('\n');
  const std::vector<plan::NamedOrder> orders =
      json ? io::parse_arrivals(text, kPath) : std::vector<plan::NamedOrder>{io::parse_order_file(text, kPath)};
  plan::Layout layout;
  layout.servers = 1;
  layout.first.push_back(0);
  for (std::uint32_t p = 0; p < toy().parameters.size(); ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, toy().parameters[p].bytes, 0});
    layout.first.push_back(p + 1);
  }
  for (const plan::NamedOrder& order : orders) plan::ranks_of(order, toy(), layout, plan::Slices::Adjacent);
  return true;
}

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> all = {
      {"experiment",
       read_experiment,
       {},
       {"{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "'",
        "\"",
        "#",
        "&a",
        "*a",
        "!!str ",
        "<<: ",
        "---\n",
        "...\n",
        "|\n",
        ">-\n",
        "~",
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        ".nan",
        "2 %",
        "10 ns",
        "0x1F",
        "unlimited",
        "vary: ",
        "\t",
        "cluster.",
        "9223372036854775807",
        "\xff",
        "\xEF\xBB\xBF",
        std::string(1, '\0'),
        "? ",
        "cluster:\n  workers: 3\n"}},
      {"workload",
       read_workload,
       {"tests/fixtures/toy_chain.workload.json"},
       {"{", "}", "[", "]", "\"", ",", ":", "\\u0000", "null", "-1", "1e999", "9223372036854775807", "0.5", "\xff",
        "\"a\"", "\"forward\"", "\"ops\"", "\"server\": 3", "\"flops\": 1e300"}},
      {"pipedream",
       read_pipedream,
       {"tests/fixtures/toy.graph.txt"},
       {" -- ", "node1", "node2", "\t", "\n", "=", ", ", "1e999", "-1", "nan", "stage_id=", "Input", "LSTM", "\xff"}},
      {"tensorflow",
       read_tensorflow,
       {"tests/fixtures/tf_step.graph.pb", "tests/fixtures/tf_step.graph.pbtxt", "tests/fixtures/tf_step.run.pb.gz"},
       {"node {", "}", "name: \"", "input: \"^", "attr {", "\x0a", "\x12\x04", "\xff\xff\xff\xff\x0f", ":0",
        "gradients/", "/job:ps/task:0", "VariableV2", "Identity", "dim { size: -1 }", "9223372036854775807"}},
      {"trace",
       read_trace,
       {"tests/fixtures/tf_step.run.pbtxt", "tests/fixtures/tf_step.run.pb.gz"},
       {"node_stats {", "}", "all_end_rel_nanos: ", "-1", "9223372036854775807", "\x0a", "\x12\x04", "/stream:all",
        "/job:ps/task:0", "timeline_label: \"", "[1B] edge_1_x from /job:ps", "RecvTensor"}},
      {"order",
       read_order,
       {},
       {"\t", "\n", "wa", "wb", "4294967295", "4294967296", "-1", "{", "}", "[", "]", "\"", ",", "\xff", "\r\n"}},
      {"schedule",
       read_schedule,
       {},
       {"{", "}", "[", "]", "\"", ",", ":", "null", "-1", "1e999", "0", "4294967295", "9223372036854775807",
        "\"window\"", "\"credit\"", "\"free\"", "\"pull\": 1", "\"slices\"", "\xff"}},
      {"store",
       read_store,
       {},
       {std::string(1, '\0'), std::string(8, '\0'), "\x01", "\x7f", "\x80", "\xff\xff\xff\xff", "SQLite format 3",
        "strt", "CREATE TABLE ", "CREATE VIEW ", "points", "results", "TEXT", "done", "failed", "[\"", "\"]"},
       1000},
      {"store_log",
       read_log,
       {},
       {std::string(1, '\0'), std::string(8, '\0'), "\x01", "\x7f", "\x80", "\xff\xff\xff\xff", "\x37\x7f\x06\x82",
        "points", "done", "failed"},
       400},
  };
  return all;
}

std::vector<std::string> seed_files(const Target& target) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  const fs::path corpus = source_path(std::string("tests/fuzz/corpus/") + target.name);
  if (fs::is_directory(corpus))
    for (const fs::directory_entry& entry : fs::directory_iterator(corpus)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& seed : target.seeds) files.push_back(source_path(seed));
  return files;
}

Outcome run(const Target& target, const std::string& text) {
  try {
    return target.read(text) ? Outcome::Accepted : Outcome::Refused;
  } catch (const UserError& e) {
    require(!e.diagnostics().empty() && !render(e.diagnostics()).empty(), "an error without words");
    return Outcome::Refused;
  }
}

}  // namespace stretto::fuzz
