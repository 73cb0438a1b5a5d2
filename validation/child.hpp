// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end. It has our standard error and no standard input; its standard output goes to our standard
// error. It gets SIGTERM when this process dies. While it runs, Ctrl-C is left to it. Not to be called from several
// threads.
#pragma once

#include <string>
#include <vector>

namespace stretto::validation {

// The exit code, 128 + n if signal n ended it, 127 if it could not be started.
int run_child(const std::vector<std::string>& command);

}  // namespace stretto::validation
