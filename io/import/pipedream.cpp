// SPDX-License-Identifier: Apache-2.0
#include "io/import/pipedream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "io/import/decimal.hpp"
#include "io/import/located_check.hpp"

namespace stretto::io {

namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr std::string_view kFirstField = "forward_compute_time=";
constexpr std::size_t kMaxErrors = 20;
constexpr std::size_t kMostLastLayers = 1000;  // each waits for all, so dependencies grow with the square
constexpr int kMsToPs = 9;                     // decimal digits

struct Layer {
  std::int64_t number = 0;
  std::string text;  // "Conv2d(3, 64, ...)"
  Duration forward;
  Duration backward;
  std::optional<Bytes> activation;  // none: several outputs
  Bytes parameters;
  std::size_t offset = 0;
};

struct Edge {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string_view from_text;
  std::string_view to_text;
};

struct Profile {
  std::map<std::int64_t, Layer> layers;
  std::vector<Edge> edges;
  std::size_t rounded = 0;  // times with digits below one picosecond
  std::size_t staged = 0;   // nodes with a stage_id
};

// Reads the lines. Views into `text` know their own place.
class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Profile parse() {
    for (std::size_t start = 0; start < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', start), text_.size());
      std::string_view line = text_.substr(start, end - start);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.find_first_not_of(" \t") != std::string_view::npos) {
        if (line.front() == '\t' || line.front() == ' ')
          parse_edge(line);
        else
          parse_layer(line);
      }
      start = end + 1;
    }
    check_edges();
    if (profile_.layers.empty() && errors_.empty()) error(text_.substr(0, 0), "there is no layer in this file");
    if (!errors_.empty()) throw UserError(std::move(errors_));
    return std::move(profile_);
  }

 private:
  void error(std::string_view where, std::string message, std::string hint = "") {
    Diagnostic d;
    d.span = file::span_at(text_, path_, static_cast<std::size_t>(where.data() - text_.data()), where.size());
    d.message = std::move(message);
    d.hint = std::move(hint);
    errors_.push_back(std::move(d));
    if (errors_.size() < kMaxErrors) return;
    Diagnostic last;
    last.span.file = path_;
    last.message = fmt::format("{} errors, the rest is not shown", kMaxErrors);
    errors_.push_back(std::move(last));
    throw UserError(std::move(errors_));
  }

  std::optional<std::int64_t> node_number(std::string_view name) {
    const auto number = name.starts_with("node") ? parse_whole(name.substr(4)) : std::nullopt;
    if (number && *number >= 0) return number;
    error(name, "a node is named \"node\" and a number");
    return std::nullopt;
  }

  void parse_edge(std::string_view line) {
    const std::string_view pair = line.substr(line.find_first_not_of(" \t"));
    const std::size_t middle = pair.find(kSeparator);
    if (middle == std::string_view::npos) return error(pair, "an edge is written \"nodeA -- nodeB\"");
    Edge edge;
    edge.from_text = pair.substr(0, middle);
    edge.to_text = pair.substr(middle + kSeparator.size());
    const auto from = node_number(edge.from_text);
    const auto to = node_number(edge.to_text);
    if (!from || !to) return;
    edge.from = *from;
    edge.to = *to;
    profile_.edges.push_back(edge);
  }

  void parse_layer(std::string_view line) {
    const std::size_t name_end = line.find(kSeparator);
    const std::size_t fields_start = line.rfind(fmt::format("{}{}", kSeparator, kFirstField));
    if (name_end == std::string_view::npos || fields_start == std::string_view::npos || fields_start < name_end)
      return error(line,
                   "a layer is written \"nodeN -- text -- forward_compute_time=..., backward_compute_time=..., "
                   "activation_size=..., parameter_size=...\"");
    const auto number = node_number(line.substr(0, name_end));
    Layer layer;
    if (fields_start > name_end)
      layer.text = std::string(line.substr(name_end + kSeparator.size(), fields_start - name_end - kSeparator.size()));
    layer.offset = static_cast<std::size_t>(line.data() - text_.data());
    std::string_view fields = line.substr(fields_start + kSeparator.size());
    if (const std::size_t more = fields.find(kSeparator); more != std::string_view::npos) {
      const std::string_view stage = fields.substr(more + kSeparator.size());
      if (stage.starts_with("stage_id="))
        ++profile_.staged;
      else
        error(stage, "unexpected text after the fields of a layer");
      fields = fields.substr(0, more);
    }
    parse_fields(fields, layer);
    if (!number) return;
    layer.number = *number;
    const auto [it, added] = profile_.layers.emplace(*number, std::move(layer));
    if (added) return;
    const int first = file::span_at(text_, path_, it->second.offset).line;
    error(line.substr(0, name_end), fmt::format("node{} is already on line {}", *number, first));
  }

  void parse_fields(std::string_view fields, Layer& layer) {
    static const std::vector<std::string> names = {"forward_compute_time", "backward_compute_time", "activation_size",
                                                   "parameter_size"};
    std::array<bool, 4> seen{};
    const std::string_view all = fields;
    while (!fields.empty()) {
      const std::size_t comma = std::min(fields.find(", "), fields.size());
      const std::string_view field = fields.substr(0, comma);
      fields.remove_prefix(std::min(comma + 2, fields.size()));
      const std::size_t equals = field.find('=');
      if (equals == std::string_view::npos) {
        error(field, "a field is written name=value");
        continue;
      }
      const std::string_view name = field.substr(0, equals);
      const auto i = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      if (i == names.size()) {
        const std::string nearest = nearest_name(name, names);
        error(name, fmt::format("unknown field \"{}\"", name),
              nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
      } else if (std::exchange(seen[i], true)) {
        error(name, fmt::format("field \"{}\" appears twice", name));
      } else {
        parse_value(i, field.substr(equals + 1), layer);
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!seen[i]) error(all, fmt::format("field \"{}\" is missing", names[i]));
  }

  void parse_value(std::size_t field, std::string_view value, Layer& layer) {
    if (field == 0)
      layer.forward = milliseconds(value);
    else if (field == 1)
      layer.backward = milliseconds(value);
    else if (field == 2)
      layer.activation = activation(value);
    else
      layer.parameters = whole_bytes(value);
  }

  Duration milliseconds(std::string_view value) {
    const auto scaled = parse_scaled(value, kMsToPs);
    if (!scaled) {
      error(value, "must be a time in milliseconds, at least 0");
      return Duration();
    }
    if (!scaled->exact) ++profile_.rounded;
    return Duration::ps(scaled->value);
  }

  Bytes whole_bytes(std::string_view value) {
    const auto scaled = parse_scaled(value, 0);
    if (scaled && scaled->exact) return Bytes(scaled->value);
    error(value, "must be a whole number of bytes, at least 0");
    return Bytes();
  }

  // "123.000", or "[12.000; 34.000]" for a layer with several outputs.
  std::optional<Bytes> activation(std::string_view value) {
    if (!value.starts_with('[')) return whole_bytes(value);
    if (!value.ends_with(']') || value.size() < 2) {
      error(value, "a list of sizes is written \"[a; b; ...]\"");
      return std::nullopt;
    }
    std::string_view list = value.substr(1, value.size() - 2);
    while (!list.empty()) {
      const std::size_t end = std::min(list.find("; "), list.size());
      whole_bytes(list.substr(0, end));
      list.remove_prefix(std::min(end + 2, list.size()));
    }
    return std::nullopt;
  }

  void check_edges() {
    for (const Edge& edge : profile_.edges) {
      if (!profile_.layers.contains(edge.from)) error(edge.from_text, "no line describes this node");
      if (!profile_.layers.contains(edge.to)) error(edge.to_text, "no line describes this node");
      if (edge.from == edge.to) error(edge.to_text, "an edge from a node to itself");
    }
  }

  std::string_view text_;
  const std::string& path_;
  Profile profile_;
  std::vector<Diagnostic> errors_;
};

bool is_input(const Layer& layer) {
  if (!layer.text.starts_with("Input")) return false;
  return layer.text.find_first_not_of("0123456789", 5) == std::string::npos;
}

// "node12/Conv2d" of "Conv2d(128, 256, ...)"; "node12" if the layer's text is empty. `changed` counts names in which
// characters other than letters, digits and _ . - became _.
std::string short_name(const Layer& layer, std::size_t& changed) {
  const std::string type = layer.text.substr(0, layer.text.find('('));
  std::string clean = type;
  for (char& c : clean) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  if (clean != type) ++changed;
  return clean.empty() ? fmt::format("node{}", layer.number) : fmt::format("node{}/{}", layer.number, clean);
}

// "vgg16" of "vgg16.graph.txt", of "profiles/vgg16/graph.txt", also with ".gz".
std::string name_of(const std::string& path) {
  std::string_view rest = path;
  const auto leaf = [&] { return rest.substr(rest.rfind('/') + 1); };
  std::string_view name = leaf();
  for (const std::string_view suffix : {".gz", ".txt", ".graph"})
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (name == "graph" && rest.size() > leaf().size() + 1) {
    rest = rest.substr(0, rest.size() - leaf().size() - 1);
    if (!leaf().empty() && leaf() != "." && leaf() != "..") name = leaf();
  }
  return name.empty() ? "profile" : std::string(name);
}

void choose_batch(const std::vector<const Layer*>& inputs, const ImportOptions& options, ImportResult& result) {
  std::int64_t& batch = result.graph.batch;
  if (options.batch) {
    batch = *options.batch;
    return;
  }
  if (inputs.size() == 1 && inputs.front()->activation) {
    const std::int64_t bytes = inputs.front()->activation->count();
    for (const std::int64_t side : {224, 299}) {
      const std::int64_t image = 3 * side * side * 4;
      if (bytes <= 0 || bytes % image != 0) continue;
      batch = bytes / image;
      result.report.guessed.push_back(
          fmt::format("batch {}: the output of Input is {} bytes, {} images of 3 x {} x {} 32-bit numbers", batch,
                      bytes, batch, side, side));
      return;
    }
  }
  batch = 1;
  result.report.guessed.push_back("batch 1: the file does not say it and Input does not tell; give it as an option");
}

// Forward and backward ops, parameters and dependencies of the layers that are not Input.
void build_graph(const Profile& profile, const std::string& path, ImportResult& result, GraphPlaces& places) {
  graph::Graph& g = result.graph;
  std::vector<const Layer*> layers;
  std::map<std::int64_t, std::size_t> index;
  for (const auto& [number, layer] : profile.layers) {
    if (is_input(layer)) continue;
    index.emplace(number, layers.size());
    layers.push_back(&layer);
  }
  std::vector<std::set<std::size_t>> before(layers.size());
  std::vector<std::set<std::size_t>> after(layers.size());
  std::size_t doubled = 0;
  for (const Edge& edge : profile.edges) {
    const auto from = index.find(edge.from);
    const auto to = index.find(edge.to);
    if (from == index.end() || to == index.end()) continue;
    if (!before[to->second].insert(from->second).second) ++doubled;
    after[from->second].insert(to->second);
  }
  if (doubled > 0) result.report.repaired.push_back(plural(doubled, "edge") + " listed more than once, taken once");

  const std::size_t n = layers.size();
  const auto forward = [](std::size_t i) { return graph::OpId(i); };
  const auto backward = [n](std::size_t i) { return graph::OpId(2 * n - 1 - i); };
  g.ops.resize(2 * n);
  places.ops.resize(2 * n);
  std::vector<graph::OpId> last;
  for (std::size_t i = 0; i < n; ++i)
    if (after[i].empty()) last.push_back(forward(i));
  if (last.size() > kMostLastLayers)
    refuse_file(path, fmt::format("{} layers feed no other; at most {} are accepted", last.size(), kMostLastLayers));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string name = short_name(*layers[i], changed);
    graph::Op& f = g.ops[forward(i).index()];
    graph::Op& b = g.ops[backward(i).index()];
    f = {name, graph::Phase::Forward, layers[i]->forward, {}, {}};
    b = {name + "/backward", graph::Phase::Backward, layers[i]->backward, {}, {}};
    for (const std::size_t j : before[i]) f.inputs.push_back(forward(j));
    if (after[i].empty())
      b.inputs = last;
    else
      b.inputs.push_back(forward(i));
    for (const std::size_t j : after[i]) b.inputs.push_back(backward(j));
    places.ops[forward(i).index()] = places.ops[backward(i).index()] = layers[i]->offset;
    if (layers[i]->parameters.count() == 0) continue;
    const graph::ParameterId p(g.parameters.size());
    g.parameters.push_back({name, layers[i]->parameters, true, backward(i)});
    places.parameters.push_back(layers[i]->offset);
    f.reads.push_back(p);
    b.reads.push_back(p);
  }
  if (changed > 0)
    result.report.repaired.push_back(plural(changed, "layer name") + " held unusual characters, written as _");
}

