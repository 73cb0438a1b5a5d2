// SPDX-License-Identifier: Apache-2.0
#include "io/import/common.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "io/file/source.hpp"
#include "io/json/reader.hpp"
#include "models/graph/check.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

void refuse_file(const std::string& path, std::string message, std::string hint) {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

void refuse_damaged(const std::string& path, std::string_view what, std::size_t at, std::size_t size,
                    std::string_view how, std::string hint) {
  refuse_file(path, fmt::format("{} at byte {} of {} {}", what, at, size, how), std::move(hint));
}

std::string leaf_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string stem_of(const std::string& path) {
  const std::string leaf = leaf_of(path);
  return leaf.substr(0, leaf.find('.'));
}

std::string plural(std::size_t n, std::string_view word) {
  if (n == 1) return fmt::format("1 {}", word);
  if (word.ends_with("cy")) return fmt::format("{} {}ies", n, word.substr(0, word.size() - 1));
  return fmt::format("{} {}s", n, word);
}

void note_count(std::vector<std::string>& notes, std::size_t n, std::string_view what) {
  if (n > 0) notes.push_back(fmt::format("{} {}", n, what));
}

std::string scalar_text(const json::Value& value) {
  if (value.kind() == json::Kind::String) return value.string().value_or("");
  if (value.kind() == json::Kind::Number) return value.number_text().value_or("");
  return "";
}

void check_file(const graph::Graph& graph, const std::string& path) {
  std::vector<Diagnostic> found = graph::check(graph);
  for (Diagnostic& d : found) d.span.file = path;
  if (!found.empty()) throw UserError(std::move(found));
}

void finish_graph(ImportResult& result, const std::string& path, const ImportOptions& options, const Origin& origin) {
  graph::Graph& g = result.graph;
  const std::string stem = stem_of(path);
  g.name = !options.name.empty() ? options.name : stem.empty() ? std::string(origin.name) : stem;
  g.source = options.source.empty() ? fmt::format("{} {}", origin.source, leaf_of(path)) : options.source;
  if (!origin.without.empty()) g.source += "; without " + origin.without;
  g.batch = options.batch.value_or(1);
  check_file(g, path);
  if (!options.batch)
    result.report.guessed.push_back(fmt::format("batch 1: the {} does not say it; --batch sets it", origin.file));
}

void check_rank_paths(const std::string& path, const std::vector<std::string>& rank_paths) {
  std::map<file::Identity, std::string> seen;
  if (const auto own = file::identity(path)) seen.emplace(*own, path);
  for (const std::string& other : rank_paths) {
    const auto identity = file::identity(other);
    if (!identity) continue;  // reading it says what is wrong
    const auto [it, is_new] = seen.emplace(*identity, other);
    if (!is_new)
      refuse_file(other, fmt::format("the same file as {}", escape_control(it->second)), "each file is another rank's");
  }
}

}  // namespace stretto::io
