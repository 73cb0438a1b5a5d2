// SPDX-License-Identifier: Apache-2.0
// What the importers share: refusals of a file as a whole, names from its path, notes with counts, the last check of a
// graph.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/import/import.hpp"

namespace stretto::json {
class Value;
}

namespace stretto::io {

// Throws UserError: one finding of the file as a whole.
[[noreturn]] void refuse_file(const std::string& path, std::string message, std::string hint = "");

// "WHAT at byte AT of SIZE HOW", for binary files that end or break off there.
[[noreturn]] void refuse_damaged(const std::string& path, std::string_view what, std::size_t at, std::size_t size,
                                 std::string_view how = "is damaged or cut", std::string hint = "copy the file again");

// "b.json.gz" of "a/b.json.gz", and "b" of it.
std::string leaf_of(const std::string& path);
std::string stem_of(const std::string& path);

// "1 layer", "2 layers", "2 dependencies".
std::string plural(std::size_t n, std::string_view word);

// "N WHAT", if N is not 0.
void note_count(std::vector<std::string>& notes, std::size_t n, std::string_view what);

// The characters of a text or number; "" of anything else.
std::string scalar_text(const json::Value& value);

// What a format calls its files.
struct Origin {
  std::string_view name;     // of a graph whose file has no stem: "kineto"
  std::string_view source;   // "PyTorch Kineto trace"
  std::string_view file;     // "trace", in the note that it says no batch
  std::string without = {};  // what simulated steps lack of the file's, said in `source`; empty: nothing
};

// The end of an import of a file that knows no names: name, source and batch by the options, else by the file's path
// and 1; then the last check. Throws UserError with all that graph::check finds.
void finish_graph(ImportResult& result, const std::string& path, const ImportOptions& options, const Origin& origin);

// The last check alone.
void check_file(const graph::Graph& graph, const std::string& path);

// Refuses a file of ImportOptions::rank_paths that is `path` or stands there twice.
void check_rank_paths(const std::string& path, const std::vector<std::string>& rank_paths);

}  // namespace stretto::io
