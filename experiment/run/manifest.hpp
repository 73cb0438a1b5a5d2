// SPDX-License-Identifier: Apache-2.0
// How a result was made, so that it can be made again: format "stretto-manifest", version 1, JSON. It names what was
// run (version, commit, command line, seed), the experiment with every default filled in, and the input files with
// their SHA-256. Keys: docs/reference/manifest.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::experiment {

inline constexpr std::string_view kManifestFormat = "stretto-manifest";
inline constexpr std::int64_t kManifestVersion = 1;

struct InputFile {
  std::string path;    // as seen from the directory of the run
  std::string sha256;  // of its bytes on disk
  bool operator==(const InputFile&) const = default;
};

struct Manifest {
  std::string version;
  std::string commit;
  std::vector<std::string> command;  // as typed, the program's name first
  std::uint64_t seed = 1;
  std::string configuration;  // effective YAML of the experiment
  std::vector<InputFile> inputs;
  std::string result_sha256;  // of the bytes of result.json
  bool operator==(const Manifest&) const = default;
};

// Hashes the files, each once, in the given order. Throws UserError.
std::vector<InputFile> hash_inputs(const std::vector<std::string>& paths);

std::string write_manifest(const Manifest& manifest);

// Throws UserError for anything that is no manifest of this version; `path` is for messages.
Manifest parse_manifest(const std::string& text, const std::string& path);

// One warning per input file that is missing or has other bytes than the manifest says.
std::vector<std::string> changed_inputs(const Manifest& manifest);

}  // namespace stretto::experiment
