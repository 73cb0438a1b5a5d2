// SPDX-License-Identifier: Apache-2.0
#include "sim/base/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace stretto {

namespace {

// Length of the valid UTF-8 sequence that starts at text[i], 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char c = byte(i);
  if (c < 0x80) return 1;
  const std::size_t n = c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (n == 0 || i + n > text.size()) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  if ((c == 0xE0 && byte(i + 1) < 0xA0) || (c == 0xED && byte(i + 1) >= 0xA0)) return 0;
  if ((c == 0xF0 && byte(i + 1) < 0x90) || (c == 0xF4 && byte(i + 1) >= 0x90)) return 0;
  return n;
}

// Code point of the valid sequence of n bytes at text[i].
char32_t code_point(std::string_view text, std::size_t i, std::size_t n) {
  const auto byte = [&](std::size_t k) { return static_cast<char32_t>(static_cast<unsigned char>(text[k])); };
  char32_t c = n == 1 ? byte(i) : byte(i) & (0xFFu >> (n + 1));
  for (std::size_t k = 1; k < n; ++k) c = c << 6 | (byte(i + k) & 0x3F);
  return c;
}

// Marks, embeddings, overrides and isolates of the direction of writing, line and paragraph separators, byte order
// mark: a terminal shows the text around them in another order or on other lines than it is.
bool rearranges(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0xFEFF;
}

}  // namespace

std::string escape_control(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    // C1 controls are U+0080..U+009F: C2 80..C2 9F.
    const bool c1 = n == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (n == 0 || c1) {
      const std::size_t bad = c1 ? 2 : 1;
      for (std::size_t k = 0; k < bad; ++k) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + k]));
      i += bad;
    } else if (n == 1 && (c < 0x20 || c == 0x7F)) {
      if (c == '\n')
        out += "\\n";
      else if (c == '\t')
        out += "\\t";
      else if (c == '\r')
        out += "\\r";
      else
        out += fmt::format("\\x{:02x}", c);
      i += 1;
    } else if (const char32_t point = code_point(text, i, n); rearranges(point)) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
      i += n;
    } else {
      out.append(text.substr(i, n));
      i += n;
    }
  }
  return out;
}

std::string render(const Diagnostic& d) {
  std::string out;
  const Span& s = d.span;
  if (!s.file.empty()) {
    out += escape_control(s.file);
    if (s.line > 0) out += fmt::format(":{}:{}", s.line, s.column);
    out += ": ";
  }
  out += d.severity == Severity::Error ? "error: " : "warning: ";
  if (!d.key.empty()) out += escape_control(d.key) + ": ";
  out += escape_control(d.message);
  out += '\n';
  if (s.line > 0 && s.column > 0 && !s.text.empty()) {
    // The line is shown with tabs as single spaces so that the caret stands under the column that is named; a very
    // long line is shown around the column only.
    constexpr int kWidth = 120;
    std::string shown = s.text;
    std::replace(shown.begin(), shown.end(), '\t', ' ');
    int start = 0;
    if (static_cast<int>(shown.size()) > kWidth)
      start = std::max(0, std::min(s.column - 1 - kWidth / 2, static_cast<int>(shown.size()) - kWidth));
    const std::string part = shown.substr(static_cast<std::size_t>(start), kWidth);
    const int caret = std::clamp(s.column - 1 - start, 0, static_cast<int>(part.size()));
    const std::string before = escape_control(part.substr(0, static_cast<std::size_t>(caret)));
    out += "  " + escape_control(part) + "\n";
    // Columns count bytes; pad by characters so that the caret lines up under UTF-8 text.
    const auto chars = std::count_if(before.begin(), before.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    const int room = std::max(1, static_cast<int>(part.size()) - caret);
    out += "  " + std::string(static_cast<std::size_t>(chars), ' ') + "^" +
           std::string(static_cast<std::size_t>(std::clamp(s.length, 1, room) - 1), '~') + "\n";
  }
  if (!d.hint.empty()) out += "  hint: " + escape_control(d.hint) + "\n";
  return out;
}

std::string render(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += render(d);
  return out;
}

namespace {
std::string first_message(const std::vector<Diagnostic>& diagnostics) {
  return diagnostics.empty() ? std::string("no diagnostic") : render(diagnostics.front());
}
}  // namespace

UserError::UserError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(first_message(diagnostics)), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(std::string message, std::string hint)
    : UserError(std::vector<Diagnostic>{{Severity::Error, {}, "", std::move(message), std::move(hint)}}) {}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [&](std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= other.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i - 1] == other[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    return row[other.size()];
  };
  if (word.size() > 200) return "";
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::size_t best = limit + 1;
  std::string name;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(candidate);
    if (d < best && d < std::max(word.size(), candidate.size())) {
      best = d;
      name = candidate;
    }
  }
  return name;
}

std::string name_hint(std::string_view word, const std::vector<std::string>& candidates) {
  const auto nearest = nearest_name(word, candidates);
  if (!nearest.empty()) return "did you mean '" + nearest + "'?";
  std::string list;
  for (const std::string& candidate : candidates) list += (list.empty() ? "one of " : ", ") + candidate;
  return list;
}

}  // namespace stretto
