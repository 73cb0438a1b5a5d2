// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_file.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "io/import/common.hpp"
#include "io/import/tensorflow_text.hpp"
#include "io/json/utf8.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kMostNodes = kMostTfNodes;
constexpr std::size_t kMostRecords = kMostTfRecords;
constexpr std::size_t kMostDevices = 10'000;
constexpr std::size_t kLargestMessage = std::size_t{32}
                                        << 20;  // a node or record; a constant of the graph may be large
constexpr const char* kAgain = "copy the file again, or write it again with SerializeToString()";

// The fields of one message on the wire, without building it.
class Wire {
 public:
  // A lenient one takes what there is of a field that is cut.
  explicit Wire(std::string_view bytes, bool lenient = false) : bytes_(bytes), lenient_(lenient) {}

  struct Field {
    std::uint32_t number = 0;
    bool is_bytes = false;
    std::string_view bytes;  // of a length-delimited field
  };

  std::size_t at() const { return at_; }
  bool done() const { return at_ == bytes_.size(); }

  // Nothing if what follows is no whole field.
  std::optional<Field> next() {
    const auto key = varint();
    if (!key || (*key >> 3) == 0 || (*key >> 3) > kMostFieldNumber) return std::nullopt;
    Field field;
    field.number = static_cast<std::uint32_t>(*key >> 3);
    std::uint64_t skip = 0;
    switch (*key & 7) {
      case 0:
        return varint() ? std::optional(field) : std::nullopt;
      case 1:
        skip = 8;
        break;
      case 5:
        skip = 4;
        break;
      case 2: {
        const auto length = varint();
        if (!length) return std::nullopt;
        skip = *length;
        field.is_bytes = true;
        break;
      }
      default:
        return std::nullopt;  // groups are in none of these files
    }
    if (skip > bytes_.size() - at_) {
      if (!lenient_) return std::nullopt;
      skip = bytes_.size() - at_;
    }
    field.bytes = bytes_.substr(at_, skip);
    at_ += skip;
    return field;
  }

 private:
  static constexpr std::uint64_t kMostFieldNumber = (1U << 29) - 1;

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view bytes_;
  bool lenient_ = false;
  std::size_t at_ = 0;
};

// Reads a whole file message by message, so that a count can be refused before it fills the memory.
class Reader {
 public:
  Reader(std::string_view content, const std::string& path) : content_(content), path_(path) {}

  void graph(std::string_view bytes, tf::GraphDef& out) {
    each(bytes, "GraphDef", [&](const Wire::Field& field) {
      if (field.number != 1 || !field.is_bytes) return;
      count(nodes_, kMostNodes, "nodes");
      parse(field.bytes, "node", *out.add_node());
    });
  }

  void stats(std::string_view bytes, tf::StepStats& out) {
    each(bytes, "StepStats", [&](const Wire::Field& field) {
      if (field.number != 1 || !field.is_bytes) return;
      count(devices_, kMostDevices, "devices");
      tf::DeviceStepStats& device = *out.add_dev_stats();
      each(field.bytes, "DeviceStepStats", [&](const Wire::Field& inner) {
        if (inner.number == 1 && inner.is_bytes) device.set_device(std::string(inner.bytes));
        if (inner.number != 2 || !inner.is_bytes) return;
        count(records_, kMostRecords, "records");
        parse(inner.bytes, "record", *device.add_node_stats());
      });
    });
  }

  void metadata(tf::RunMetadata& out) {
    each(content_, "RunMetadata", [&](const Wire::Field& field) {
      if (!field.is_bytes) return;
      if (field.number == 1) stats(field.bytes, *out.mutable_step_stats());
      if (field.number == 3) {
        count(devices_, kMostDevices, "partition graphs");
        graph(field.bytes, *out.add_partition_graphs());
      }
    });
  }

 private:
  std::size_t offset(std::string_view bytes) const { return static_cast<std::size_t>(bytes.data() - content_.data()); }

  void each(std::string_view bytes, std::string_view what, const std::function<void(const Wire::Field&)>& visit) {
    Wire wire(bytes);
    while (!wire.done()) {
      const std::size_t start = offset(bytes) + wire.at();
      const auto field = wire.next();
      if (!field)
        refuse_damaged(path_, fmt::format("the binary {}", what), start, content_.size(), "is damaged or cut", kAgain);
      visit(*field);
    }
  }

