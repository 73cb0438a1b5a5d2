// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "io/import/tensorboard.hpp"
#include "io/import/tensorflow_extract.hpp"
#include "io/import/tensorflow_file.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/tensorflow_timeline.hpp"
#include "io/import/tensorflow_trace.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;

std::string read_limited(const std::string& path) {
  file::Limits limits;
  limits.max_bytes = kLargestFile;
  return file::read(path, limits);
}

// The GraphDef file of the options; it may lie in an event file.
TfGraph given_graph(const ImportOptions& options) {
  const std::string& path = options.graph_path;
  std::string text = read_limited(path);
  if (is_tensorboard(text)) text = graph_in_events(text, path);
  return build_graph(read_graph_def(text, path), path);
}

TfGraph graph_of(const tf::RunMetadata& metadata, const std::string& path, const ImportOptions& options) {
  if (!options.graph_path.empty()) return given_graph(options);
  if (!metadata.partition_graphs().empty()) return join_partitions(metadata, path);
  refuse_file(path, "a RunMetadata without partition graphs does not say what its ops depend on",
              "give the program's GraphDef too (--graph FILE), or trace with output_partition_graphs");
}

// A GPU's ops are on it in the graph; a trace may hold its kernels where the graph names no device.
std::string traced_device(const TfGraph& graph, const TfTrace& trace) {
  const bool gpu =
      std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const TfNode& n) { return n.device.gpu && !n.device.is_server(); }) ||
      std::any_of(trace.records.begin(), trace.records.end(), [](const auto& r) { return r.second.kernels; });
  return gpu ? "gpu" : "cpu";
}

void check_options(const std::string& text, const std::string& path, const ImportOptions& options) {
  if (text.size() > kLargestFile)
    refuse_file(path, fmt::format("{} bytes, the limit is {}", text.size(), kLargestFile), "trace a single step");
  if (!options.variables_path.empty())
    refuse_file(path, "--variables is for timelines", "a GraphDef holds the sizes of variables");
}

void finish(ImportResult& result, const TfGraph& graph, const TfTrace* trace, const TfDevice& worker,
            const std::string& path, const ImportOptions& options) {
  result.graph = extract_graph(graph, trace, worker, path, options.batch, result.report);
  const std::string stem = stem_of(path);
  result.graph.name = !options.name.empty() ? options.name : stem.empty() ? "tensorflow" : stem;
  result.graph.source = options.source.empty() ? path : options.source;
}

void import_graph_alone(const std::string& text, const std::string& path, const ImportOptions& options,
                        ImportResult& result) {
  if (!options.graph_path.empty())
    refuse_file(path, "this is a GraphDef already",
                "give the RunMetadata here and the GraphDef with --graph, or the GraphDef alone");
  const TfGraph graph = build_graph(read_graph_def(text, path), path);
  const TfDevice worker = choose_worker(graph, {}, result.report);
  finish(result, graph, nullptr, worker, path, options);
}

// A node that names no task ran where its record lies: on a server, if that is one.
void place_on_servers(TfGraph& graph, const tf::StepStats& stats, ImportReport& report) {
  std::size_t placed = 0;
  for (const tf::DeviceStepStats& device : stats.dev_stats()) {
    const TfDevice d = parse_device(device.device());
    if (!d.is_server() || !d.rest.empty()) continue;
    for (const tf::NodeExecStats& record : device.node_stats()) {
      const auto it = graph.index.find(record.node_name());
      if (it == graph.index.end() || !graph.nodes[it->second].device.job.empty()) continue;
      graph.nodes[it->second].device = d;
      ++placed;
    }
  }
  if (placed > 0) report.read.push_back(fmt::format("{} nodes that name no task ran on servers", placed));
}

void import_step(TfGraph graph, const tf::StepStats& stats, const std::string& path, const ImportOptions& options,
                 ImportResult& result) {
  place_on_servers(graph, stats, result.report);
  const TfDevice worker = choose_worker(graph, traced_workers(stats), result.report);
  const TfTrace trace = read_trace(stats, worker, result.report);
  result.device = traced_device(graph, trace);
  finish(result, graph, &trace, worker, path, options);
}

