// SPDX-License-Identifier: Apache-2.0
// Readers of files under hostile input. A target reads a text and returns, or throws UserError with something to show;
// anything else is a fault. What it accepts must survive being written and read again. targets_test.cpp replays and
// damages the seeds in the normal run; fuzzer.cpp hands a target to libFuzzer (Meson option `fuzz`, clang only).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stretto::fuzz {

struct Target {
  const char* name;
  bool (*read)(const std::string& text);  // true: accepted; throws UserError. Null: imported as `format`
  std::vector<std::string> seeds;         // files from the root of the sources; those of tests/fuzz/corpus/NAME too
  std::vector<std::string> tokens;        // of the format, for random edits
  const char* format = "";                // a row of io::importers()
  const char* graph = "";                 // the GraphDef beside a trace, from the root of the sources; empty: none
  const char* variables = "";             // the table of variables' bytes, likewise
  std::uint64_t trials = 4000;            // of a quick run: fewer where one takes milliseconds
};

std::span<const Target> targets();

// All seeds of a target as paths, sorted within the corpus.
std::vector<std::string> seed_files(const Target& target);

enum class Outcome { Accepted, Refused };

// Runs the target. Any exception that comes out is a fault.
Outcome run(const Target& target, const std::string& text);

}  // namespace stretto::fuzz
