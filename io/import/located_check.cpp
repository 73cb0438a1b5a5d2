// SPDX-License-Identifier: Apache-2.0
#include "io/import/located_check.hpp"

#include <charconv>
#include <optional>

#include "io/file/file.hpp"
#include "models/graph/check.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

// The offset that belongs to a key like "ops[3].inputs[0]" if it starts with `list`.
std::optional<std::size_t> offset_of(std::string_view key, std::string_view list,
                                     const std::vector<std::size_t>& places) {
  if (!key.starts_with(list)) return std::nullopt;
  key.remove_prefix(list.size());
  std::size_t index = 0;
  if (std::from_chars(key.data(), key.data() + key.size(), index).ec != std::errc()) return std::nullopt;
  return index < places.size() ? std::optional(places[index]) : std::nullopt;
}

}  // namespace

void check_located(const graph::Graph& graph, std::string_view text, const std::string& path,
                   const GraphPlaces& places) {
  constexpr std::size_t kMost = 20;
  std::vector<Diagnostic> found = graph::check(graph);
  if (found.empty()) return;
  if (found.size() > kMost) found.resize(kMost);
  for (Diagnostic& d : found) {
    std::optional<std::size_t> offset = offset_of(d.key, "ops[", places.ops);
    if (!offset) offset = offset_of(d.key, "parameters[", places.parameters);
    if (offset)
      d.span = file::span_at(text, path, *offset);
    else
      d.span.file = path;
  }
  throw UserError(std::move(found));
}

}  // namespace stretto::io
