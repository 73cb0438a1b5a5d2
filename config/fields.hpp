// SPDX-License-Identifier: Apache-2.0
// Field records: one record per field of a file format. Reading, the check for unknown keys, effective configuration
// and the reference listing come from the same table, so a new field is one row of the table and one struct member.
// Several fields may be set by one single value at a path above them (`nic: 10 Gbit/s`): their shorthand.
//
// A row is made by one of the functions below from path, range, default, help and an access function that returns a
// reference to the member: [](auto& s) -> auto& { return s.cluster.workers.count; }. Reading never stops at the first
// error: findings are collected in the Reader.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"
#include "config/units_text.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/units.hpp"

namespace stretto::config {

// What the reference says of a field. `fallback` is the default as YAML text; "" = the field has none.
struct FieldRecord {
  std::string path;   // "cluster.workers.count"
  std::string type;   // "integer", "bandwidth", "one of gpu, cpu"
  std::string range;  // "1 to 4096", may be empty
  std::string fallback;
  std::string help;
  std::string shorthand;  // a path above where a single value may stand for this field, may be empty
};

// Limits of quantities in experiment files.
inline constexpr std::int64_t kMaxDurationPs = 3'600'000'000'000'000;
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;
inline constexpr std::int64_t kMinBandwidth = 1'000;
inline constexpr double kMaxPerByte = 1e9;

// Collects what is wrong with a tree and reads single values. Each read_* returns nothing after it reported an error.
// `key` is the field's path.
class Reader {
 public:
  void error(const Place& place, std::string_view key, std::string message, std::string hint = "");
  std::vector<Diagnostic>& diagnostics() { return diagnostics_; }

  std::optional<bool> read_bool(const Node& node, std::string_view key);
  std::optional<std::int64_t> read_integer(const Node& node, std::string_view key, std::int64_t low, std::int64_t high);
  // A plain number.
  std::optional<double> read_number(const Node& node, std::string_view key);
  // A plain number or a percentage.
  std::optional<double> read_fraction(const Node& node, std::string_view key);
  std::optional<std::string> read_text(const Node& node, std::string_view key);
  // Index into `names`.
  std::optional<std::size_t> read_choice(const Node& node, std::string_view key, const std::vector<std::string>& names);
  std::optional<Duration> read_duration(const Node& node, std::string_view key);
  std::optional<Bytes> read_bytes(const Node& node, std::string_view key);
  std::optional<Bandwidth> read_bandwidth(const Node& node, std::string_view key);
  std::optional<double> read_per_byte(const Node& node, std::string_view key);

 private:
  // The text of a scalar that must not be empty; reports `expected` otherwise.
  const std::string* scalar(const Node& node, std::string_view key, std::string_view expected);
  const std::string* plain(const Node& node, std::string_view key, std::string_view expected);
  template <class T>
  std::optional<T> quantity(const Node& node, std::string_view key, std::string_view expected,
                            Parsed<T> (*parse)(std::string_view), T low, T high, std::string_view range);
  std::vector<Diagnostic> diagnostics_;
};

// The node at a dotted path of map keys, or nullptr.
const Node* find_path(const Node& root, std::string_view path);
const Entry* find_entry(const Node& root, std::string_view path);

// Reports every key that no record knows, with the nearest known name, and every section that is no mapping.
void check_keys(Reader& reader, const Node& root, const std::vector<FieldRecord>& records);

// Block YAML from (path, flow text) pairs in table order; empty texts are left out.
std::string write_block(const std::vector<std::pair<std::string, std::string>>& values);

// A row: the record plus how to read a value into S and how to write it as flow text ("" = leave out).
template <class S>
struct Field {
  FieldRecord record;
  // `key` is the path to name in messages: the record's, or its shorthand's.
  std::function<void(Reader&, const Node&, const std::string& key, S&)> read;
  std::function<std::string(const S&)> write;
};

// Bounds of a number, each end included or not.
struct Range {
  double low;
  double high;
  bool low_open = false;
  std::string text;  // "> 0", "0 to 1"
};

namespace detail {
template <class T>
struct Unwrap {
  using type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
};
template <class T>
const T* value_of(const T& v) {
  return &v;
}
template <class T>
const T* value_of(const std::optional<T>& v) {
  return v ? &*v : nullptr;
}
}  // namespace detail

template <class S, class Access>
Field<S> integer(std::string path, std::int64_t low, std::int64_t high, std::string fallback, std::string help,
                 Access access, std::string shorthand = "") {
  using Member = std::remove_reference_t<decltype(access(std::declval<S&>()))>;
  using Number = typename detail::Unwrap<Member>::type;
  FieldRecord record{path,
                     "integer",
                     std::to_string(low) + " to " + std::to_string(high),
                     std::move(fallback),
                     std::move(help),
                     std::move(shorthand)};
  return {std::move(record),
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_integer(node, key, low, high)) access(s) = static_cast<Number>(*v);
          },
          [=](const S& s) {
            const auto* v = detail::value_of(access(s));
            return v ? std::to_string(*v) : std::string();
          }};
}

