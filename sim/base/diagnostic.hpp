// SPDX-License-Identifier: Apache-2.0
// Diagnostics as data: what is wrong with a user's input, where, and what to do. Functions that read input collect
// diagnostics and throw one UserError with all of them; only app/ prints.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// A place in a text. line and column count from 1; 0 = unknown. `text` is the source line itself (without newline),
// for the caret; empty if there is none. `length` is the number of columns to underline, at least 1.
struct Span {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;
  std::string text;
};

enum class Severity { Error, Warning };

// One finding. `key` is the path of the field ("cluster.workers.nic"), may be empty.
struct Diagnostic {
  Severity severity = Severity::Error;
  Span span;
  std::string key;
  std::string message;
  std::string hint;  // range, valid names, nearest name; may be empty
};

// "file:line:col: error: key: message", the source line, a caret, "hint: ...". Ends with a newline. Control characters
// of hostile text are escaped.
std::string render(const Diagnostic& diagnostic);
std::string render(const std::vector<Diagnostic>& diagnostics);

// The user's fault: one or more diagnostics, at least one an error.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::vector<Diagnostic> diagnostics);
  // One error without a place in a file.
  explicit UserError(std::string message, std::string hint = "");
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Replaces control characters, invalid UTF-8 and what changes the direction of writing by visible escapes (\n, \x1b,
// \u202e, ...), so that a hostile name cannot drive a terminal or look like another.
std::string escape_control(std::string_view text);

// The candidate with the least edit distance to `word` if that is at most a third of the word's length (at least 2),
// else "". Ties: first in `candidates`.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// The hint for an unknown name: "did you mean 'x'?" if there is a nearest_name, else "one of a, b, c"; "" if there are
// no candidates.
std::string name_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace stretto