std::string missing_sizes(const std::vector<std::string>& variables) {
  constexpr std::size_t kNamed = 5;
  if (variables.empty())
    return "the timeline names no variables and no sizes: its transfers carry neither tensor nor bytes";
  std::string names;
  for (std::size_t i = 0; i < std::min(variables.size(), kNamed); ++i)
    names.append(i == 0 ? "" : ", ").append(escape_control(variables[i]));
  return fmt::format("a timeline does not say how large its {} variables are: {}{}", variables.size(), names,
                     variables.size() > kNamed ? ", ..." : "");
}

// The graph of the timeline's own nodes, with sizes from the table.
TfGraph timeline_graph(const TfTimeline& timeline, const std::string& path, const ImportOptions& options,
                       ImportReport& report) {
  const auto table = read_variable_table(read_limited(options.variables_path), options.variables_path);
  TfGraph graph = build_graph(timeline.graph, path);
  std::size_t used = 0;
  std::vector<std::string> unknown;
  for (const std::string& name : timeline.variables) {
    const auto it = table.find(name);
    if (it == table.end()) {
      unknown.push_back(name);
      continue;
    }
    graph.nodes[graph.index.at(name)].bytes = it->second;
    ++used;
  }
  if (!unknown.empty())
    refuse_file(options.variables_path,
                fmt::format("{} variables of the timeline are not in the table: {}", unknown.size(),
                            escape_control(unknown.front())),
                "a line is: name of the variable, its bytes");
  report.read.push_back(fmt::format("the bytes of {} variables from the table", used));
  if (used < table.size())
    report.dropped.push_back(
        fmt::format("{} variables of the table that the timeline does not have", table.size() - used));
  report.guessed.emplace_back("the graph is that of the nodes that ran: what they waited for besides is not known");
  return graph;
}

}  // namespace

bool is_tensorflow(std::string_view text) { return tf_format(text).kind != TfKind::None; }

ImportResult import_tensorflow(const std::string& text, const std::string& path, const ImportOptions& options) {
  check_options(text, path, options);
  const TfFormat format = tf_format(text);
  if (format.kind == TfKind::None)
    refuse_file(path, "this is neither a GraphDef nor a RunMetadata",
                "binary or text form of TensorFlow's protocol buffers");
  ImportResult result;
  if (format.kind == TfKind::Graph) {
    import_graph_alone(text, path, options, result);
    return result;
  }
  const tf::RunMetadata metadata = read_run_metadata(text, path);
  if (metadata.step_stats().dev_stats().empty())
    refuse_file(path, "the RunMetadata holds no step_stats", "run the step with trace_level FULL_TRACE");
  import_step(graph_of(metadata, path, options), metadata.step_stats(), path, options, result);
  return result;
}

ImportResult import_tensorflow_timeline(const std::string& text, const std::string& path,
                                        const ImportOptions& options) {
  if (text.size() > kLargestFile)
    refuse_file(path, fmt::format("{} bytes, the limit is {}", text.size(), kLargestFile), "trace a single step");
  if (!options.graph_path.empty() && !options.variables_path.empty())
    refuse_file(path, "--graph and --variables exclude each other", "a GraphDef holds the sizes of variables");
  ImportResult result;
  const TfTimeline timeline = read_timeline(text, path, result.report);
  if (options.graph_path.empty() && options.variables_path.empty())
    refuse_file(path, missing_sizes(timeline.variables),
                "give the program's GraphDef (--graph FILE), or a table of names and bytes (--variables FILE)");
  TfGraph graph =
      options.graph_path.empty() ? timeline_graph(timeline, path, options, result.report) : given_graph(options);
  import_step(std::move(graph), timeline.stats, path, options, result);
  return result;
}

ImportResult import_tensorboard(const std::string& text, const std::string& path, const ImportOptions& options) {
  check_options(text, path, options);
  ImportResult result;
  result.report.read.emplace_back("a GraphDef in an event file of TensorBoard");
  import_graph_alone(graph_in_events(text, path), path, options, result);
  return result;
}

}  // namespace stretto::io
