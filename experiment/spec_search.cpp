// SPDX-License-Identifier: Apache-2.0
// The rows of the section `search`.
#include <fmt/format.h>

#include <utility>

#include "experiment/spec_rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::size_t kMaxValues = 64;

// The items of a list of at most kMaxValues; a single value is a list of one.
template <class F>
void for_items(Reader& reader, const Node& node, const std::string& key, F&& f) {
  if (!node.is_sequence()) return f(node, key);
  if (node.items.empty() || node.items.size() > kMaxValues)
    return reader.error(node.place, key, fmt::format("a list of {} values", node.items.size()),
                        fmt::format("1 to {} values", kMaxValues));
  for (std::size_t i = 0; i < node.items.size(); ++i) f(node.items[i], fmt::format("{}[{}]", key, i));
}

void read_sizes(Reader& reader, const Node& node, const std::string& key, SizesSpec& sizes) {
  const auto positive = [&](const Node& value, const std::string& at) {
    const auto bytes = reader.read_bytes(value, at);
    if (bytes && *bytes <= Bytes()) reader.error(value.place, at, "0 B is no size", "valid: at least 1 B");
    return bytes.value_or(Bytes());
  };
  sizes = {};
  if (!node.is_map()) {
    for_items(reader, node, key, [&](const Node& item, const std::string& at) {
      if (const Bytes b = positive(item, at); b > Bytes()) sizes.list.push_back(b);
    });
    return;
  }
  const std::string hint = "for example {min: 256 KiB, max: 16 MiB}";
  for (const config::Entry& entry : node.entries) {
    if (entry.key != "min" && entry.key != "max")
      return reader.error(entry.place, key + "." + entry.key, "unknown key", hint);
    (entry.key == "min" ? sizes.min : sizes.max) = positive(entry.value, key + "." + entry.key);
  }
  if (node.find("min") == nullptr || node.find("max") == nullptr)
    return reader.error(node.place, key, "a range needs both ends", hint);
  if (sizes.min > sizes.max) reader.error(node.place, key, "min is more than max", hint);
}

std::string write_sizes(const SizesSpec& sizes) {
  if (sizes.range())
    return fmt::format("{{min: {}, max: {}}}", config::format_bytes(sizes.min), config::format_bytes(sizes.max));
  std::string out;
  for (const Bytes b : sizes.list) out += (out.empty() ? "" : ", ") + config::format_bytes(b);
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

void add_search_fields(Rows& rows) {
  rows.push_back(custom(
      "search.order", "boolean", "", "", "`stretto search` may change the order; true if left out",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        if (const auto value = reader.read_bool(node, key)) s.search.order = *value;
      },
      [](const Spec& s) { return s.search.order ? "" : "false"; }));
  rows.push_back(custom(
      "search.partition", "sizes", "a list, or {min, max}", "", "largest slice: the sizes to try, or a range",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        read_sizes(reader, node, key, s.search.partition);
      },
      [](const Spec& s) { return write_sizes(s.search.partition); }));
  rows.push_back(custom(
      "search.credit", "sizes", "a list, or {min, max}", "", "bytes of credit to try, or a range",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        read_sizes(reader, node, key, s.search.credit);
      },
      [](const Spec& s) { return write_sizes(s.search.credit); }));
  rows.push_back(custom(
      "search.placement", "boolean", "", "", "`stretto search` may move variables between servers; false if left out",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        if (const auto value = reader.read_bool(node, key)) s.search.placement = *value;
      },
      [](const Spec& s) { return s.search.placement ? "true" : ""; }));
  rows.push_back(custom(
      "search.servers", "list", "1 to 1024 each", "", "numbers of servers to try besides cluster.servers.count",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.search.servers.clear();
        for_items(reader, node, key, [&](const Node& item, const std::string& at) {
          if (const auto n = reader.read_integer(item, at, 1, 1024))
            s.search.servers.push_back(static_cast<std::uint32_t>(*n));
        });
      },
      [](const Spec& s) {
        std::string out;
        for (const std::uint32_t n : s.search.servers) out += (out.empty() ? "" : ", ") + std::to_string(n);
        return out.empty() ? "" : "[" + out + "]";
      }));
  rows.push_back(custom(
      "search.methods", "list", "names", "", "methods to use after the portfolio; all if left out",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.search.methods.clear();
        for_items(reader, node, key, [&](const Node& item, const std::string& at) {
          if (auto name = reader.read_text(item, at)) s.search.methods.push_back(std::move(*name));
        });
      },
      [](const Spec& s) {
        std::string out;
        for (const std::string& m : s.search.methods) out += (out.empty() ? "" : ", ") + config::quote_if_needed(m);
        return out.empty() ? "" : "[" + out + "]";
      }));
}

}  // namespace stretto::experiment
