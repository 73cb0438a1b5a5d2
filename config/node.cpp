// SPDX-License-Identifier: Apache-2.0
#include "config/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace stretto::config {

namespace {

constexpr std::size_t kMaxShownLine = 1 << 16;
constexpr std::array<std::string_view, 5> kNullWords = {"~", "null", "Null", "NULL", ""};

bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./+%-()= ").find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
}

// Text that is a plain scalar of the same value wherever it stands in flow or block YAML.
bool reads_back_plain(std::string_view text) {
  if (std::find(kNullWords.begin(), kNullWords.end(), text) != kNullWords.end()) return false;
  if (!std::all_of(text.begin(), text.end(), is_plain_character)) return false;
  if (text.back() == ' ' || text.starts_with("...")) return false;
  const char c = text[0];
  if (c == '-') return text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  return std::string_view("+%()= ").find(c) == std::string_view::npos;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", c);
    else
      out += c;
  }
  return out + '"';
}

}  // namespace

Span Place::span() const {
  Span s;
  if (!source) return s;
  s.file = source->file;
  s.line = line;
  s.column = column;
  s.length = std::max(1, length);
  if (line >= 1 && static_cast<std::size_t>(line) <= source->lines.size()) {
    const std::string& text = source->lines[static_cast<std::size_t>(line) - 1];
    if (text.size() <= kMaxShownLine) s.text = text;
  }
  return s;
}

std::string Place::resolve(const std::string& path) const {
  const std::filesystem::path directory = source ? source->directory : "";
  return (directory / path).lexically_normal().string();
}

const Entry* Node::find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

Entry* Node::find(std::string_view key) { return const_cast<Entry*>(static_cast<const Node*>(this)->find(key)); }

bool Node::operator==(const Node&) const = default;

std::string describe(const Node& node) {
  switch (node.kind) {
    case Kind::Null:
      return "an empty value";
    case Kind::Sequence:
      return "a list";
    case Kind::Map:
      return "a mapping";
    case Kind::Scalar:
      break;
  }
  constexpr std::size_t kShown = 60;
  const std::string text = node.text.size() <= kShown ? node.text : node.text.substr(0, kShown) + "...";
  return (node.quoted ? "the text '" : "'") + text + "'";
}

std::string quote_if_needed(std::string_view text) {
  return reads_back_plain(text) ? std::string(text) : double_quoted(text);
}

std::string to_flow(const Node& node) {
  switch (node.kind) {
    case Kind::Null:
      return "null";
    case Kind::Scalar:
      return node.quoted ? double_quoted(node.text) : quote_if_needed(node.text);
    case Kind::Sequence: {
      std::string out = "[";
      for (std::size_t i = 0; i < node.items.size(); ++i) out += (i > 0 ? ", " : "") + to_flow(node.items[i]);
      return out + "]";
    }
    case Kind::Map:
      break;
  }
  std::string out = "{";
  for (std::size_t i = 0; i < node.entries.size(); ++i)
    out += (i > 0 ? ", " : "") + quote_if_needed(node.entries[i].key) + ": " + to_flow(node.entries[i].value);
  return out + "}";
}

}  // namespace stretto::config
