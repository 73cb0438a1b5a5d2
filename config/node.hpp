// SPDX-License-Identifier: Apache-2.0
// Located document tree: what a YAML text says and where every word of it stands. Plain data, free of yaml-cpp.
//
// Columns count bytes from 1, lines from 1. Maps keep the order of the file and hold each key once. A place is 24 bytes
// plus a shared text, so a tree costs about 200 bytes per value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace stretto::config {

// Findings beyond this number are not reported: a file with so many is not what it is taken for.
inline constexpr std::size_t kMaxFindings = 100;

// One text that was read. `directory` is what relative paths in it are relative to ("" = the current directory).
struct Source {
  std::string file;
  std::string directory;
  std::vector<std::string> lines;
};

// Where something stands. Two places are always equal: values are compared by what they say, not where.
struct Place {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 0;
  int length = 1;
  Span span() const;
  // `path` as seen from the directory of the text that says it.
  std::string resolve(const std::string& path) const;
  bool operator==(const Place&) const { return true; }
};

enum class Kind : std::uint8_t { Null, Scalar, Sequence, Map };

struct Entry;

struct Node {
  Kind kind = Kind::Null;
  std::string text;     // Scalar
  bool quoted = false;  // Scalar: written in quotes or as a block, so it is text and no number
  Place place;
  std::vector<Entry> entries;  // Map
  std::vector<Node> items;     // Sequence

  bool is_null() const { return kind == Kind::Null; }
  bool is_scalar() const { return kind == Kind::Scalar; }
  bool is_sequence() const { return kind == Kind::Sequence; }
  bool is_map() const { return kind == Kind::Map; }
  // The entry of `key`, or nullptr.
  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
  bool operator==(const Node&) const;
};

struct Entry {
  std::string key;
  Place place;  // of the key
  Node value;
  bool operator==(const Entry&) const = default;
};

// "a mapping", "a list", "an empty value", "'12'": for messages.
std::string describe(const Node& node);

// One line of YAML flow text that reads back to the same tree.
std::string to_flow(const Node& node);

// `text` as a YAML scalar: plain where that reads back as the same plain text, else in double quotes.
std::string quote_if_needed(std::string_view text);

}  // namespace stretto::config