// A number, or with `fraction` also a percentage.
template <class S, class Access>
Field<S> number(std::string path, bool fraction, Range range, std::string fallback, std::string help, Access access) {
  FieldRecord record{path, fraction ? "fraction" : "number", range.text, std::move(fallback), std::move(help), ""};
  return {std::move(record),
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            const auto v = fraction ? reader.read_fraction(node, key) : reader.read_number(node, key);
            if (!v) return;
            if (*v < range.low || *v > range.high || (range.low_open && *v == range.low))
              reader.error(node.place, key, describe(node) + " is out of range", "valid: " + range.text);
            else
              access(s) = *v;
          },
          [=](const S& s) {
            const auto* v = detail::value_of(access(s));
            return v ? format_number(*v) : std::string();
          }};
}

template <class S, class Access>
Field<S> boolean(std::string path, std::string fallback, std::string help, Access access) {
  return {{path, "true or false", "", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_bool(node, key)) access(s) = *v;
          },
          [=](const S& s) { return std::string(access(s) ? "true" : "false"); }};
}

template <class S, class Access>
Field<S> text(std::string path, std::string fallback, std::string help, Access access) {
  return {{path, "text", "", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (auto v = reader.read_text(node, key)) access(s) = std::move(*v);
          },
          [=](const S& s) { return quote_if_needed(access(s)); }};
}

// One name of a list; the member is an enum whose values are the indices of `names`.
template <class S, class Access>
Field<S> choice(std::string path, std::vector<std::string> names, std::string fallback, std::string help,
                Access access) {
  using Enum = std::remove_reference_t<decltype(access(std::declval<S&>()))>;
  std::string type = "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) type += (i > 0 ? ", " : "") + names[i];
  return {{path, names.size() == 1 ? names[0] : type, "", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_choice(node, key, names)) access(s) = static_cast<Enum>(*v);
          },
          [=](const S& s) { return names.at(static_cast<std::size_t>(access(s))); }};
}

template <class S, class Access>
Field<S> duration(std::string path, std::string fallback, std::string help, Access access) {
  return {{path, "duration", "0 to 1 hour", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_duration(node, key)) access(s) = *v;
          },
          [=](const S& s) { return format_duration(access(s)); }};
}

template <class S, class Access>
Field<S> bytes(std::string path, std::string fallback, std::string help, Access access) {
  return {{path, "bytes", "0 to 1 TiB", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_bytes(node, key)) access(s) = *v;
          },
          [=](const S& s) { return format_bytes(access(s)); }};
}

template <class S, class Access>
Field<S> bandwidth(std::string path, std::string fallback, std::string help, Access access,
                   std::string shorthand = "") {
  return {
      {path, "bandwidth", "1 kbit/s or more, or unlimited", std::move(fallback), std::move(help), std::move(shorthand)},
      [=](Reader& reader, const Node& node, const std::string& key, S& s) {
        if (const auto v = reader.read_bandwidth(node, key)) access(s) = *v;
      },
      [=](const S& s) { return format_bandwidth(access(s)); }};
}

template <class S, class Access>
Field<S> per_byte(std::string path, std::string fallback, std::string help, Access access) {
  return {{path, "time per byte", "0 to 1 ms/B", std::move(fallback), std::move(help), ""},
          [=](Reader& reader, const Node& node, const std::string& key, S& s) {
            if (const auto v = reader.read_per_byte(node, key)) access(s) = *v;
          },
          [=](const S& s) { return format_per_byte(access(s)); }};
}

// Where a field stands: its node and the path that it was found at, which is the record's or its shorthand's.
struct Found {
  const Node* node = nullptr;  // nullptr where the field is absent
  std::string key;
};
Found find_field(const Node& root, const FieldRecord& record);

// Reads every row that the tree has and reports unknown keys; members of absent fields keep their values.
template <class S>
void read_fields(Reader& reader, const Node& root, const std::vector<Field<S>>& fields, S& s) {
  std::vector<FieldRecord> records;
  for (const Field<S>& f : fields) records.push_back(f.record);
  check_keys(reader, root, records);
  for (const Field<S>& f : fields)
    if (const Found found = find_field(root, f.record); found.node) f.read(reader, *found.node, found.key, s);
}

// Effective configuration: every field with its value.
template <class S>
std::string write_fields(const std::vector<Field<S>>& fields, const S& s) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Field<S>& f : fields) values.emplace_back(f.record.path, f.write(s));
  return write_block(values);
}

}  // namespace stretto::config
