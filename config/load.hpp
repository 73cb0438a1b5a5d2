// SPDX-License-Identifier: Apache-2.0
// From YAML files to one tree: reading, `include`, overrides.
//
// Read: one document of at most 4 MiB, 64 levels and 10,000 keys in a mapping, in UTF-8 (a byte order mark and CRLF are
// accepted); tags, anchors, aliases, merge keys, doubled keys and further documents are refused, each at its place.
// Include: any mapping may say `include: path` or a list of paths, relative to the file that says it. The included
// mapping is merged under the keys that stand beside it: local values win, mappings merge key by key, everything else
// replaces; of several includes the later wins. An included file may say `stretto: 1`. Values keep their own places.
// Overrides: "path=value" with the value in YAML; replaces what stands at the path. Path: names joined by dots, a name
// with dots in double quotes, list items as [0]. An override whose last name is `include` takes effect before files
// are included; its path is relative to the current directory.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "config/node.hpp"

namespace stretto::config {

inline constexpr std::size_t kMaxFileBytes = 4u << 20;
inline constexpr int kMaxNesting = 64;
inline constexpr std::size_t kMaxKeys = 10'000;  // of one mapping
inline constexpr int kMaxIncludeDepth = 16;
inline constexpr int kMaxIncludes = 1000;
inline constexpr std::int64_t kFormatVersion = 1;  // of `stretto: N`

// The tree of one text, includes not followed. Throws UserError with every finding.
Node parse_text(std::string_view text, const std::string& file, const std::string& directory = "");

// Local values win: mappings merge key by key, everything else replaces.
void merge(Node& base, Node local);

// A value to set at a path. `place` is that of the path.
struct Override {
  std::string path;
  Node value;
  Place place;
};

// "path=value" as on the command line; places are in a text named "--set".
Override parse_override(const std::string& text);

// Replaces the value at the override's path, making the mappings on the way. Appends to `diagnostics` where the path
// is malformed, an index is out of range or something on the way is no mapping.
void apply_override(Node& root, const Override& override, std::vector<Diagnostic>& diagnostics);

// True if `inner` is the place that `outer` names or lies below it. Both are paths as in overrides; false where one is
// malformed.
bool path_holds(std::string_view outer, std::string_view inner);

// Reads files and follows includes; remembers the files it has read.
class Loader {
 public:
  // The tree of one file, includes not followed. `place` is the include that asks for it, for a missing file.
  Node read(const std::string& path, const Place* place = nullptr);
  // The tree with overrides applied and includes followed. Throws UserError.
  Node resolve(Node root, const std::vector<Override>& overrides);
  // The files read so far, in that order.
  const std::vector<std::string>& files() const { return files_; }

 private:
  struct Walk;
  void expand(Node& node, Walk& walk);
  void include(const Node& path, Node& base, Walk& walk);
  std::map<std::string, Node> trees_;
  std::vector<std::string> files_;
};

}  // namespace stretto::config
