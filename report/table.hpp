// SPDX-License-Identifier: Apache-2.0
// Aligned tables and wrapped paragraphs for terminals. Widths count characters (UTF-8 code points), assuming that each
// takes one column. A table that is wider than allowed is continued below with its first column repeated; nothing is
// cut off. The caller escapes hostile text. Cost: linear in the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::report {

enum class Align { Left, Right };

// A cell is `text` followed by `tail`; in one column the texts line up with each other, and so do the tails:
// {"1.20 s", " ± 0.03"} above {"11.20 s", ""}.
struct Cell {
  std::string text;
  std::string tail;
};

struct Column {
  std::string header;
  Align align = Align::Right;  // of the texts; tails stand to the left
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as columns
};

std::size_t display_width(std::string_view text);

// Lines end with a newline and have no trailing spaces. Columns are two spaces apart.
std::string render(const Table& table, std::size_t width);

// Breaks `text` at spaces into lines of at most `width` characters, each led by `indent` spaces except the first. A
// longer word stands on a line of its own. A number and its unit ("5 %", "3 MiB") stay together.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace stretto::report
