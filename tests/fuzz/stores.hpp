// SPDX-License-Identifier: Apache-2.0
// Results stores under hostile input: the file, and the log that a writer left beside it. What is read of a sweep of
// the seeds is what was stored, or less; what writes refuses the file or does what it says.
#pragma once

#include <string>

namespace stretto::fuzz {

bool read_store(const std::string& text);

// The log of tests/fixtures/logged.sqlite: as it is, then with sums that hold, so that SQLite takes its frames.
bool read_log(const std::string& text);

}  // namespace stretto::fuzz
