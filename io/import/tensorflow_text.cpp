// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "io/file/file.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kMaxDepth = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '+' || c == '.';
}

// TensorFlow's types.proto.
std::int32_t type_of_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::int32_t> kTypes[] = {
      {"DT_FLOAT", 1},     {"DT_DOUBLE", 2},  {"DT_INT32", 3},       {"DT_UINT8", 4}, {"DT_INT16", 5},
      {"DT_INT8", 6},      {"DT_STRING", 7},  {"DT_COMPLEX64", 8},   {"DT_INT64", 9}, {"DT_BOOL", 10},
      {"DT_BFLOAT16", 14}, {"DT_UINT16", 17}, {"DT_COMPLEX128", 18}, {"DT_HALF", 19}, {"DT_RESOURCE", 20},
      {"DT_VARIANT", 21},  {"DT_UINT32", 22}, {"DT_UINT64", 23}};
  constexpr std::string_view kRef = "_REF";
  const bool ref = name.ends_with(kRef);
  if (ref) name.remove_suffix(kRef.size());
  for (const auto& [text, value] : kTypes)
    if (name == text) return value + (ref ? 100 : 0);
  return 0;
}

}  // namespace

void TextReader::fail(std::size_t offset, std::string message, std::string hint) const {
  Diagnostic d;
  d.span = file::span_at(text_, path_, offset);
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

void TextReader::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
      ++at_;
    else
      return;
  }
}

char TextReader::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextReader::accept(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

std::string_view TextReader::word() {
  skip_space();
  const std::size_t start = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (start == at_)
    fail(start, at_ == text_.size() ? "the text ends in the middle of a field" : "here a name or value must be",
         "this is read as the text form of protocol buffers");
  return text_.substr(start, at_ - start);
}

void TextReader::fields(const Handler& handler, char closing) {
  const std::size_t start = at_;
  if (++depth_ > kMaxDepth) fail(start, fmt::format("nested deeper than {} levels", kMaxDepth));
  for (;;) {
    if (closing != '\0' && accept(closing)) break;
    if (closing == '\0' && peek() == '\0' && at_ == text_.size()) break;
    if (at_ == text_.size()) fail(start == 0 ? 0 : start - 1, "this bracket is never closed", "the file may be cut");
    if (accept('[')) {  // the name of an extension
      at_ = text_.find(']', at_);
      if (at_ == std::string_view::npos) {
        at_ = text_.size();
        fail(start, "a name in square brackets is never closed");
      }
      ++at_;
      skip_value();
    } else {
      const std::string_view name = word();
      if (!handler(name)) skip_value();
    }
    if (!accept(',')) accept(';');
  }
  --depth_;
}

void TextReader::document(const Handler& handler) { fields(handler, '\0'); }

void TextReader::values(const std::function<void()>& one) {
  if (!accept('[')) return one();
  if (accept(']')) return;
  do one();
  while (accept(','));
  if (!accept(']')) fail(at_, "a list must go on with ',' or end with ']'");
}

void TextReader::message(const Handler& handler) {
  accept(':');
  if (accept('{'))
    fields(handler, '}');
  else if (accept('<'))
    fields(handler, '>');
  else
    fail(at_, "here '{' must be");
}

std::string TextReader::quoted() {
  std::string out;
  const char first = peek();
  if (first != '"' && first != '\'') fail(at_, "here a text in quotes must be");
  for (char quote = first; quote == '"' || quote == '\''; quote = peek()) {
    const std::size_t start = at_++;
    for (;;) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail(start, "this quote is never closed");
      const char c = text_[at_++];
      if (c == quote) break;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) fail(start, "this quote is never closed");
      const char e = text_[at_++];
      constexpr std::string_view kFrom = "abfnrtv\\'\"?";
      constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"?";
      const std::size_t known = kFrom.find(e);
      const auto number = [&](std::size_t begin, std::size_t most, int base) {
        unsigned value = 0;
        const std::size_t end = std::min(begin + most, text_.size());
        const auto parsed = std::from_chars(text_.data() + begin, text_.data() + end, value, base);
        if (parsed.ec != std::errc() || value > 255) fail(at_ - 2, "this escape is not known");
        at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
        out += static_cast<char>(value);
      };
      if (known != std::string_view::npos)
        out += kTo[known];
      else if (e >= '0' && e <= '7')
        number(at_ - 1, 3, 8);
      else if (e == 'x' || e == 'X')
        number(at_, 2, 16);
      else
        fail(at_ - 2, "this escape is not known");
    }
  }
  return out;
}

