// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/file/file.hpp"
#include "io/import/tensorflow_extract.hpp"
#include "io/import/tensorflow_file.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/tensorflow_trace.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;

[[noreturn]] void fail(const std::string& path, std::string message, std::string hint) {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

std::string name_from(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string leaf = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string stem = leaf.substr(0, leaf.find('.'));
  return stem.empty() ? "tensorflow" : stem;
}

TfGraph graph_of(const tf::RunMetadata& metadata, const std::string& path, const ImportOptions& options) {
  if (!options.graph_path.empty()) {
    file::Limits limits;
    limits.max_bytes = kLargestFile;
    const std::string text = file::read(options.graph_path, limits);
    return build_graph(read_graph_def(text, options.graph_path), options.graph_path);
  }
  if (!metadata.partition_graphs().empty()) return join_partitions(metadata, path);
  fail(path, "a RunMetadata without partition graphs does not say what its ops depend on",
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

}  // namespace

bool is_tensorflow(std::string_view text) { return tf_format(text).kind != TfKind::None; }

ImportResult import_tensorflow(const std::string& text, const std::string& path, const ImportOptions& options) {
  if (text.size() > kLargestFile)
    fail(path, fmt::format("{} bytes, the limit is {}", text.size(), kLargestFile), "trace a single step");
  const TfFormat format = tf_format(text);
  if (format.kind == TfKind::None)
    fail(path, "this is neither a GraphDef nor a RunMetadata", "binary or text form of TensorFlow's protocol buffers");
  ImportResult result;
  TfGraph graph;
  std::optional<TfTrace> trace;
  TfDevice worker;
  if (format.kind == TfKind::Graph) {
    if (!options.graph_path.empty())
      fail(path, "this is a GraphDef already",
           "give the RunMetadata here and the GraphDef with --graph, or the GraphDef alone");
    graph = build_graph(read_graph_def(text, path), path);
    worker = choose_worker(graph, {}, result.report);
  } else {
    const tf::RunMetadata metadata = read_run_metadata(text, path);
    if (metadata.step_stats().dev_stats().empty())
      fail(path, "the RunMetadata holds no step_stats", "run the step with trace_level FULL_TRACE");
    graph = graph_of(metadata, path, options);
    worker = choose_worker(graph, traced_workers(metadata.step_stats()), result.report);
    trace = read_trace(metadata.step_stats(), worker, result.report);
    result.device = traced_device(graph, *trace);
  }
  result.graph = extract_graph(graph, trace ? &*trace : nullptr, worker, path, options.batch, result.report);
  result.graph.name = options.name.empty() ? name_from(path) : options.name;
  result.graph.source = options.source.empty() ? path : options.source;
  return result;
}

}  // namespace stretto::io
