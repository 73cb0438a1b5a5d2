// SPDX-License-Identifier: Apache-2.0
// The rows of the section `search`.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "experiment/spec/rows.hpp"

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

// A list of values, one value, or {min, max}; `read` gives nothing for a value that is none.
template <class T, class F>
ValuesSpec<T> read_values(Reader& reader, const Node& node, const std::string& key, const std::string& hint, F&& read) {
  ValuesSpec<T> values;
  if (!node.is_map()) {
    for_items(reader, node, key, [&](const Node& item, const std::string& at) {
      if (const std::optional<T> value = read(item, at)) values.list.push_back(*value);
    });
    return values;
  }
  for (const config::Entry& entry : node.entries) {
    if (entry.key != "min" && entry.key != "max") {
      reader.error(entry.place, key + "." + entry.key, "unknown key", hint);
      return values;
    }
    (entry.key == "min" ? values.min : values.max) = read(entry.value, key + "." + entry.key).value_or(T{});
  }
  if (node.find("min") == nullptr || node.find("max") == nullptr) {
    reader.error(node.place, key, "a range needs both ends", hint);
    return {};
  }
  if (values.min > values.max) reader.error(node.place, key, "min is more than max", hint);
  return values;
}

SizesSpec read_sizes(Reader& reader, const Node& node, const std::string& key) {
  return read_values<Bytes>(reader, node, key, "for example {min: 256 KiB, max: 16 MiB}",
                            [&](const Node& value, const std::string& at) -> std::optional<Bytes> {
                              const auto bytes = reader.read_bytes(value, at);
                              if (bytes && *bytes > Bytes()) return bytes;
                              if (bytes) reader.error(value.place, at, "0 B is no size", "valid: at least 1 B");
                              return std::nullopt;
                            });
}

constexpr std::int64_t kMostCount = 1'000'000;

CountsSpec read_counts(Reader& reader, const Node& node, const std::string& key) {
  return read_values<std::uint32_t>(reader, node, key, "for example {min: 1, max: 16}",
                                    [&](const Node& value, const std::string& at) -> std::optional<std::uint32_t> {
                                      const auto n = reader.read_integer(value, at, 1, kMostCount);
                                      if (!n) return std::nullopt;
                                      return static_cast<std::uint32_t>(*n);
                                    });
}

template <class V, class F>
std::string write_values(const V& values, F&& text) {
  if (values.range()) return fmt::format("{{min: {}, max: {}}}", text(values.min), text(values.max));
  std::string out;
  for (const auto& value : values.list) out += (out.empty() ? "" : ", ") + text(value);
  return out.empty() ? "" : "[" + out + "]";
}

std::string write_sizes(const SizesSpec& sizes) {
  return write_values(sizes, [](Bytes b) { return config::format_bytes(b); });
}

std::string write_counts(const CountsSpec& counts) {
  return write_values(counts, [](std::uint32_t n) { return std::to_string(n); });
}

config::Field<Spec> sizes_field(const char* name, const char* help, SizesSpec SearchSpec::*member) {
  return custom(
      std::string("search.") + name, "sizes", "a list, or {min, max}", "", help,
      [member](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.search.*member = read_sizes(reader, node, key);
      },
      [member](const Spec& s) { return write_sizes(s.search.*member); });
}

config::Field<Spec> counts_field(const char* name, const char* help, CountsSpec SearchSpec::*member) {
  return custom(
      std::string("search.") + name, "counts", fmt::format("a list, or {{min, max}}, of 1 to {}", kMostCount), "", help,
      [member](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.search.*member = read_counts(reader, node, key);
      },
      [member](const Spec& s) { return write_counts(s.search.*member); });
}

}  // namespace

void add_search_fields(Rows& rows) {
  rows.push_back(custom(
      "search.order", "boolean", "", "", "`stretto search` may change the order; true if left out",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        if (const auto value = reader.read_bool(node, key)) s.search.order = *value;
      },
      [](const Spec& s) { return s.search.order ? "" : "false"; }));
  rows.push_back(sizes_field("partition", "largest slice: the sizes to try, or a range", &SearchSpec::partition));
  rows.push_back(sizes_field("credit", "bytes of credit to try, or a range", &SearchSpec::credit));
  rows.push_back(
      sizes_field("fusion", "all-reduce: most bytes of a bucket: the sizes to try, or a range", &SearchSpec::fusion));
  rows.push_back(counts_field("group",
                              "workers that start together, one group after the other: numbers to try, or a range",
                              &SearchSpec::group));
  rows.push_back(counts_field("window", "windows of the order of first use to try, or a range", &SearchSpec::window));
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
