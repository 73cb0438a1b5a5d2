// SPDX-License-Identifier: Apache-2.0
#include "app/manual.hpp"

#include <fmt/format.h>

namespace stretto::app {

namespace {

// Text in roff: nothing in it is a request or an escape, and hyphens are those that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_begins = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string option_item(const OptionRecord& o) {
  std::string names;
  for (const std::string& name : o.names) names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(name));
  if (!o.value.empty()) names += fmt::format(" {}", italic(o.value));
  const std::string fallback = o.fallback.empty() ? std::string() : fmt::format(" (default: {})", o.fallback);
  return fmt::format(".TP\n{}\n{}\n", names, roff(o.help + fallback));
}

// Examples and notes keep their lines.
std::string footer_text(const std::string& footer) {
  return footer.empty() ? std::string() : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
}

std::string synopsis(const CommandRecord& c) {
  std::string out = bold(fmt::format("stretto {}", c.name));
  if (!c.argument.empty()) out += fmt::format(" {}", italic(c.argument));
  return out + fmt::format(" [{}]", italic("options"));
}

std::string words(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& word : all) out += fmt::format("{}{}", out.empty() ? "" : " ", word);
  return out;
}

std::string option_words(const CommandRecord& c) {
  std::vector<std::string> all;
  for (const OptionRecord& o : c.options) all.insert(all.end(), o.names.begin(), o.names.end());
  return words(all);
}

std::string command_words(const Manual& manual) {
  std::vector<std::string> all;
  for (const CommandRecord& c : manual)
    if (!c.name.empty()) all.push_back(c.name);
  return words(all);
}

// A value of this name is a path.
bool is_path(std::string_view value) {
  for (const char* part : {"FILE", "DIR", "STORE", "MEASURED"})
    if (value.find(part) != std::string_view::npos) return true;
  return false;
}

// In a single-quoted description of _arguments or _describe.
std::string zsh(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

std::string zsh_action(const std::vector<std::string>& choices, bool path) {
  if (!choices.empty()) return fmt::format("({})", words(choices));
  return path ? "_files" : " ";
}

std::string zsh_option(const OptionRecord& o) {
  std::string group = "*";  // may be given again
  std::string value;
  if (!o.value.empty()) value = fmt::format(":{}:{}", zsh(o.value), zsh_action(o.choices, is_path(o.value)));
  std::string out;
  for (const std::string& name : o.names) out += fmt::format(" '{}{}[{}]{}'", group, name, zsh(o.help), value);
  return out;
}

std::string bash_completion(const Manual& manual) {
  std::string out = "# Completion of stretto for bash; `stretto completion bash` writes it.\n_stretto() {\n";
  out +=
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=\"\" choices=\"\" file=1\n";
  out += "  COMPREPLY=()\n  if ((COMP_CWORD == 1)); then\n";
  out += fmt::format("    mapfile -t COMPREPLY < <(compgen -W '{} {}' -- \"$word\")\n    return\n  fi\n",
                     command_words(manual), option_words(manual.front()));
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandRecord& c : manual) {
    if (c.name.empty()) continue;
    out += fmt::format("    {})\n      options='{}'\n", c.name, option_words(c));
    // The first word that is no option is the argument.
    if (!c.choices.empty())
      out += fmt::format("      ((COMP_CWORD == 2)) && choices='{}' file=\"\"\n", words(c.choices));
    out += "      case $before in\n";
    for (const OptionRecord& o : c.options) {
      if (o.value.empty()) continue;
      std::string names;
      for (const std::string& name : o.names) names += fmt::format("{}{}", names.empty() ? "" : " | ", name);
      out += fmt::format("        {}) options=\"\" choices='{}' file={} ;;\n", names, words(o.choices),
                         o.choices.empty() && is_path(o.value) ? "1" : "\"\"");
    }
    out += "      esac\n      ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  elif [[ $file ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
      "    compopt -o filenames 2> /dev/null\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$word\")\n"
      "  fi\n}\n"
      "complete -F _stretto stretto ./stretto\n";
  return out;
}

std::string zsh_completion(const Manual& manual) {
  std::string out =
      "#compdef stretto\n# Completion of stretto for zsh; `stretto completion zsh` writes it.\n_stretto() {\n";
  out += "  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  for (const CommandRecord& c : manual)
    if (!c.name.empty()) out += fmt::format("      '{}:{}'\n", c.name, zsh(c.help));
  out += "    )\n    local -a options=(\n";
  for (const OptionRecord& o : manual.front().options)
    out += fmt::format("      '{}:{}'\n", o.names.back(), zsh(o.help));
  out += "    )\n    _describe command commands\n    _describe -o option options\n    return\n  fi\n";
  out += "  local command=${words[2]}\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const CommandRecord& c : manual) {
    if (c.name.empty()) continue;
    out += fmt::format("    {})\n      _arguments", c.name);
    for (const OptionRecord& o : c.options) out += zsh_option(o);
    if (!c.argument.empty())
      out += fmt::format(" '1:{}:{}' '*:FILE:_files'", zsh(c.argument), zsh_action(c.choices, true));
    out += "\n      ;;\n";
  }
  out += "  esac\n}\n_stretto \"$@\"\n";
  return out;
}

}  // namespace

std::string man_page(const Manual& manual, std::string_view version) {
  const CommandRecord& program = manual.front();
  std::string out = fmt::format(".TH STRETTO 1 \"\" \"{}\" \"User Commands\"\n", roff(version));
  out += ".SH NAME\nstretto \\- simulates training on a cluster, transfer by transfer\n.SH SYNOPSIS\n";
  out += fmt::format(
      "{} {} [{}]\n.SH DESCRIPTION\n{}\n.PP\nFiles and formats are described in the documentation that is installed "
      "beside the program.\n.SH OPTIONS\n",
      bold("stretto"), italic("COMMAND"), italic("options"),
      roff(std::string_view(program.help).substr(0, program.help.find('\n'))));
  for (const OptionRecord& o : program.options) out += option_item(o);
  out += ".SH COMMANDS\n";
  for (const CommandRecord& c : manual) {
    if (c.name.empty()) continue;
    out += fmt::format(".SS {}\n{}.\n", synopsis(c), roff(c.help));
    if (!c.argument.empty()) out += fmt::format(".TP\n{}\n{}\n", italic(c.argument), roff(c.argument_help));
    for (const OptionRecord& o : c.options) out += option_item(o);
    out += footer_text(c.footer);
  }
  out += fmt::format(
      ".SH ENVIRONMENT\n.TP\n{}\nThe directory of the shipped configurations, in place of the one that was installed "
      "with "
      "the program.\n.SH EXAMPLES AND EXIT STATUS\n{}",
      bold("STRETTO_CONFIGS"), footer_text(program.footer));
  return out;
}

const std::vector<Shell>& shells() {
  static const std::vector<Shell> table{{"bash", bash_completion}, {"zsh", zsh_completion}};
  return table;
}

}  // namespace stretto::app
