// SPDX-License-Identifier: Apache-2.0
// What the commands that import share: the notes of an import for people, and the option that gives the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/import/import.hpp"

namespace stretto::app {

// Format and what was read, dropped, guessed and repaired, one line each; names are escaped.
std::string import_notes(const io::ImportResult& result);
// The same without the format.
std::string import_notes(const io::ImportReport& report);

// The value of --batch; none for an empty text. UserError if it is no number of samples.
std::optional<std::int64_t> batch_option(const std::string& text);

}  // namespace stretto::app
