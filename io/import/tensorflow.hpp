// SPDX-License-Identifier: Apache-2.0
// TensorFlow: RunMetadata (or StepStats) of one step with the GraphDef of its program, or with the partition graphs
// that it holds itself; or a GraphDef alone, whose ops then have operations and bytes but no time. Each file binary or
// as text, plain or gzip. docs/reference/import.md describes what is read and what is guessed.
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_tensorflow(std::string_view text);
// ImportOptions::graph_path names the GraphDef that belongs to a RunMetadata.
ImportResult import_tensorflow(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
