// SPDX-License-Identifier: Apache-2.0
// JSON text (RFC 8259), written front to back. Keys stand in the order of the calls, numbers are the shortest decimal
// that reads back as the same value, so equal calls give equal bytes. Control characters are escaped; a byte that is
// not well-formed UTF-8 becomes U+FFFD. Wrong use (a value without key, an open array at the end, nan or inf) is our
// fault and raises InternalError.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::json {

// `text` as a JSON string with its quotes.
std::string quote(std::string_view text);

class Writer {
 public:
  // Lines: one member per line, indented. Inline: all on one line, also everything inside.
  enum class Style : std::uint8_t { Lines, Inline };

  // `indent` spaces per level.
  explicit Writer(int indent = 2) : indent_(indent) {}

  Writer& begin_object(Style style = Style::Lines) { return open('{', style); }
  Writer& end_object() { return close('{', '}'); }
  Writer& begin_array(Style style = Style::Lines) { return open('[', style); }
  Writer& end_array() { return close('[', ']'); }
  Writer& key(std::string_view name);

  Writer& value(std::string_view text) { return token(quote(text)); }
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(double number);
  Writer& value(std::nullptr_t) { return token("null"); }
  template <std::same_as<bool> T>
  Writer& value(T flag) {
    return token(flag ? "true" : "false");
  }
  template <std::signed_integral T>
  requires(!std::same_as<T, char>) Writer& value(T number) { return signed_value(number); }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Writer& value(T number) { return unsigned_value(number); }
  // null if there is none.
  template <class T>
  Writer& value(const std::optional<T>& present) {
    return present ? value(*present) : value(nullptr);
  }
  // A number already in text ("12.000001"), for decimals that no double holds. Asserts the grammar of RFC 8259.
  Writer& number(std::string_view text);

  template <class T>
  Writer& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  // The text, with a newline at its end. Exactly one value must have been written.
  std::string finish();

 private:
  struct Level {
    char bracket;
    Style style;
    bool empty;
  };
  Writer& open(char bracket, Style style);
  Writer& close(char bracket, char end);
  Writer& token(std::string_view text);
  Writer& signed_value(std::int64_t number);
  Writer& unsigned_value(std::uint64_t number);
  void before_value();
  void separate();

  int indent_;
  std::string out_;
  std::vector<Level> levels_;
  bool has_key_ = false;
  bool done_ = false;
};

}  // namespace stretto::json
