// SPDX-License-Identifier: Apache-2.0
// The state of a search of orders as a file ("format": "stretto-search", "version": 1), from which `stretto search
// --resume` goes on to the same end, and the result of a search as JSON. docs/reference/search.md lists the keys.
// A checkpoint belongs to one experiment, budget and seed: `key` is a hash of these.
#pragma once

#include <string>

#include "experiment/search/run.hpp"

namespace stretto::experiment {

std::string search_key(const Experiment& experiment, const SearchRunOptions& options);

std::string write_checkpoint(const search::State& state, const std::string& key);

// UserError for a file that is no checkpoint, is newer, or belongs to another search.
search::State read_checkpoint(const std::string& path, const std::string& key);

std::string search_json(const SearchResult& result);

}  // namespace stretto::experiment
