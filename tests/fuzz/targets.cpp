// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/trace_path.hpp"
#include "config/load.hpp"
#include "experiment/spec/spec.hpp"
#include "io/export/schedule.hpp"
#include "io/import/import.hpp"
#include "io/import/kineto_calls.hpp"
#include "io/import/order_file.hpp"
#include "io/import/schedule.hpp"
#include "io/import/straggler_trace.hpp"
#include "io/import/workload.hpp"
#include "models/plan/named.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/stores.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/wire_writer.hpp"

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

bool import_as(const Target& target, const std::string& text) {
  const auto file = [](const std::string& path) { return path.empty() ? path : source_path(path); };
  io::ImportOptions options;
  options.format = target.format;
  options.graph_path = file(target.graph);
  options.variables_path = file(target.variables);
  return test::accepted(text, options);
}

// A Kineto trace as calls and works, and the critical path through them.
bool read_kineto_calls(const std::string& text) {
  io::ImportReport report;
  analysis::trace_path(io::read_kineto_calls(text, kPath, report));
  return true;
}

// No workload; the op times go to what asks for them.
bool read_stragglers(const std::string& text) { return !io::parse_straggler_trace(text, kPath).timeline.ops.empty(); }

// An event file as it stands, then the text as an event in a sound record, which random damage seldom leaves.
bool read_events(const std::string& text) {
  io::ImportOptions options;
  options.format = "tensorboard";
  const bool whole = test::accepted(text, options);
  return test::accepted(test::event_record(text), options) || whole;
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

// A format's tokens and those of JSON.
std::vector<std::string> with_json(std::vector<std::string> tokens) {
  for (const char* const token : {"{",
                                  "}",
                                  "[",
                                  "]",
                                  "\"",
                                  ",",
                                  ":",
                                  "\\",
                                  "null",
                                  "true",
                                  "nan",
                                  "-1",
                                  "0",
                                  "0.5",
                                  "1e999",
                                  "9223372036854775807",
                                  "99999999999999999999",
                                  "\"a\"",
                                  "\n",
                                  "\xff"})
    tokens.emplace_back(token);
  return tokens;
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
       nullptr,
       {"tests/fixtures/toy_chain.workload.json"},
       {"{", "}", "[", "]", "\"", ",", ":", "\\u0000", "null", "-1", "1e999", "9223372036854775807", "0.5", "\xff",
        "\"a\"", "\"forward\"", "\"ops\"", "\"server\": 3", "\"flops\": 1e300"},
       "workload"},
      {"pipedream",
       nullptr,
       {"tests/fixtures/toy.graph.txt"},
       {" -- ", "node1", "node2", "\t", "\n", "=", ", ", "1e999", "-1", "nan", "stage_id=", "Input", "LSTM", "\xff"},
       "pipedream"},
      {"tensorflow",
       nullptr,
       {"tests/fixtures/tf_step.graph.pb", "tests/fixtures/tf_step.graph.pbtxt", "tests/fixtures/tf_step.run.pb.gz"},
       {"node {", "}", "name: \"", "input: \"^", "attr {", "\x0a", "\x12\x04", "\xff\xff\xff\xff\x0f", ":0",
        "gradients/", "/job:ps/task:0", "VariableV2", "Identity", "dim { size: -1 }", "9223372036854775807"},
       "tensorflow"},
      {"trace",
       nullptr,
       {"tests/fixtures/tf_step.run.pbtxt", "tests/fixtures/tf_step.run.pb.gz"},
       {"node_stats {", "}", "all_end_rel_nanos: ", "-1", "9223372036854775807", "\x0a", "\x12\x04", "/stream:all",
        "/job:ps/task:0", "timeline_label: \"", "[1B] edge_1_x from /job:ps", "RecvTensor"},
       "tensorflow",
       "tests/fixtures/tf_step.graph.pb"},
      {"tensorboard",
       read_events,
       {},
       {"\x0a", "\x12\x04", "\x22\x80\x01", "\x4a\x10", "\xff\xff\xff\xff\x0f", "brain.Event:2", "gradients/",
        "/job:ps/task:0", "VariableV2", "Identity"}},
      {"timeline",
       nullptr,
       {"tests/fixtures/tf_timeline.json"},
       with_json({"\"ph\": \"X\"", "\"ph\": \"M\"", "\"input0\": \"w\"",
                  "/job:ps/replica:0/task:0/device:CPU:0 Compute", "/stream:all Compute", "_S11", "/_3", "^", ":0",
                  "MEMCPY", "RecvTensor", "VariableV2"}),
       "tensorflow-timeline",
       "",
       "tests/fixtures/tf_timeline.variables.txt"},
      {"kineto",
       nullptr,
       {"tests/fixtures/kineto_ddp.json"},
       with_json({"\"ph\": \"X\"", "\"kernel\"", "\"gpu_memcpy\"", "\"cuda_runtime\"", "\"cpu_op\"", "ProfilerStep#5",
                  "autograd::engine::evaluate_function", "\"correlation\": 1", "ncclDevKernel_AllReduce_",
                  "\"allreduce\"", "\"In msg nelems\": 9", "\"ts\": 4458676010100.0"}),
       "kineto"},
      {"kineto_calls",
       read_kineto_calls,
       {"tests/fixtures/kineto_ddp.json"},
       with_json({"\"ph\": \"X\"", "\"cuda_sync\"", "\"cuda_runtime\"", "\"cpu_op\"", "\"name\": \"Stream Sync\"",
                  "\"name\": \"Context Sync\"", "\"name\": \"Event Sync\"", "\"name\": \"Stream Wait Event\"",
                  "\"correlation\": 1", "\"wait_on_stream\": 7", "\"wait_on_cuda_event_record_corr_id\": 2"})},
      {"pytorch_et",
       nullptr,
       {},
       with_json({"\"id\": 3", "\"ctrl_deps\": 2", "\"aten::mm\"", "\"aten::convolution_backward\"",
                  "\"ProfilerStep#1\"", "autograd::engine::evaluate_function", "\"record_param_comms\"",
                  "\"allreduce\"", "\"Tensor(float)\"", "\"GenericList[Tensor(c10::Half)]\"", "[8, 3]", "[[8], [3]]",
                  "1125899906842624"}),
       "pytorch-et"},
      {"horovod",
       nullptr,
       {},
       with_json({"\"ph\": \"B\"", "\"ph\": \"E\"", "\"ph\": \"X\"", "\"NEGOTIATE_ALLREDUCE\"", "\"ALLREDUCE\"",
                  "\"BROADCAST\"", "\"pid\": 1", "\"ts\": 90", "\"float16\"", "\"[1125899906842624]\"", "\"[]\""}),
       "horovod"},
      {"chakra",
       nullptr,
       {"tests/fixtures/chakra_ddp.et", "tests/fixtures/chakra_step.json"},
       with_json({"\x0a", "\x10", "\x38", "\x52\x0d", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "is_cpu_op",
                  "comm_type", "comm_size", "tid", "\"COMP_NODE\"", "\"COMM_COLL_NODE\"", "\"dataDeps\"",
                  "18446744073709551615", "<None>"}),
       "chakra"},
      {"astra_sim",
       nullptr,
       {},
       {"\n", "\t", " ", "DATA", "HYBRID_CUSTOMIZED", "NONE", "ALLREDUCE", "ALLGATHER", "-1", "0", "1e3",
        "100000000000000", "1125899906842624", "9223372036854775808", "\r\n", "\xff"},
       "astra-sim"},
      {"stragglers",
       read_stragglers,
       {"tests/fixtures/stragglers.csv"},
       with_json({"\r\n", "dp_rank", "optype", "forward-compute", "grads-reduce-scatter", "-1", "1e12", "1000000000",
                  "inf", "\xef\xbb\xbf"})},
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
       "",
       "",
       "",
       1000},
      {"store_log",
       read_log,
       {},
       {std::string(1, '\0'), std::string(8, '\0'), "\x01", "\x7f", "\x80", "\xff\xff\xff\xff", "\x37\x7f\x06\x82",
        "points", "done", "failed"},
       "",
       "",
       "",
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
    const bool accepted = target.read != nullptr ? target.read(text) : import_as(target, text);
    return accepted ? Outcome::Accepted : Outcome::Refused;
  } catch (const UserError& e) {
    require(!e.diagnostics().empty() && !render(e.diagnostics()).empty(), "an error without words");
    return Outcome::Refused;
  }
}

}  // namespace stretto::fuzz