  template <class Message>
  void parse(std::string_view bytes, std::string_view what, Message& out) {
    if (bytes.size() > kLargestMessage)
      refuse_file(path_,
                  fmt::format("a {} at byte {} has {} bytes, the limit is {}", what, offset(bytes), bytes.size(),
                              kLargestMessage),
                  "take a graph whose weights are variables, not constants");
    if (!out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      refuse_damaged(path_, fmt::format("a {}", what), offset(bytes), content_.size(), "is damaged", kAgain);
  }

  void count(std::size_t& n, std::size_t most, std::string_view what) {
    if (++n > most) refuse_file(path_, fmt::format("more than {} {}", most, what), "no TensorFlow step has as many");
  }

  std::string_view content_;
  const std::string& path_;
  std::size_t nodes_ = 0;
  std::size_t records_ = 0;
  std::size_t devices_ = 0;
};

void check_name(const std::string& name, std::string_view what, const std::string& path) {
  if (json::find_invalid_utf8(name) != std::string_view::npos)
    refuse_file(path, fmt::format("the {} \"{}\" is no UTF-8", what, name), "the file may be damaged");
}

void check_names(const tf::GraphDef& graph, const std::string& path) {
  for (const tf::NodeDef& node : graph.node()) {
    check_name(node.name(), "node name", path);
    check_name(node.op(), "op", path);
    check_name(node.device(), "device", path);
    for (const std::string& input : node.input()) check_name(input, "input", path);
  }
}

void check_names(const tf::RunMetadata& metadata, const std::string& path) {
  for (const tf::DeviceStepStats& device : metadata.step_stats().dev_stats()) {
    check_name(device.device(), "device", path);
    for (const tf::NodeExecStats& record : device.node_stats()) {
      check_name(record.node_name(), "node name", path);
      check_name(record.timeline_label(), "timeline_label", path);
    }
  }
  for (const tf::GraphDef& graph : metadata.partition_graphs()) check_names(graph, path);
}

bool is_device(std::string_view text) { return text.find(':') != std::string_view::npos && text.starts_with('/'); }

// The kind of a binary file by its first fields. A GraphDef starts with a node {1: name, 2: op}; StepStats with a
// device {1: "/job:...", 2: record}; RunMetadata with step_stats {1: device {...}}, or with a partition graph.
TfKind binary_kind(std::string_view content) {
  const auto first = Wire(content, true).next();
  if (!first || !first->is_bytes) return TfKind::None;
  if (first->number == 3) {
    const auto node = Wire(first->bytes, true).next();
    return node && node->number == 1 && node->is_bytes ? TfKind::Metadata : TfKind::None;
  }
  if (first->number != 1) return TfKind::None;
  const auto inner = Wire(first->bytes, true).next();
  if (!inner || inner->number != 1 || !inner->is_bytes) return TfKind::None;
  if (is_device(inner->bytes)) return TfKind::StepStats;
  const auto innermost = Wire(inner->bytes, true).next();
  if (innermost && innermost->number == 1 && innermost->is_bytes && is_device(innermost->bytes))
    return TfKind::Metadata;
  for (const char c : inner->bytes)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7F') return TfKind::None;
  Wire node(first->bytes, true);
  node.next();
  const auto second = node.next();
  return second && second->number == 2 && second->is_bytes ? TfKind::Graph : TfKind::None;
}

}  // namespace

TfFormat tf_format(std::string_view content) {
  const std::string_view field = first_text_field(content);
  if (field == "node" || field == "versions" || field == "library") return {TfKind::Graph, true};
  if (field == "step_stats" || field == "partition_graphs" || field == "cost_graph" || field == "function_graphs")
    return {TfKind::Metadata, true};
  if (field == "dev_stats") return {TfKind::StepStats, true};
  return {binary_kind(content), false};
}

tf::GraphDef read_graph_def(std::string_view content, const std::string& path) {
  const TfFormat format = tf_format(content);
  tf::GraphDef graph;
  if (format.text) {
    parse_text(content, path, graph);
  } else {
    if (format.kind == TfKind::Metadata || format.kind == TfKind::StepStats)
      refuse_file(path, "this is a RunMetadata, not a GraphDef",
                  "give the GraphDef: graph.as_graph_def().SerializeToString()");
    Reader(content, path).graph(content, graph);
  }
  if (graph.node().empty()) refuse_file(path, "the GraphDef has no nodes", "expected a GraphDef, binary or as text");
  check_names(graph, path);
  return graph;
}

tf::RunMetadata read_run_metadata(std::string_view content, const std::string& path) {
  const TfFormat format = tf_format(content);
  tf::RunMetadata metadata;
  if (format.kind == TfKind::Graph)
    refuse_file(path, "this is a GraphDef, not a RunMetadata", "give the RunMetadata of a step with FULL_TRACE");
  if (format.kind == TfKind::StepStats) {
    if (format.text)
      parse_text(content, path, *metadata.mutable_step_stats());
    else
      Reader(content, path).stats(content, *metadata.mutable_step_stats());
  } else if (format.text) {
    parse_text(content, path, metadata);
  } else {
    Reader(content, path).metadata(metadata);
  }
  check_names(metadata, path);
  return metadata;
}

}  // namespace stretto::io
