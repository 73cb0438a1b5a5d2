// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <algorithm>
#include <iterator>

#include "sim/base/assert.hpp"

namespace stretto::report {

namespace {

constexpr std::string_view kGap = "  ";

std::string spaces(std::size_t n) { return std::string(n, ' '); }

// The cells of one column as strings of equal width, header first.
std::vector<std::string> padded(const Table& table, std::size_t c) {
  std::size_t text_width = 0;
  std::size_t tail_width = 0;
  for (const auto& row : table.rows) {
    text_width = std::max(text_width, display_width(row[c].text));
    tail_width = std::max(tail_width, display_width(row[c].tail));
  }
  const Column& column = table.columns[c];
  const std::size_t header_width = display_width(column.header);
  const std::size_t width = std::max(header_width, text_width + tail_width);
  const auto place = [&](std::string text) {
    const std::string rest = spaces(width - display_width(text));
    return column.align == Align::Left ? text + rest : rest + text;
  };
  std::vector<std::string> lines{place(column.header)};
  for (const auto& row : table.rows) {
    const std::string rest = spaces(text_width - display_width(row[c].text));
    std::string text = column.align == Align::Left ? row[c].text + rest : rest + row[c].text;
    text += row[c].tail + spaces(tail_width - display_width(row[c].tail));
    lines.push_back(place(std::move(text)));
  }
  return lines;
}

bool is_unit(std::string_view word) {
  constexpr std::string_view kUnits[] = {"%", "B", "KiB", "MiB", "GiB", "TiB", "s", "ms", "us", "ns", "ps", "Gbit/s"};
  const std::string_view bare = word.substr(0, word.find_last_not_of(".,;:)") + 1);
  return std::find(std::begin(kUnits), std::end(kUnits), bare) != std::end(kUnits);
}

// The end of the word at `at`; a number takes its unit with it.
std::size_t word_end(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  if (end == at || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::size_t next = std::min(text.find(' ', end + 1), text.size());
  return is_unit(text.substr(end + 1, next - end - 1)) ? next : end;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string render(const Table& table, std::size_t width) {
  std::vector<std::vector<std::string>> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    for (const auto& row : table.rows)
      STRETTO_ASSERT(row.size() == table.columns.size(), "row of {} cells, {} columns", row.size(),
                     table.columns.size());
    columns.push_back(padded(table, c));
  }
  std::string out;
  for (std::size_t next = 1; next < columns.size() || (next == 1 && columns.size() == 1);) {
    std::vector<std::size_t> block{0};
    std::size_t used = display_width(columns[0][0]);
    while (next < columns.size()) {
      const std::size_t more = kGap.size() + display_width(columns[next][0]);
      if (block.size() > 1 && used + more > width) break;
      used += more;
      block.push_back(next++);
    }
    if (!out.empty()) out += '\n';
    for (std::size_t line = 0; line <= table.rows.size(); ++line) {
      std::string text;
      for (const std::size_t c : block) text += (c == 0 ? "" : std::string(kGap)) + columns[c][line];
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + '\n';
    }
    if (columns.size() == 1) break;
  }
  return out;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  bool line_empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(text, at);
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::size_t length = display_width(word);
    if (!line_empty && used + 1 + length > width) {
      out += '\n' + spaces(indent);
      used = indent;
      line_empty = true;
    }
    if (!line_empty) {
      out += ' ';
      ++used;
    }
    out += word;
    used += length;
    line_empty = false;
  }
  return out + '\n';
}

}  // namespace stretto::report
