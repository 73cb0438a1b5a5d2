// SPDX-License-Identifier: Apache-2.0
#include "io/import/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/located_check.hpp"
#include "io/json/reader.hpp"
#include "io/json/writer.hpp"
#include "models/graph/check.hpp"

namespace stretto::io {

namespace {

constexpr std::int64_t kMostServers = 1'000'000;

// A name that stands for an op or parameter, resolved when all names are known.
struct Reference {
  std::string name;
  json::Place place;
  std::string key;
};

struct RawOp {
  graph::Op op;
  json::Place place;
  std::vector<Reference> inputs;
  std::vector<Reference> reads;
};

struct RawParameter {
  graph::Parameter parameter;
  json::Place place;
  std::vector<Reference> gradient;  // none or one
};

struct RawGraph {
  graph::Graph graph;
  std::vector<RawOp> ops;
  std::vector<RawParameter> parameters;
};

void read_string(const json::Value& value, std::string& out) {
  if (auto text = value.string()) out = std::move(*text);
}

void read_name(const json::Value& value, std::string& out) {
  read_string(value, out);
  if (value.kind() == json::Kind::String && out.empty()) value.error("a name must not be empty");
}

void read_reference(const json::Value& value, std::vector<Reference>& out) {
  const json::Place place = value.place();
  if (auto name = value.string()) out.push_back({std::move(*name), place, value.path()});
}

void read_references(const json::Value& value, std::vector<Reference>& out) {
  value.elements([&](const json::Value& element) { read_reference(element, out); });
}

void read_phase(const json::Value& value, graph::Phase& out) {
  const auto text = value.string();
  if (!text) return;
  if (*text == "forward")
    out = graph::Phase::Forward;
  else if (*text == "backward")
    out = graph::Phase::Backward;
  else
    value.error("must be \"forward\" or \"backward\"");
}

void read_amount(const json::Value& value, double& out) {
  const auto number = value.number();
  if (number && *number < 0)
    value.error("must not be negative");
  else if (number && *number > graph::kMaxAmount)
    value.error(fmt::format("must be at most {}", graph::kMaxAmount));
  else if (number)
    out = *number;
}

void read_class(const json::Value& value, graph::OpClass& out) {
  const auto text = value.string();
  if (!text) return;
  const auto& names = graph::kOpClassNames;
  const auto it = std::find(names.begin(), names.end(), *text);
  if (it == names.end())
    value.error(fmt::format("\"{}\" is no class of ops", *text), "docs/reference/workload.md lists them");
  else
    out = static_cast<graph::OpClass>(it - names.begin());
}

void read_op(const json::Value& value, std::vector<RawOp>& ops) {
  RawOp raw;
  raw.place = value.place();
  value.fields({
      {"name", true, [&](const json::Value& v) { read_name(v, raw.op.name); }},
      {"phase", true, [&](const json::Value& v) { read_phase(v, raw.op.phase); }},
      {"time_ps", true, [&](const json::Value& v) { raw.op.time = Duration::ps(v.integer(0).value_or(0)); }},
      {"inputs", false, [&](const json::Value& v) { read_references(v, raw.inputs); }},
      {"reads", false, [&](const json::Value& v) { read_references(v, raw.reads); }},
      {"flops", false, [&](const json::Value& v) { read_amount(v, raw.op.flops); }},
      {"memory_bytes", false, [&](const json::Value& v) { read_amount(v, raw.op.memory_bytes); }},
      {"fixed_bytes", false, [&](const json::Value& v) { read_amount(v, raw.op.fixed_bytes); }},
      {"class", false, [&](const json::Value& v) { read_class(v, raw.op.op_class); }},
  });
  if (raw.op.fixed_bytes > raw.op.memory_bytes) value.error("fixed_bytes must not be more than memory_bytes");
  ops.push_back(std::move(raw));
}

void read_parameter(const json::Value& value, std::vector<RawParameter>& parameters) {
  RawParameter raw;
  raw.place = value.place();
  graph::Parameter& p = raw.parameter;
  value.fields({
      {"name", true, [&](const json::Value& v) { read_name(v, p.name); }},
      {"bytes", true, [&](const json::Value& v) { p.bytes = Bytes(v.integer(1).value_or(1)); }},
      {"trainable", false, [&](const json::Value& v) { p.trainable = v.boolean().value_or(true); }},
      {"gradient", false, [&](const json::Value& v) { read_reference(v, raw.gradient); }},
      {"server", false,
       [&](const json::Value& v) { p.server = static_cast<std::int32_t>(v.integer(0, kMostServers).value_or(-1)); }},
  });
  parameters.push_back(std::move(raw));
}

void read_root(const json::Value& root, RawGraph& raw) {
  root.fields({
      {"format", true,
       [&](const json::Value& v) {
         const auto text = v.string();
         if (text && *text != kWorkloadFormat) v.fatal(fmt::format("must be \"{}\"", kWorkloadFormat));
       }},
      {"version", true,
       [&](const json::Value& v) {
         const auto version = v.integer(1);
         if (version && *version > kWorkloadVersion)
           v.fatal(
               fmt::format("version {} is newer than this program, which reads up to {}", *version, kWorkloadVersion),
               "use a newer stretto");
       }},
      {"name", true, [&](const json::Value& v) { read_name(v, raw.graph.name); }},
      {"source", false, [&](const json::Value& v) { read_string(v, raw.graph.source); }},
      {"batch", true, [&](const json::Value& v) { raw.graph.batch = v.integer(1, graph::kMaxBatch).value_or(1); }},
      {"ops", true, [&](const json::Value& v) { v.elements([&](const json::Value& op) { read_op(op, raw.ops); }); }},
      {"parameters", true,
       [&](const json::Value& v) { v.elements([&](const json::Value& p) { read_parameter(p, raw.parameters); }); }},
  });
}

using Names = std::map<std::string, std::size_t, std::less<>>;

template <class Tag>
Id<Tag> resolve(json::Document& document, const Reference& reference, const Names& names, std::string_view what) {
  const auto it = names.find(reference.name);
  if (it != names.end()) return Id<Tag>(it->second);
  constexpr std::size_t kMostNames = 10'000;  // beyond these limits a suggestion costs more than it helps
  constexpr std::size_t kLongestName = 300;
  std::vector<std::string> candidates;
  for (const auto& entry : names)
    if (names.size() <= kMostNames && entry.first.size() <= kLongestName) candidates.push_back(entry.first);
  const std::string nearest = nearest_name(reference.name, candidates);
  document.error(reference.place, reference.key, fmt::format("there is no {} \"{}\"", what, reference.name),
                 nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
  return Id<Tag>::none();
}

// Turns names into ids. A doubled name keeps its first meaning here and is reported.
void resolve_names(json::Document& document, RawGraph& raw) {
  Names ops;
  Names parameters;
  const auto enter = [&](Names& names, const std::string& name, std::size_t i, json::Place place,
                         std::string_view list) {
    if (name.empty() || names.emplace(name, i).second) return;
    document.error(place, fmt::format("{}[{}].name", list, i),
                   fmt::format("\"{}\" is already the name of {}[{}]", name, list, names.find(name)->second));
  };
  for (std::size_t i = 0; i < raw.ops.size(); ++i) enter(ops, raw.ops[i].op.name, i, raw.ops[i].place, "ops");
  for (std::size_t i = 0; i < raw.parameters.size(); ++i)
    enter(parameters, raw.parameters[i].parameter.name, i, raw.parameters[i].place, "parameters");
  for (RawOp& r : raw.ops) {
    for (const Reference& ref : r.inputs) r.op.inputs.push_back(resolve<graph::OpTag>(document, ref, ops, "op"));
    for (const Reference& ref : r.reads)
      r.op.reads.push_back(resolve<graph::ParameterTag>(document, ref, parameters, "parameter"));
  }
  for (RawParameter& r : raw.parameters)
    for (const Reference& ref : r.gradient) r.parameter.gradient = resolve<graph::OpTag>(document, ref, ops, "op");
}

}  // namespace

graph::Graph parse_workload(const std::string& text, const std::string& path) {
  json::Document document(text, path);
  RawGraph raw;
  document.read([&](const json::Value& root) {
    read_root(root, raw);
    resolve_names(document, raw);
  });
  GraphPlaces places;
  for (RawOp& r : raw.ops) {
    raw.graph.ops.push_back(std::move(r.op));
    places.ops.push_back(r.place.offset);
  }
  for (RawParameter& r : raw.parameters) {
    raw.graph.parameters.push_back(std::move(r.parameter));
    places.parameters.push_back(r.place.offset);
  }
  check_located(raw.graph, text, path, places);
  return std::move(raw.graph);
}

graph::Graph read_workload(const std::string& path) { return parse_workload(file::read(path), path); }

std::string write_workload(const graph::Graph& graph) {
  using Style = json::Writer::Style;
  json::Writer w;
  w.begin_object();
  const bool classes = std::any_of(graph.ops.begin(), graph.ops.end(), [](const graph::Op& op) {
    return op.op_class != graph::OpClass::Other || op.fixed_bytes > 0;
  });
  w.member("format", kWorkloadFormat).member("version", classes ? kWorkloadVersion : 1);
  w.member("name", graph.name).member("source", graph.source).member("batch", graph.batch);
  w.key("ops").begin_array();
  for (const graph::Op& op : graph.ops) {
    w.begin_object(Style::Inline);
    w.member("name", op.name).member("phase", op.phase == graph::Phase::Forward ? "forward" : "backward");
    w.member("time_ps", op.time.ps());
    if (!op.inputs.empty()) {
      w.key("inputs").begin_array();
      for (const graph::OpId input : op.inputs) w.value(graph.ops[input.index()].name);
      w.end_array();
    }
    if (!op.reads.empty()) {
      w.key("reads").begin_array();
      for (const graph::ParameterId p : op.reads) w.value(graph.parameters[p.index()].name);
      w.end_array();
    }
    if (op.flops > 0) w.member("flops", op.flops);
    if (op.memory_bytes > 0) w.member("memory_bytes", op.memory_bytes);
    if (op.fixed_bytes > 0) w.member("fixed_bytes", op.fixed_bytes);
    if (op.op_class != graph::OpClass::Other)
      w.member("class", graph::kOpClassNames[static_cast<std::size_t>(op.op_class)]);
    w.end_object();
  }
  w.end_array();
  w.key("parameters").begin_array();
  for (const graph::Parameter& p : graph.parameters) {
    w.begin_object(Style::Inline);
    w.member("name", p.name).member("bytes", p.bytes.count());
    if (!p.trainable) w.member("trainable", false);
    if (p.gradient.valid()) w.member("gradient", graph.ops[p.gradient.index()].name);
    if (p.server >= 0) w.member("server", p.server);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.finish();
}

bool is_workload(std::string_view text) {
  constexpr std::size_t kHead = 4096;
  const std::string_view head = text.substr(0, kHead);
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && head[first] == '{' && head.find(kWorkloadFormat) != std::string_view::npos;
}

ImportResult import_workload(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportResult result;
  graph::Graph& g = result.graph;
  g = parse_workload(text, path);
  if (!options.name.empty()) g.name = options.name;
  if (!options.source.empty()) g.source = options.source;
  if (options.batch && *options.batch != g.batch) {
    result.report.read.push_back(
        fmt::format("batch set to {} (the file says {}); times are left as they are", *options.batch, g.batch));
    g.batch = *options.batch;
  }
  result.report.read.push_back(fmt::format("{} ops, {} parameters", g.ops.size(), g.parameters.size()));
  return result;
}

}  // namespace stretto::io
