// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "config/units_text.hpp"
#include "io/file/file.hpp"

namespace stretto::config {

namespace {

constexpr std::string_view kInclude = "include";
constexpr std::string_view kVersion = "stretto";

struct Step {
  std::string name;
  std::optional<std::size_t> index;  // instead of a name
  bool operator==(const Step&) const = default;
};

// "a.b[2].\"c.d\"" as steps; nothing where it is malformed or leads deeper than a file can.
std::optional<std::vector<Step>> split_path(std::string_view path) {
  std::vector<Step> steps;
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '[') {
      const std::size_t end = path.find(']', i);
      std::size_t index = 0;
      if (end == std::string_view::npos) return std::nullopt;
      const auto r = std::from_chars(path.data() + i + 1, path.data() + end, index);
      if (r.ec != std::errc() || r.ptr != path.data() + end || steps.empty()) return std::nullopt;
      steps.push_back({"", index});
      i = end + 1;
    } else {
      Step step;
      if (path[i] == '"') {
        const std::size_t end = path.find('"', i + 1);
        if (end == std::string_view::npos) return std::nullopt;
        step.name = path.substr(i + 1, end - i - 1);
        i = end + 1;
      } else {
        const std::size_t end = std::min(path.find_first_of(".[\"", i), path.size());
        step.name = path.substr(i, end - i);
        i = end;
      }
      if (step.name.empty()) return std::nullopt;
      steps.push_back(std::move(step));
    }
    if (steps.size() > static_cast<std::size_t>(kMaxNesting)) return std::nullopt;
    if (i < path.size() && path[i] == '.') {
      if (++i == path.size()) return std::nullopt;
    } else if (i < path.size() && path[i] != '[') {
      return std::nullopt;
    }
  }
  if (steps.empty()) return std::nullopt;
  return steps;
}

std::string prefix_text(const std::vector<Step>& steps, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (steps[i].index)
      out += fmt::format("[{}]", *steps[i].index);
    else
      out += (out.empty() ? "" : ".") + steps[i].name;
  }
  return out;
}

bool sets_include(const Override& override) {
  const auto steps = split_path(override.path);
  return steps && steps->back().name == kInclude;
}

}  // namespace

void merge(Node& base, Node local) {
  if (!base.is_map() || !local.is_map()) {
    base = std::move(local);
    return;
  }
  base.place = local.place;
  for (Entry& entry : local.entries) {
    if (Entry* old = base.find(entry.key)) {
      old->place = entry.place;
      merge(old->value, std::move(entry.value));
    } else {
      base.entries.push_back(std::move(entry));
    }
  }
}

