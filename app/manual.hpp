// SPDX-License-Identifier: Apache-2.0
// The man page and the completions of shells, written from the same records as --help: what the parser of the command
// line knows of every command and option.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stretto::app {

struct OptionRecord {
  std::vector<std::string> names;  // as typed, "-o" before "--out"
  std::string value;               // what follows it, "FILE"; "" for a flag
  std::string help;
  std::string fallback;              // "" for none
  std::vector<std::string> choices;  // values that it takes; empty: any
};

struct CommandRecord {
  std::string name;  // "" for the program itself
  std::string help;
  std::string footer;
  std::string argument;  // "" for none
  std::string argument_help;
  std::vector<std::string> choices;  // of the argument; empty: files
  std::vector<OptionRecord> options;
};

// The first record is that of the program, the others those of its commands.
using Manual = std::vector<CommandRecord>;

// In roff, for man(1). `version` as `--version` says it.
std::string man_page(const Manual& manual, std::string_view version);

// bash: to be sourced, or put among the completions of bash-completion. zsh: a file _stretto for its $fpath.
struct Shell {
  const char* name;
  std::string (*completion)(const Manual& manual);
};
const std::vector<Shell>& shells();

}  // namespace stretto::app
