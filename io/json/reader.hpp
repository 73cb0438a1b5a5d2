// SPDX-License-Identifier: Apache-2.0
// JSON text in, values to callbacks: a thin layer over simdjson's on-demand parser that turns every failure into a
// UserError with file, line, column and key path ("ops[3].inputs[1]").
//
// The text is walked once, front to back; a Value lives only inside the callback that receives it and can be read
// once. Errors of syntax end the reading; errors of content (wrong type, out of range, unknown key) are collected, up
// to Limits::max_errors, and thrown together when the document ends. Before parsing, one pass checks UTF-8, quotes,
// brackets and nesting, so hostile text is refused with its place; of a value that nobody reads, no more than that is
// checked. A byte order mark is skipped. Cost: linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace stretto::json {

enum class Kind : std::uint8_t { Null, Bool, Number, String, Array, Object };

// Bytes [offset, offset + length) of a document.
struct Place {
  std::size_t offset = 0;
  std::size_t length = 1;
};

struct Limits {
  std::size_t max_bytes = std::size_t{1} << 30;
  std::size_t max_depth = 64;
  std::size_t max_errors = 20;
};

class Document;
class Value;

// One key of an object with a fixed set of keys.
struct Field {
  std::string key;
  bool required = true;
  std::function<void(const Value&)> read;
};

// A value at its place. The readers return nothing (or false) after recording an error if the value is not what is
// asked for.
class Value {
 public:
  Kind kind() const;
  Place place() const;
  std::string path() const;

  std::optional<std::string> string() const;
  std::optional<bool> boolean() const;
  // Finite.
  std::optional<double> number() const;
  // Written without fraction and exponent, in [least, most].
  std::optional<std::int64_t> integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  // The characters of a number as they stand in the file (timestamps that no double holds).
  std::optional<std::string> number_text() const;
  // Each element of an array in turn.
  bool elements(const std::function<void(const Value&)>& visit) const;
  // Each member of an object in turn; doubled keys come twice.
  bool members(const std::function<void(std::string_view key, const Value&)>& visit) const;
  // An object with exactly these keys: unknown (with the nearest name), doubled and missing ones are errors.
  bool fields(const std::vector<Field>& fields) const;

  void error(std::string message, std::string hint = "") const;
  // The same, and ends the reading at once.
  [[noreturn]] void fatal(std::string message, std::string hint = "") const;

 private:
  friend class Document;
  struct Node;
  explicit Value(Node& node) : node_(&node) {}
  void enter() const;
  bool expect(Kind kind, std::string_view what) const;
  [[noreturn]] void syntax_error(int code) const;
  Node* node_;
};

class Document {
 public:
  // `path` is for messages.
  Document(std::string text, std::string path, const Limits& limits = {});
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Parses; calls `visit` with the root, an object or an array; throws UserError if anything was wrong. Once.
  void read(const std::function<void(const Value& root)>& visit);

  // Records an error of content, to be thrown at the end of read().
  void error(const Place& place, std::string key, std::string message, std::string hint = "");

 private:
  friend class Value;
  struct Parser;
  [[noreturn]] void fail(const Place& place, std::string key, std::string message, std::string hint = "");
  void check_text();

  std::string text_;
  std::string path_;
  Limits limits_;
  std::vector<Diagnostic> errors_;
  std::size_t start_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<Parser> parser_;
};

}  // namespace stretto::json