namespace {

std::string read_file(const std::string& path, const Place* asked_at) {
  Span span;
  if (asked_at)
    span = asked_at->span();
  else
    span.file = path;
  const auto fail = [&](const std::string& message) {
    const std::string name = asked_at ? fmt::format("'{}': ", path) : "";
    return UserError({{Severity::Error, span, "", name + message, ""}});
  };
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) throw fail("no such file");
  if (std::filesystem::is_directory(status)) throw fail("is a directory, expected a file");
  const bool pipe = std::filesystem::is_fifo(status) && !asked_at;  // <(...) of a shell
  if (!std::filesystem::is_regular_file(status) && !pipe) throw fail("is not a regular file");
  if (pipe) return file::read_raw(path, kMaxFileBytes);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw fail("cannot be opened for reading");
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw fail("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

Override parse_override(const std::string& text) {
  const auto fail = [&](std::string message, std::string hint) {
    Span span{"--set", 1, 1, static_cast<int>(text.size()), text};
    return UserError({{Severity::Error, std::move(span), "", std::move(message), std::move(hint)}});
  };
  const std::string example = "for example --set cluster.workers.count=4";
  if (std::any_of(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }))
    throw fail("more than one line", example);
  bool in_quotes = false;
  std::size_t equals = 0;
  for (; equals < text.size() && (in_quotes || text[equals] != '='); ++equals)
    if (text[equals] == '"') in_quotes = !in_quotes;
  if (equals == text.size()) throw fail("no '=' between path and value", example);
  Override override;
  override.path = text.substr(0, equals);
  if (!split_path(override.path)) {
    Node shown;
    shown.kind = Kind::Scalar;
    shown.text = override.path;
    throw fail("not a path: " + describe(shown), example);
  }
  if (text.find_first_not_of(' ', equals + 1) == std::string::npos) throw fail("no value after '='", example);
  // Blanks in place of the path keep the columns of the value right.
  try {
    override.value = parse_text(std::string(equals + 1, ' ') + text.substr(equals + 1), "--set");
  } catch (const UserError& e) {
    std::vector<Diagnostic> diagnostics = e.diagnostics();
    for (Diagnostic& d : diagnostics) d.span.text = text;
    throw UserError(std::move(diagnostics));
  }
  auto source = std::make_shared<const Source>(Source{"--set", "", {text}});
  override.place = {source, 1, 1, static_cast<int>(equals)};
  const auto relocate = [&](const auto& self, Node& node) -> void {
    node.place.source = source;
    for (Node& item : node.items) self(self, item);
    for (Entry& entry : node.entries) {
      entry.place.source = source;
      self(self, entry.value);
    }
  };
  relocate(relocate, override.value);
  return override;
}

void apply_override(Node& root, const Override& override, std::vector<Diagnostic>& diagnostics) {
  const auto fail = [&](std::string message, std::string hint = "") {
    diagnostics.push_back({Severity::Error, override.place.span(), override.path, std::move(message), std::move(hint)});
  };
  const auto steps = split_path(override.path);
  if (!steps) return fail("not a path", "names joined by dots, list items as [0], names with dots in double quotes");
  Node* node = &root;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Step& step = (*steps)[i];
    const std::string here = prefix_text(*steps, i);
    if (step.index) {
      if (node->is_null()) return fail(fmt::format("'{}' is not set, so it has no items", here), "set the whole list");
      if (!node->is_sequence()) return fail(fmt::format("'{}' is {}, not a list", here, describe(*node)));
      if (*step.index >= node->items.size())
        return fail(fmt::format("'{}' has {} items", here, node->items.size()), "items count from [0]");
      node = &node->items[*step.index];
      continue;
    }
    if (node->is_null()) {
      node->kind = Kind::Map;
      node->place = override.place;
    }
    if (!node->is_map())
      return fail(fmt::format("'{}' is {}, so it has no '{}'", here, describe(*node), step.name),
                  node->is_sequence() ? "items are set as " + here + "[0]" : "set '" + here + "' as a whole");
    Entry* entry = node->find(step.name);
    if (!entry) {
      node->entries.push_back({step.name, override.place, {}});
      entry = &node->entries.back();
      entry->value.place = override.place;
    }
    node = &entry->value;
  }
  *node = override.value;
}

bool path_holds(std::string_view outer, std::string_view inner) {
  const auto a = split_path(outer);
  const auto b = split_path(inner);
  return a && b && a->size() <= b->size() && std::equal(a->begin(), a->end(), b->begin());
}

struct Loader::Walk {
  std::vector<std::string> chain;      // names of the files that are open, outermost first
  std::vector<std::string> canonical;  // the same, without links and dots
  int includes = 0;
  std::vector<Diagnostic> diagnostics;

  void error(const Place& place, std::string message, std::string hint = "") {
    diagnostics.push_back({Severity::Error, place.span(), std::string(kInclude), std::move(message), std::move(hint)});
  }
};

Node Loader::read(const std::string& path, const Place* place) {
  const auto known = trees_.find(path);
  if (known != trees_.end()) return known->second;
  const std::string text = read_file(path, place);
  files_.push_back(path);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  Node root = parse_text(text, path, directory);
  if (!root.is_map())
    throw UserError({{Severity::Error, root.place.span(), "",
                      fmt::format("the file holds {}, expected a mapping (key: value)", describe(root)), ""}});
  return trees_.emplace(path, std::move(root)).first->second;
}

