// SPDX-License-Identifier: Apache-2.0
// What tests of importers ask again and again: the error of a text, notes, ops in words, whether hostile text is read
// or refused.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "io/import/workload.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline bool has_note(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return contains(note, part); });
}

// What the import of a file named "f" says; "no error" if it is accepted.
inline std::string error_of(const std::string& text, const io::ImportOptions& options = {}) {
  try {
    io::import_text(text, "f", options);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

// The first occurrence, which must be there, or all of them.
inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::invalid_argument("no \"" + what + "\" to replace");
  return text.replace(at, what.size(), by);
}
inline std::string replaced_all(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// "gemm f 12 < 0 1": name, phase, time in units of `unit_ps`, inputs; in the graph's order.
inline std::vector<std::string> described(const graph::Graph& g, std::int64_t unit_ps = 1) {
  std::vector<std::string> list;
  for (const graph::Op& op : g.ops) {
    std::string line =
        fmt::format("{} {} {} <", op.name, op.phase == graph::Phase::Forward ? "f" : "b", op.time.ps() / unit_ps);
    for (const graph::OpId i : op.inputs) line += fmt::format(" {}", i.index());
    list.push_back(line);
  }
  return list;
}

// Whether the text is accepted. A graph that comes out must survive being written and read again, and a refusal must
// have words; anything else throws std::logic_error.
inline bool accepted(const std::string& text, const io::ImportOptions& options = {}) {
  std::string written;
  try {
    written = io::write_workload(io::import_text(text, "f", options).graph);
  } catch (const UserError& e) {
    if (e.diagnostics().empty() || render(e.diagnostics()).empty()) throw std::logic_error("a refusal without words");
    return false;
  }
  try {
    if (io::write_workload(io::parse_workload(written, "again")) == written) return true;
  } catch (const UserError& e) {
    throw std::logic_error("a written workload is refused: " + render(e.diagnostics()));
  }
  throw std::logic_error("a workload changes when it is read again");
}

}  // namespace stretto::test
