// SPDX-License-Identifier: Apache-2.0
// The ways out of the program: stdout, stderr, progress, interruption. Everything else in the project is silent.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stretto::app {

// The reader of stdout has gone (`| head`): nobody is left to write to, which is no failure.
class ReaderGone : public std::exception {};

// The user pressed Ctrl-C, or someone asked the process to end (SIGTERM).
class Interrupted : public std::exception {};

// Writes to stdout and flushes. Throws ReaderGone, or UserError if the device refuses (full disk).
void print(std::string_view text);

// Writes to stderr; failures are ignored.
void print_error(std::string_view text);

// Shows one line that rewrites itself if stderr is a terminal and `quiet` is not set, and throws Interrupted after
// Ctrl-C or SIGTERM (a second one ends the process at once). The line is erased at destruction. One at a time.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void operator()(std::size_t done, std::size_t total, const std::string& text);

 private:
  bool shown_;
};

}  // namespace stretto::app
