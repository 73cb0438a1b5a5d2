// SPDX-License-Identifier: Apache-2.0
#include "io/json/writer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "io/json/utf8.hpp"
#include "sim/base/assert.hpp"

namespace stretto::json {

namespace {

bool is_number(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const std::size_t start = i;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[start] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i);
    const char c = text[i];
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (n > 1)
      out += text.substr(i, n);
    else if (c == '"')
      out += "\\\"";
    else if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04x}", c);
    else
      out += c;
    i += n;
  }
  out += '"';
  return out;
}

void Writer::separate() {
  Level& level = levels_.back();
  if (!level.empty) out_ += level.style == Style::Inline ? ", " : ",";
  level.empty = false;
  if (level.style == Style::Lines) {
    out_ += '\n';
    out_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
  }
}

void Writer::before_value() {
  STRETTO_ASSERT(!done_, "a second value at the top of a JSON text");
  if (levels_.empty()) return;
  if (levels_.back().bracket == '{') {
    STRETTO_ASSERT(has_key_, "a value without key in a JSON object");
    has_key_ = false;
  } else {
    separate();
  }
}

Writer& Writer::key(std::string_view name) {
  STRETTO_ASSERT(!levels_.empty() && levels_.back().bracket == '{' && !has_key_, "key {} outside an object", name);
  separate();
  out_ += quote(name);
  out_ += ": ";
  has_key_ = true;
  return *this;
}

Writer& Writer::open(char bracket, Style style) {
  before_value();
  if (!levels_.empty() && levels_.back().style == Style::Inline) style = Style::Inline;
  out_ += bracket;
  levels_.push_back({bracket, style, true});
  return *this;
}

Writer& Writer::close(char bracket, char end) {
  STRETTO_ASSERT(!levels_.empty() && levels_.back().bracket == bracket && !has_key_, "unbalanced {} in a JSON text",
                 end);
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.style == Style::Lines && !level.empty) {
    out_ += '\n';
    out_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
  }
  out_ += end;
  done_ = levels_.empty();
  return *this;
}

Writer& Writer::token(std::string_view text) {
  before_value();
  out_ += text;
  done_ = levels_.empty();
  return *this;
}

Writer& Writer::value(double number) {
  STRETTO_ASSERT(std::isfinite(number), "JSON has no number {}", number);
  return token(fmt::format("{}", number));
}

Writer& Writer::signed_value(std::int64_t number) { return token(fmt::format("{}", number)); }

Writer& Writer::unsigned_value(std::uint64_t number) { return token(fmt::format("{}", number)); }

Writer& Writer::number(std::string_view text) {
  STRETTO_ASSERT(is_number(text), "\"{}\" is no JSON number", text);
  return token(text);
}

std::string Writer::finish() {
  STRETTO_ASSERT(done_, "unfinished JSON text: {} levels open", levels_.size());
  out_ += '\n';
  done_ = false;
  return std::exchange(out_, {});
}

}  // namespace stretto::json