void report_layers(const Profile& profile, ImportReport& report) {
  std::size_t layers = 0;
  std::size_t blind = 0;
  std::size_t lstm = 0;
  for (const auto& [number, layer] : profile.layers) {
    if (is_input(layer)) {
      report.dropped.push_back(fmt::format("node{} {}: its {} ms are waiting for the data loader, not computation",
                                           number, layer.text, format_scaled(layer.forward.ps(), kMsToPs)));
      continue;
    }
    ++layers;
    const bool missed = layer.backward.ps() < layer.forward.ps() / 10;
    if (layer.text.find("LSTM") != std::string::npos && missed)
      ++lstm;
    else if (layer.parameters.count() > 0 && layer.backward == Duration())
      ++blind;
  }
  report.dropped.push_back(fmt::format("activation_size of {}: no part of a replica's step", plural(layers, "layer")));
  if (profile.staged > 0) report.dropped.push_back("stage_id of " + plural(profile.staged, "layer"));
  report.guessed.push_back("one parameter per layer: the profile does not tell weight from bias");
  if (lstm > 0)
    report.guessed.push_back(
        fmt::format("backward time of {} kept at next to nothing, as profiled: the profiler is known "
                    "to miss the backward pass of LSTM layers",
                    plural(lstm, "LSTM layer")));
  if (blind > 0)
    report.guessed.push_back(
        fmt::format("backward time of {} with parameters kept at 0, as profiled", plural(blind, "layer")));
  if (profile.rounded > 0)
    report.repaired.push_back(plural(profile.rounded, "time") + " finer than a picosecond, rounded");
}

