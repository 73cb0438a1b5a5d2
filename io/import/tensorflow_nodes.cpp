// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kMostEdges = 20'000'000;

Diagnostic error(const std::string& path, std::string key, std::string message, std::string hint = "") {
  Diagnostic d;
  d.span.file = path;
  d.key = std::move(key);
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

TfShape to_shape(const tf::Shape& shape) {
  if (shape.unknown_rank()) return {-1};
  TfShape out;
  for (const tf::Shape::Dim& d : shape.dim()) out.push_back(d.size());
  return out;
}

struct InputName {
  std::string_view node;
  std::int32_t slot = 0;
  bool control = false;
};

InputName parse_input(std::string_view text) {
  InputName out;
  if (text.starts_with('^')) {
    out.control = true;
    out.node = text.substr(1);
    return out;
  }
  const std::size_t colon = text.rfind(':');
  out.node = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, out.slot);
    if (parsed.ec != std::errc() || parsed.ptr != end) out.node = text;
  }
  return out;
}

TfNode to_node(const tf::NodeDef& def) {
  TfNode node;
  node.name = def.name();
  node.op = def.op();
  node.device = parse_device(def.device());
  for (const tf::AttrEntry& entry : def.attr()) {
    const std::string& key = entry.key();
    const tf::AttrValue& value = entry.value();
    if (key == "_output_shapes") {
      for (const tf::Shape& shape : value.list().shape()) node.output_shapes.push_back(to_shape(shape));
    } else if ((key == "T" || key == "dtype") && value.type() != 0) {
      node.type = value.type();
    } else if (key == "shape" && value.has_shape()) {
      node.shape = to_shape(value.shape());
    } else if (key == "ksize") {
      node.kernel.assign(value.list().i().begin(), value.list().i().end());
    } else if (key == "strides") {
      node.strides.assign(value.list().i().begin(), value.list().i().end());
    } else if (key == "data_format") {
      node.data_format = value.s();
    } else if (key == "transpose_a" || key == "adj_x") {
      node.transpose_a = value.b();
    } else if (key == "transpose_b" || key == "adj_y") {
      node.transpose_b = value.b();
    } else if (key == "is_training") {
      node.is_training = value.b();
    }
  }
  return node;
}

// Kahn's algorithm; the edge of a loop's NextIteration back to its Merge is left out.
void sort_nodes(TfGraph& graph, const std::string& path) {
  const std::size_t n = graph.nodes.size();
  std::vector<std::uint32_t> open(n, 0);
  std::vector<std::vector<std::uint32_t>> users(n);
  std::size_t loops = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto& inputs = graph.nodes[i].inputs;
    if (graph.nodes[i].op == "Merge" || graph.nodes[i].op == "RefMerge")
      loops += std::erase_if(inputs, [&](const TfInput& in) {
        const std::string& op = graph.nodes[in.node].op;
        return op == "NextIteration" || op == "RefNextIteration";
      });
    for (const TfInput& in : inputs) {
      users[in.node].push_back(static_cast<std::uint32_t>(i));
      ++open[i];
    }
  }
  if (loops > 0)
    graph.repaired.push_back(
        fmt::format("{} loop edges (NextIteration to Merge) were left out: a loop's body is one pass, "
                    "its times are the sum over the passes",
                    loops));
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i)
    if (open[i] == 0) ready.push(static_cast<std::uint32_t>(i));
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    graph.order.push_back(node);
    for (const std::uint32_t user : users[node])
      if (--open[user] == 0) ready.push(user);
  }
  if (graph.order.size() == n) return;
  const auto stuck = static_cast<std::size_t>(
      std::find_if(open.begin(), open.end(), [](std::uint32_t k) { return k > 0; }) - open.begin());
  throw UserError({error(
      path, "", fmt::format("the graph has a cycle; node \"{}\" lies on it or behind it", graph.nodes[stuck].name),
      "a step's graph has no cycles but loops")});
}

TfGraph build(const std::vector<const tf::NodeDef*>& defs, const std::map<std::string, std::string>& aliases,
              const std::string& path) {
  TfGraph graph;
  graph.nodes.reserve(defs.size());
  std::vector<Diagnostic> errors;
  const auto add_error = [&](std::string message, std::string hint) {
    if (errors.size() < kMostErrors) errors.push_back(error(path, "", std::move(message), std::move(hint)));
  };
  for (const tf::NodeDef* def : defs) {
    const auto id = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.push_back(to_node(*def));
    if (def->name().empty())
      add_error(fmt::format("node {} has no name", id), "the file may be damaged");
    else if (!graph.index.emplace(def->name(), id).second)
      add_error(fmt::format("two nodes are named \"{}\"", def->name()), "names of nodes are unique in a graph");
  }
  std::size_t edges = 0;
  for (std::size_t i = 0; i < defs.size(); ++i) {
    TfNode& node = graph.nodes[i];
    for (int pass = 0; pass < 2; ++pass)
      for (const std::string& text : defs[i]->input()) {
        InputName input = parse_input(text);
        if (const auto alias = aliases.find(std::string(input.node)); alias != aliases.end()) {
          const bool control = input.control;
          input = parse_input(alias->second);
          input.control = control || input.control;
        }
        if (input.control != (pass == 1)) continue;
        const auto it = graph.index.find(std::string(input.node));
        if (it == graph.index.end()) {
          add_error(fmt::format("node \"{}\" takes \"{}\", which is not in the graph", node.name, text),
                    "the graph must be whole; the file may be cut");
          continue;
        }
        node.inputs.push_back({it->second, input.slot, input.control});
        node.data_inputs += input.control ? 0 : 1;
        if (++edges > kMostEdges)
          throw UserError({error(path, "", fmt::format("the graph has more than {} edges", kMostEdges))});
      }
  }
  if (!errors.empty()) throw UserError(std::move(errors));
  sort_nodes(graph, path);
  return graph;
}

}  // namespace