void TextReader::string(const std::function<void(std::string)>& take) {
  accept(':');
  values([&] { take(quoted()); });
}

void TextReader::integer(const std::function<void(std::int64_t)>& take) {
  accept(':');
  values([&] {
    skip_space();
    const std::size_t start = at_;
    std::string_view text = word();
    if (text.starts_with('+')) text.remove_prefix(1);
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
      fail(start, "this is no whole number of 64 bits");
    take(value);
  });
}

void TextReader::boolean(const std::function<void(bool)>& take) {
  accept(':');
  values([&] {
    skip_space();
    const std::size_t start = at_;
    const std::string_view text = word();
    if (text == "true" || text == "True" || text == "t" || text == "1")
      take(true);
    else if (text == "false" || text == "False" || text == "f" || text == "0")
      take(false);
    else
      fail(start, "must be true or false");
  });
}

void TextReader::data_type(const std::function<void(std::int32_t)>& take) {
  accept(':');
  values([&] {
    const std::string_view text = word();
    std::int32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    take(parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? value : type_of_name(text));
  });
}

void TextReader::skip_value() {
  const Handler nothing = [](std::string_view) { return false; };
  accept(':');
  values([&] {
    const char c = peek();
    if (c == '{' || c == '<') {
      ++at_;
      fields(nothing, c == '{' ? '}' : '>');
    } else if (c == '"' || c == '\'') {
      quoted();
    } else {
      word();
    }
  });
}

namespace {

void read_shape(TextReader& in, tf::Shape& shape) {
  in.message([&](std::string_view field) {
    if (field == "dim") {
      tf::Shape::Dim& dim = *shape.add_dim();
      in.message([&](std::string_view key) {
        if (key != "size") return false;
        in.integer([&](std::int64_t v) { dim.set_size(v); });
        return true;
      });
    } else if (field == "unknown_rank") {
      in.boolean([&](bool v) { shape.set_unknown_rank(v); });
    } else {
      return false;
    }
    return true;
  });
}

void read_list(TextReader& in, tf::AttrValue::ListValue& list) {
  in.message([&](std::string_view field) {
    if (field == "s")
      in.string([&](std::string v) { list.add_s(std::move(v)); });
    else if (field == "i")
      in.integer([&](std::int64_t v) { list.add_i(v); });
    else if (field == "type")
      in.data_type([&](std::int32_t v) { list.add_type(v); });
    else if (field == "shape")
      read_shape(in, *list.add_shape());
    else
      return false;
    return true;
  });
}

void read_value(TextReader& in, tf::AttrValue& value) {
  in.message([&](std::string_view field) {
    if (field == "s")
      in.string([&](std::string v) { value.set_s(std::move(v)); });
    else if (field == "i")
      in.integer([&](std::int64_t v) { value.set_i(v); });
    else if (field == "b")
      in.boolean([&](bool v) { value.set_b(v); });
    else if (field == "type")
      in.data_type([&](std::int32_t v) { value.set_type(v); });
    else if (field == "shape")
      read_shape(in, *value.mutable_shape());
    else if (field == "list")
      read_list(in, *value.mutable_list());
    else
      return false;
    return true;
  });
}

void read_node(TextReader& in, tf::GraphDef& graph) {
  tf::NodeDef node;
  in.message([&](std::string_view field) {
    if (field == "name") {
      in.string([&](std::string v) { node.set_name(std::move(v)); });
    } else if (field == "op") {
      in.string([&](std::string v) { node.set_op(std::move(v)); });
    } else if (field == "input") {
      in.string([&](std::string v) { node.add_input(std::move(v)); });
    } else if (field == "device") {
      in.string([&](std::string v) { node.set_device(std::move(v)); });
    } else if (field == "attr") {
      tf::AttrEntry& entry = *node.add_attr();
      in.message([&](std::string_view key) {
        if (key == "key")
          in.string([&](std::string v) { entry.set_key(std::move(v)); });
        else if (key == "value")
          read_value(in, *entry.mutable_value());
        else
          return false;
        return true;
      });
    } else {
      return false;
    }
    return true;
  });
  if (graph.node_size() >= kMostTfNodes) in.refuse(fmt::format("more than {} nodes", kMostTfNodes));
  *graph.add_node() = std::move(node);
}

void read_output(TextReader& in, tf::NodeOutput& output) {
  in.message([&](std::string_view field) {
    if (field == "slot") {
      in.integer([&](std::int64_t v) { output.set_slot(static_cast<std::int32_t>(v)); });
      return true;
    }
    if (field != "tensor_description") return false;
    tf::TensorDescription& tensor = *output.mutable_tensor_description();
    in.message([&](std::string_view key) {
      if (key == "dtype") {
        in.data_type([&](std::int32_t v) { tensor.set_dtype(v); });
      } else if (key == "shape") {
        read_shape(in, *tensor.mutable_shape());
      } else if (key == "allocation_description") {
        in.message([&](std::string_view name) {
          if (name != "requested_bytes") return false;
          in.integer([&](std::int64_t v) { tensor.mutable_allocation_description()->set_requested_bytes(v); });
          return true;
        });
      } else {
        return false;
      }
      return true;
    });
    return true;
  });
}

void read_record(TextReader& in, tf::DeviceStepStats& device) {
  using Record = tf::NodeExecStats;
  constexpr std::pair<std::string_view, void (Record::*)(std::int64_t)> kNumbers[] = {
      {"all_start_micros", &Record::set_all_start_micros},   {"op_start_rel_micros", &Record::set_op_start_rel_micros},
      {"op_end_rel_micros", &Record::set_op_end_rel_micros}, {"all_end_rel_micros", &Record::set_all_end_rel_micros},
      {"all_start_nanos", &Record::set_all_start_nanos},     {"op_start_rel_nanos", &Record::set_op_start_rel_nanos},
      {"op_end_rel_nanos", &Record::set_op_end_rel_nanos},   {"all_end_rel_nanos", &Record::set_all_end_rel_nanos}};
  Record record;
  in.message([&](std::string_view field) {
    for (const auto& [name, set] : kNumbers)
      if (field == name) {
        in.integer([&, set = set](std::int64_t v) { (record.*set)(v); });
        return true;
      }
    if (field == "node_name")
      in.string([&](std::string v) { record.set_node_name(std::move(v)); });
    else if (field == "timeline_label")
      in.string([&](std::string v) { record.set_timeline_label(std::move(v)); });
    else if (field == "output")
      read_output(in, *record.add_output());
    else
      return false;
    return true;
  });
  if (device.node_stats_size() >= kMostTfRecords) in.refuse(fmt::format("more than {} records", kMostTfRecords));
  *device.add_node_stats() = std::move(record);
}

bool read_stats_field(TextReader& in, std::string_view field, tf::StepStats& stats) {
  if (field != "dev_stats") return false;
  tf::DeviceStepStats& device = *stats.add_dev_stats();
  in.message([&](std::string_view key) {
    if (key == "device")
      in.string([&](std::string v) { device.set_device(std::move(v)); });
    else if (key == "node_stats")
      read_record(in, device);
    else
      return false;
    return true;
  });
  return true;
}

bool read_graph_field(TextReader& in, std::string_view field, tf::GraphDef& graph) {
  if (field != "node") return false;
  read_node(in, graph);
  return true;
}

}  // namespace