void report_totals(const graph::Graph& g, ImportReport& report) {
  Duration forward;
  Duration backward;
  Bytes bytes;
  for (const graph::Op& op : g.ops) (op.phase == graph::Phase::Forward ? forward : backward) += op.time;
  for (const graph::Parameter& p : g.parameters) bytes += p.bytes;
  report.read.push_back(fmt::format("{}, {} ms forward and {} ms backward", plural(g.ops.size() / 2, "layer"),
                                    format_scaled(forward.ps(), kMsToPs), format_scaled(backward.ps(), kMsToPs)));
  report.read.push_back(fmt::format("{}, {} bytes", plural(g.parameters.size(), "parameter"), bytes.count()));
}

}  // namespace

bool is_pipedream(std::string_view text) {
  return text.starts_with("node") ? text.find(kFirstField) != std::string_view::npos
                                  : text.starts_with("\tnode") && text.find(kSeparator) != std::string_view::npos;
}

ImportResult import_pipedream(const std::string& text, const std::string& path, const ImportOptions& options) {
  const Profile profile = Parser(text, path).parse();
  ImportResult result;
  graph::Graph& g = result.graph;
  g.name = options.name.empty() ? name_of(path) : options.name;
  g.source = options.source.empty() ? "PipeDream profile " + leaf_of(path) : options.source;
  std::vector<const Layer*> inputs;
  for (const auto& [number, layer] : profile.layers)
    if (is_input(layer)) inputs.push_back(&layer);
  choose_batch(inputs, options, result);
  GraphPlaces places;
  build_graph(profile, path, result, places);
  check_located(g, text, path, places);
  report_totals(g, result.report);
  report_layers(profile, result.report);
  return result;
}

}  // namespace stretto::io
