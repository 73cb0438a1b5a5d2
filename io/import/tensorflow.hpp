// SPDX-License-Identifier: Apache-2.0
// TensorFlow: RunMetadata (or StepStats) of one step with the GraphDef of its program, or with the partition graphs
// that it holds itself; or a GraphDef alone, whose ops then have operations and bytes but no time. Each file binary or
// as text, plain or gzip; an event file of TensorBoard for the GraphDef in it; a timeline in place of the RunMetadata.
// docs/reference/import.md describes what is read and what is guessed.
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_tensorflow(std::string_view text);
// ImportOptions::graph_path names the GraphDef that belongs to a RunMetadata.
ImportResult import_tensorflow(const std::string& text, const std::string& path, const ImportOptions& options);

// A timeline (tensorflow_timeline.hpp) with graph_path, or with variables_path and the graph that it holds itself.
ImportResult import_tensorflow_timeline(const std::string& text, const std::string& path, const ImportOptions& options);

// The GraphDef in an event file (tensorboard.hpp), as if it had been given alone.
ImportResult import_tensorboard(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