void parse_text(std::string_view text, const std::string& path, tf::GraphDef& graph) {
  TextReader in(text, path);
  in.document([&](std::string_view field) { return read_graph_field(in, field, graph); });
}

void parse_text(std::string_view text, const std::string& path, tf::StepStats& stats) {
  TextReader in(text, path);
  in.document([&](std::string_view field) { return read_stats_field(in, field, stats); });
}

void parse_text(std::string_view text, const std::string& path, tf::RunMetadata& metadata) {
  TextReader in(text, path);
  in.document([&](std::string_view field) {
    if (field == "step_stats") {
      in.message([&](std::string_view key) { return read_stats_field(in, key, *metadata.mutable_step_stats()); });
    } else if (field == "partition_graphs") {
      tf::GraphDef& graph = *metadata.add_partition_graphs();
      in.message([&](std::string_view key) { return read_graph_field(in, key, graph); });
    } else {
      return false;
    }
    return true;
  });
}

std::string_view first_text_field(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#')
      at = std::min(text.find('\n', at), text.size());
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
      ++at;
    else
      break;
  }
  const std::size_t start = at;
  while (at < text.size() && ((text[at] >= 'a' && text[at] <= 'z') || text[at] == '_')) ++at;
  const std::string_view name = text.substr(start, at - start);
  while (at < text.size() && (text[at] == ' ' || text[at] == ':' || text[at] == '\n' || text[at] == '\r')) ++at;
  return at < text.size() && (text[at] == '{' || text[at] == '<') ? name : std::string_view();
}

}  // namespace stretto::io
