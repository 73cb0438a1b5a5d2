// SPDX-License-Identifier: Apache-2.0
// Files of many formats in, one replica graph out. An importer understands a file or refuses it with a UserError that
// names file, line and column; what it drops, guesses or repairs is said in the report. gzip is accepted everywhere.
// The format is told from the content, never from the file's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::io {

struct ImportOptions {
  std::string format;                        // name in importers(); empty: told from the content
  std::string name;                          // name of the graph; empty: from the file (or its path)
  std::string source;                        // where the figures come from; empty: from the file (or its path)
  std::optional<std::int64_t> batch;         // samples per step; none: from the file, or guessed and said
  std::string graph_path = {};               // the GraphDef that belongs to a TensorFlow trace; empty: none
  std::string variables_path = {};           // table of variables' bytes for a TensorFlow timeline; empty: none
  std::vector<std::string> rank_paths = {};  // traces of further ranks of the same job
};

// Notes for people, one sentence each.
struct ImportReport {
  std::vector<std::string> read;      // what was understood, with totals
  std::vector<std::string> dropped;   // what was left out, and why
  std::vector<std::string> guessed;   // what the file does not say and the importer chose
  std::vector<std::string> repaired;  // what was wrong in the file and put right
};

struct ImportResult {
  graph::Graph graph;
  ImportReport report;
  std::string format;
  std::string device = {};  // what the profiled ops ran on: "cpu" or "gpu"; empty: the file does not say
  bool all_reduce = false;  // as the importer's row says
};

// One supported format. `detect` looks at the (unpacked) text and must not throw.
struct Importer {
  std::string_view name;
  std::string_view help;
  bool (*detect)(std::string_view text);
  ImportResult (*import)(const std::string& text, const std::string& path, const ImportOptions& options);
  // The same of a regular file, for formats whose files do not fit into memory; null: the text is read as a whole.
  ImportResult (*import_file)(const std::string& path, const ImportOptions& options) = nullptr;
  bool all_reduce = false;  // the traced jobs exchange their gradients by all-reduce
  bool ranks = false;       // takes ImportOptions::rank_paths
};

// All formats, in the order in which they are tried.
const std::vector<Importer>& importers();

// Reads a file of any known format.
ImportResult import_any(const std::string& path, const ImportOptions& options = {});

// The same for text that is already in memory; `path` is for names and messages.
ImportResult import_text(const std::string& text, const std::string& path, const ImportOptions& options = {});

}  // namespace stretto::io