std::string TfDevice::task_name() const { return job.empty() ? "(no job)" : fmt::format("/job:{}/task:{}", job, task); }

TfDevice parse_device(std::string_view text) {
  TfDevice out;
  bool seen = false;  // the device itself: what follows belongs to the GPU tracer
  while (!text.empty()) {
    text.remove_prefix(text.front() == '/' ? 1 : 0);
    std::string_view part = text.substr(0, text.find('/'));
    text.remove_prefix(part.size());
    if (seen) {
      if (!out.rest.empty()) out.rest += '/';
      out.rest += part;
      continue;
    }
    const std::size_t colon = part.find(':');
    std::string key = lower(part.substr(0, colon));
    std::string_view value = colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1);
    if (key == "device") {
      key = lower(value.substr(0, value.find(':')));
      value.remove_prefix(std::min(value.size(), key.size() + 1));
      seen = true;
    } else if (key == "cpu" || key == "gpu") {
      seen = true;
    }
    if (key == "job")
      out.job = value;
    else if (key == "task")
      std::from_chars(value.data(), value.data() + value.size(), out.task);
    else if (seen)
      out.gpu = key == "gpu" || key == "xla_gpu";
  }
  return out;
}

std::int64_t type_bytes(std::int32_t type) {
  switch (type > 100 ? type - 100 : type) {
    case 4:
    case 6:
    case 10:
    case 11:
    case 12:
      return 1;  // uint8, int8, bool, qint8, quint8
    case 5:
    case 14:
    case 15:
    case 16:
    case 17:
    case 19:
      return 2;  // int16, bfloat16, qint16, quint16, uint16, half
    case 1:
    case 3:
    case 13:
    case 22:
      return 4;  // float, int32, qint32, uint32
    case 2:
    case 8:
    case 9:
    case 23:
      return 8;  // double, complex64, int64, uint64
    case 18:
      return 16;  // complex128
    default:
      return 0;
  }
}

std::optional<std::int64_t> element_count(const TfShape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(count, d, &count) || count > (std::int64_t{1} << 58)) return std::nullopt;
  return count;
}

TfGraph build_graph(const tf::GraphDef& graph, const std::string& path) {
  std::vector<const tf::NodeDef*> defs;
  for (const tf::NodeDef& node : graph.node()) defs.push_back(&node);
  return build(defs, {}, path);
}

TfGraph join_partitions(const tf::RunMetadata& metadata, const std::string& path) {
  const auto attribute = [](const tf::NodeDef& node, std::string_view key) {
    for (const tf::AttrEntry& entry : node.attr())
      if (entry.key() == key) return entry.value().s();
    return std::string();
  };
  const auto route = [&](const tf::NodeDef& node) {
    return fmt::format("{};{};{}", attribute(node, "send_device"), attribute(node, "recv_device"),
                       attribute(node, "tensor_name"));
  };
  const auto is = [](const tf::NodeDef& node, std::string_view what) {
    return node.op() == fmt::format("_{}", what) || node.op() == fmt::format("_Host{}", what);
  };
  std::map<std::string, std::string> sent;  // by route
  for (const tf::GraphDef& graph : metadata.partition_graphs())
    for (const tf::NodeDef& node : graph.node())
      if (is(node, "Send") && !node.input().empty()) sent.emplace(route(node), node.input(0));
  std::map<std::string, std::string> aliases;
  std::vector<const tf::NodeDef*> defs;
  std::size_t lost = 0;
  for (const tf::GraphDef& graph : metadata.partition_graphs())
    for (const tf::NodeDef& node : graph.node()) {
      if (is(node, "Send")) continue;
      if (const auto it = sent.find(route(node)); is(node, "Recv") && it != sent.end())
        aliases.emplace(node.name(), it->second);
      else
        defs.push_back(&node);
      lost += is(node, "Recv") && !sent.contains(route(node)) ? 1U : 0U;
    }
  // What is sent may itself have been received: from the GPU to the host, then to another process.
  for (auto& [name, target] : aliases)
    for (std::size_t hops = 0; hops < 8; ++hops) {
      const auto next = aliases.find(std::string(parse_input(target).node));
      if (next == aliases.end()) break;
      target = next->second;
    }
  TfGraph joined = build(defs, aliases, path);
  if (lost > 0)
    joined.repaired.push_back(
        fmt::format("{} receives have no send in any partition: what they wait for is not known", lost));
  return joined;
}

}  // namespace stretto::io
