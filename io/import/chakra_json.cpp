// SPDX-License-Identifier: Apache-2.0
#include "io/import/chakra_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "io/import/decimal.hpp"
#include "io/json/reader.hpp"

namespace stretto::io {

namespace {

constexpr std::array<std::string_view, 8> kNodeTypes = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                        "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                        "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr std::array<std::string_view, 10> kCollectiveTypes = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
constexpr std::string_view kNone = "<None>";

// "ctrlDeps", "CtrlDeps" and "ctrl_deps" are one key.
std::string snake(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty() && out.back() != '_') out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// A 64-bit -1 is "none" also where it stands unsigned.
std::optional<std::int64_t> parse_number(std::string_view text) {
  return text == "18446744073709551615" ? std::optional<std::int64_t>(-1) : parse_whole(text);
}

// A whole number, also as text, as true or false, or as one of `names`; none (without error) for null and "<None>".
std::optional<std::int64_t> whole(const json::Value& value, std::span<const std::string_view> names = {}) {
  switch (value.kind()) {
    case json::Kind::Null:
      return std::nullopt;
    case json::Kind::Bool: {
      const auto flag = value.boolean();
      return flag ? std::optional<std::int64_t>(*flag ? 1 : 0) : std::nullopt;
    }
    case json::Kind::Number: {
      const auto number = value.number();
      if (!number) return std::nullopt;
      if (*number == std::floor(*number) && std::abs(*number) < 9e15) return static_cast<std::int64_t>(*number);
      value.error(fmt::format("{:g} is no whole number below 9e15", *number));
      return std::nullopt;
    }
    default:
      break;
  }
  const auto text = value.string();
  if (!text || *text == kNone) return std::nullopt;
  const auto named = std::find(names.begin(), names.end(), *text);
  if (named != names.end()) return named - names.begin();
  if (const auto number = parse_number(*text)) return number;
  value.error(fmt::format("'{}' is no whole number", text->substr(0, 80)));
  return std::nullopt;
}

void ids(const json::Value& value, std::vector<std::uint64_t>& out) {
  const auto one = [&](const json::Value& v) {
    const auto id = whole(v);
    if (id && *id >= 0) out.push_back(static_cast<std::uint64_t>(*id));
    if (id && *id < 0) v.error(fmt::format("{} is no id of a node", *id));
  };
  if (value.kind() == json::Kind::Array)
    value.elements(one);
  else
    one(value);
}

void set(ChakraNode& node, const std::string& key, const json::Value& value) {
  const auto number = whole(value, key == "comm_type" ? std::span<const std::string_view>(kCollectiveTypes)
                                                      : std::span<const std::string_view>());
  if (!number) return;
  const std::string wrong = set_chakra_attribute(node, key, *number);
  if (!wrong.empty()) value.error(wrong);
}

// {"name": ..., "int64Val": ...}: the name may stand behind the value.
void attribute(const json::Value& value, ChakraNode& node) {
  std::string name;
  std::optional<std::int64_t> number;
  bool typed = false;
  value.members([&](std::string_view key, const json::Value& v) {
    if (snake(key) == "name") {
      name = v.string().value_or("");
    } else if (key.ends_with("Val") || key.ends_with("_val")) {
      const json::Kind kind = v.kind();
      typed = true;
      if (kind == json::Kind::Number || kind == json::Kind::Bool) {
        number = whole(v);
      } else if (kind == json::Kind::String) {
        number = parse_number(v.string().value_or(""));
      }
    }
  });
  if (!is_chakra_attribute(name)) return;
  if (!typed || !number) {
    value.error(fmt::format("{} is no whole number", name));
    return;
  }
  const std::string wrong = set_chakra_attribute(node, name, *number);
  if (!wrong.empty()) value.error(wrong);
}

void read_node(const json::Value& value, ChakraTrace& trace) {
  ChakraNode node;
  node.offset = value.place().offset;
  bool has_type = false;
  bool metadata = false;
  value.members([&](std::string_view raw, const json::Value& v) {
    const std::string key = snake(raw);
    if (key == "id") {
      const auto id = whole(v);
      if (id && *id < 0) v.error(fmt::format("{} is no id of a node", *id));
      if (id && *id >= 0) node.id = static_cast<std::uint64_t>(*id);
    } else if (key == "name") {
      node.name = v.string().value_or("");
    } else if (key == "type" || key == "node_type") {
      const auto type = whole(v, kNodeTypes);
      has_type = true;
      if (type && (*type < 0 || *type > 7)) v.error(fmt::format("type {} of a node is unknown", *type));
      if (type && *type >= 0 && *type <= 7) node.kind = static_cast<ChakraKind>(*type);
    } else if (key == "ctrl_deps") {
      ids(v, node.control);
    } else if (key == "data_deps") {
      ids(v, node.data);
    } else if (key == "duration_micros" || key == "runtime") {
      const auto duration = whole(v);
      const bool sound = duration && *duration >= 0 && *duration <= kMostMicroseconds;
      if (duration && !sound) v.error("the duration is out of range");
      if (sound) node.duration_us = *duration;
    } else if (key == "workload_graph" || key == "nodes") {
      metadata = true;
      v.elements([&](const json::Value& n) { read_node(n, trace); });
    } else if (key == "version") {
      metadata = true;
      trace.version = v.string().value_or("");
    } else if (key == "attr") {
      v.elements([&](const json::Value& a) { attribute(a, node); });
    } else if (is_chakra_attribute(key)) {
      set(node, key, v);
    }
  });
  if (has_type)
    trace.nodes.push_back(std::move(node));
  else if (!metadata && (node.id != 0 || !node.name.empty()))
    value.error("a node has no type");
}

// Objects one after the other become an array.
std::string as_array(const std::string& text) {
  std::string out = "[";
  out.reserve(text.size() + 2);
  int depth = 0;
  bool quoted = false;
  bool escaped = false;
  bool between = false;
  for (const char c : text) {
    if (quoted) {
      if (!escaped && c == '"') quoted = false;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0 && between) out += ',';
      between = false;
    } else if (c == '}' || c == ']') {
      between = --depth == 0;
    }
    out += c;
  }
  return out + "]";
}

std::string_view visible(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

}  // namespace

bool is_chakra_json(std::string_view text) {
  const std::string_view start = visible(text);
  if (!start.starts_with('{') && !start.starts_with('[')) return false;
  const std::string_view head = start.substr(0, 4096);
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  if (has("\"workload_graph\"")) return true;
  return has("COMP_NODE") || has("COMM_COLL_NODE") || has("METADATA_NODE") || has("COMM_SEND_NODE") ||
         has("COMM_RECV_NODE") || has("\"NodeType\"");
}

ChakraTrace read_chakra_json(const std::string& text, const std::string& path) {
  ChakraTrace trace;
  const bool wrapped = visible(text).starts_with('{');
  json::Document document(wrapped ? as_array(text) : text, path);
  document.read(
      [&](const json::Value& root) { root.elements([&](const json::Value& object) { read_node(object, trace); }); });
  return trace;
}

}  // namespace stretto::io