void Loader::include(const Node& path, Node& base, Walk& walk) {
  if (!path.is_scalar() || path.text.empty())
    return walk.error(path.place, fmt::format("expected the path of a file, found {}", describe(path)));
  const std::string file = path.place.resolve(path.text);
  std::error_code code;
  const std::string canonical = std::filesystem::weakly_canonical(file, code).string();
  if (std::find(walk.canonical.begin(), walk.canonical.end(), canonical) != walk.canonical.end()) {
    std::string chain;
    for (const std::string& name : walk.chain) chain += name + " -> ";
    return walk.error(path.place, "files include each other in a circle", chain + file);
  }
  if (static_cast<int>(walk.chain.size()) > kMaxIncludeDepth)
    return walk.error(path.place, fmt::format("more than {} levels of include", kMaxIncludeDepth));
  if (++walk.includes > kMaxIncludes) {
    if (walk.includes == kMaxIncludes + 1)
      walk.error(path.place, fmt::format("more than {} includes in all", kMaxIncludes));
    return;
  }
  Node tree;
  try {
    tree = read(file, &path.place);
  } catch (const UserError& e) {
    walk.diagnostics.insert(walk.diagnostics.end(), e.diagnostics().begin(), e.diagnostics().end());
    return;
  }
  const auto version =
      std::find_if(tree.entries.begin(), tree.entries.end(), [](const Entry& e) { return e.key == kVersion; });
  if (version != tree.entries.end()) {
    const Node& value = version->value;
    const auto number = parse_integer(value.text);
    if (!value.is_scalar() || value.quoted || !number.ok() || number.value < 1 || number.value > kFormatVersion)
      walk.diagnostics.push_back({Severity::Error, value.place.span(), std::string(kVersion),
                                  fmt::format("{} is not a version of the format that is known", describe(value)),
                                  fmt::format("valid: 1 to {}", kFormatVersion)});
    tree.entries.erase(version);
  }
  walk.chain.push_back(file);
  walk.canonical.push_back(canonical);
  expand(tree, walk);
  walk.chain.pop_back();
  walk.canonical.pop_back();
  merge(base, std::move(tree));
}

void Loader::expand(Node& node, Walk& walk) {
  for (Node& item : node.items) expand(item, walk);
  const auto at =
      std::find_if(node.entries.begin(), node.entries.end(), [](const Entry& e) { return e.key == kInclude; });
  Node paths;
  const bool includes = at != node.entries.end();
  if (includes) {
    paths = std::move(at->value);
    node.entries.erase(at);
  }
  for (Entry& entry : node.entries) expand(entry.value, walk);
  if (!includes) return;
  Node base;
  base.kind = Kind::Map;
  if (paths.is_sequence())
    for (const Node& path : paths.items) include(path, base, walk);
  else
    include(paths, base, walk);
  merge(base, std::move(node));
  node = std::move(base);
}

Node Loader::resolve(Node root, const std::vector<Override>& overrides) {
  Walk walk;
  if (root.place.source) {
    const std::string& file = root.place.source->file;
    std::error_code code;
    walk.chain.push_back(file);
    walk.canonical.push_back(std::filesystem::weakly_canonical(file, code).string());
  }
  bool others = false;
  for (const Override& o : overrides) {
    if (sets_include(o))
      apply_override(root, o, walk.diagnostics);
    else
      others = true;
  }
  expand(root, walk);
  for (const Override& o : overrides)
    if (!sets_include(o)) apply_override(root, o, walk.diagnostics);
  if (others) expand(root, walk);
  if (!walk.diagnostics.empty()) throw UserError(std::move(walk.diagnostics));
  return root;
}

}  // namespace stretto::config
