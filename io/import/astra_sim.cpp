// SPDX-License-Identifier: Apache-2.0
#include "io/import/astra_sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "io/import/decimal.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using graph::OpId;
using graph::Phase;

constexpr std::string_view kSpace = " \t\r";
constexpr std::size_t kFields = 12;
constexpr std::string_view kPerLayer = "HYBRID_CUSTOMIZED";
constexpr std::size_t kMostErrors = 20;
constexpr std::int64_t kLongestNs = 100'000'000'000'000;  // 28 hours
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostLayers = 1'000'000;

struct Line {
  int number = 0;
  std::size_t offset = 0;
  std::vector<std::string_view> fields;
};

std::vector<Line> lines_of(std::string_view text, std::size_t most) {
  std::vector<Line> lines;
  int number = 0;
  for (std::size_t at = 0; at < text.size() && lines.size() < most;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Line line;
    line.number = ++number;
    line.offset = at;
    for (std::size_t i = at; i < end;) {
      const std::size_t begin = std::min(text.find_first_not_of(kSpace, i), end);
      if (begin >= end) break;
      i = std::min(text.find_first_of(" \t\r\n", begin), end);
      line.fields.push_back(text.substr(begin, i - begin));
    }
    if (!line.fields.empty()) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

bool is_parallelisation(std::string_view word) {
  constexpr std::array<std::string_view, 4> words = {"DATA", "MODEL", "MICRO", "TRANSFORMER"};
  if (word.starts_with("HYBRID_") || word.starts_with("DISTRIBUTED_INFERENCE")) return true;
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Layer {
  std::string name;
  std::array<std::int64_t, 3> time_ns{};  // forward, input gradient, weight gradient
  std::int64_t gradient_bytes = 0;
  std::int64_t update_ns = 0;
  bool names_parallelisation = false;
};

class Parser {
 public:
  Parser(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  std::vector<Layer> parse() {
    const std::vector<Line> lines = lines_of(text_, static_cast<std::size_t>(kMostLayers) + 3);
    if (lines.empty() || !is_parallelisation(lines[0].fields[0]))
      stop(lines.empty() ? std::string_view(text_).substr(0, 0) : lines[0].fields[0],
           "the first line names no parallelisation", "as in: DATA");
    per_layer_ = lines[0].fields[0] == kPerLayer;
    const auto count = lines.size() < 2 ? std::nullopt : parse_whole(lines[1].fields[0]);
    if (!count || *count < 1 || *count > kMostLayers)
      stop(lines[lines.size() < 2 ? 0 : 1].fields[0], "the second line must be the number of layers, 1 or more");
    if (lines[1].fields.size() > 1) stop(lines[1].fields[1], "the second line holds more than the number of layers");
    std::vector<Layer> layers;
    for (std::size_t i = 2; i < lines.size() && errors_.size() < kMostErrors; ++i) layers.push_back(layer(lines[i]));
    if (errors_.empty() && layers.size() != static_cast<std::size_t>(*count))
      error(lines[1].fields[0], fmt::format("{} layers are announced, {} lines follow", *count, layers.size()),
            "is the file cut off?");
    if (!errors_.empty()) throw UserError(std::move(errors_));
    return layers;
  }

 private:
  void error(std::string_view where, std::string message, std::string hint = "") {
    Diagnostic d;
    d.span = file::span_at(text_, path_, static_cast<std::size_t>(where.data() - text_.data()), where.size());
    d.message = std::move(message);
    d.hint = std::move(hint);
    errors_.push_back(std::move(d));
  }

  [[noreturn]] void stop(std::string_view where, std::string message, std::string hint = "") {
    error(where, std::move(message), std::move(hint));
    throw UserError(std::move(errors_));
  }

  std::int64_t number(std::string_view field, std::int64_t most, const char* what) {
    const auto value = parse_whole(field);
    if (value && *value >= 0 && *value <= most) return *value;
    error(field, fmt::format("{} must be a whole number from 0 to {}", what, most));
    return 0;
  }

  Layer layer(const Line& line) {
    Layer l;
    if (line.fields.size() < kFields) {
      error(line.fields.back(), fmt::format("a layer has {} fields, this line {}", kFields, line.fields.size()),
            "name, dependency, three times time, collective and bytes, update time");
      return l;
    }
    const std::size_t most = kFields + (per_layer_ ? 1 : 0);
    if (line.fields.size() > most) {
      error(line.fields[most], fmt::format("a layer has {} fields, this line {}", most, line.fields.size()),
            per_layer_ ? "name to update time, and the layer's own parallelisation"
                       : fmt::format("only layers of {} have one more, their own parallelisation", kPerLayer));
      return l;
    }
    l.name = line.fields[0];
    l.names_parallelisation = line.fields.size() > kFields;
    for (std::size_t part = 0; part < 3; ++part) {
      const std::string_view kind = line.fields[3 + 3 * part];
      l.time_ns[part] = number(line.fields[2 + 3 * part], kLongestNs, "a compute time (ns)");
      const std::int64_t bytes = number(line.fields[4 + 3 * part], kMostBytes, "the bytes of a collective");
      if (kind == "NONE" || bytes == 0) continue;
      if (part == 2 && kind == "ALLREDUCE")
        l.gradient_bytes = bytes;
      else
        error(kind,
              fmt::format("a collective {} in the {}, which a workload cannot hold", kind,
                          part == 0   ? "forward pass"
                          : part == 1 ? "input gradient"
                                      : "weight gradient"),
              "a workload has gradients that are summed over all workers: ALLREDUCE of weight gradients");
    }
    l.update_ns = number(line.fields[11], kLongestNs, "the update time (ns)");
    return l;
  }

  const std::string& text_;
  const std::string& path_;
  bool per_layer_ = false;  // a layer may name a parallelisation of its own
  std::vector<Diagnostic> errors_;
};

// Says which updates the graph lacks, if any.
std::string build(const std::vector<Layer>& layers, graph::Graph& g, ImportReport& report) {
  OpId last;
  std::size_t empty = 0;
  const auto add = [&](std::string name, Phase phase, std::int64_t ns, bool keep) {
    if (ns == 0 && !keep) {
      ++empty;
      return false;
    }
    graph::Op op;
    op.name = std::move(name);
    op.phase = phase;
    op.time = Duration::ns(ns);
    if (!g.ops.empty()) op.inputs.push_back(last);
    last = OpId(g.ops.size());
    g.ops.push_back(std::move(op));
    return true;
  };
  std::int64_t updates_ns = 0;
  for (const Layer& l : layers) {
    const bool holds = l.gradient_bytes > 0;
    updates_ns += std::min(l.update_ns, kLongestNs - std::min(updates_ns, kLongestNs));
    if (!add(l.name, Phase::Forward, l.time_ns[0], holds) || !holds) continue;
    g.ops.back().reads.emplace_back(g.parameters.size());
    graph::Parameter p;
    p.name = l.name;
    p.bytes = Bytes(l.gradient_bytes);
    g.parameters.push_back(std::move(p));
  }
  std::size_t parameter = g.parameters.size();
  for (std::size_t i = layers.size(); i-- > 0;) {
    const Layer& l = layers[i];
    const bool holds = l.gradient_bytes > 0;
    if (add(l.name + "/weights", Phase::Backward, l.time_ns[2], holds) && holds)
      g.parameters[--parameter].gradient = last;
    add(l.name + "/inputs", Phase::Backward, l.time_ns[1], false);
  }
  note_count(report.dropped, empty, "ops of no time");
  note_count(report.dropped,
             static_cast<std::size_t>(
                 std::count_if(layers.begin(), layers.end(), [](const Layer& l) { return l.names_parallelisation; })),
             "layers name a parallelisation of their own: their collectives tell it");
  std::string updates;
  if (updates_ns > 0) {
    updates = fmt::format("{:.3f} ms of updates", static_cast<double>(updates_ns) * 1e-6);
    report.dropped.push_back(updates + ": a workload has none of its own");
  }
  report.guessed.emplace_back("times are ns: the file has no unit, ASTRA-sim counts so at 1 GHz");
  return updates;
}

// Of a graph that has passed graph::check, so that its sums fit.
void report_totals(const graph::Graph& g, std::size_t layers, ImportReport& report) {
  Duration sum;
  Bytes bytes;
  for (const graph::Op& op : g.ops) sum += op.time;
  for (const graph::Parameter& p : g.parameters) bytes = bytes + p.bytes;
  report.read.push_back(fmt::format("{} layers: {} ops of {:.3f} ms, {} all-reduces of {} bytes", layers, g.ops.size(),
                                    sum.seconds() * 1e3, g.parameters.size(), bytes.count()));
}

}  // namespace

bool is_astra_sim(std::string_view text) {
  const std::vector<Line> lines = lines_of(text.substr(0, std::size_t{1} << 16), 3);
  if (lines.size() < 3 || !is_parallelisation(lines[0].fields[0])) return false;
  return lines[1].fields.size() == 1 && parse_whole(lines[1].fields[0]).has_value();
}

ImportResult import_astra_sim(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportResult result;
  const std::vector<Layer> layers = Parser(text, path).parse();
  const std::string updates = build(layers, result.graph, result.report);
  finish_graph(result, path, options, {"astra-sim", "ASTRA-sim text workload", "file", updates});
  report_totals(result.graph, layers.size(), result.report);
  return result;
}

}  // namespace stretto::io
