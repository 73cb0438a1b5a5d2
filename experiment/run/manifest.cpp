// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "io/json/reader.hpp"
#include "io/json/writer.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

void read_text(const json::Value& value, std::string& text) {
  if (auto read = value.string()) text = std::move(*read);
}

// Seeds use all 64 bits, more than the integers of the JSON reader.
void read_seed(const json::Value& value, std::uint64_t& seed) {
  const auto text = value.number_text();
  if (!text) return;
  std::uint64_t read = 0;
  const bool digits = std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool fits = digits && !text->empty() && text->size() <= 20;
  for (std::size_t i = 0; fits && i < text->size(); ++i) {
    const auto digit = static_cast<std::uint64_t>((*text)[i] - '0');
    if (read > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return value.error("is too large for a seed");
    read = read * 10 + digit;
  }
  if (!fits) return value.error("is no seed", "valid: a whole number from 0 to 18446744073709551615");
  seed = read;
}

}  // namespace

std::vector<InputFile> hash_inputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> inputs;
  for (const std::string& path : paths) {
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const InputFile& f) { return f.path == path; });
    if (!known) inputs.push_back({path, file::sha256_hex(file::read_raw(path))});
  }
  return inputs;
}

std::string write_manifest(const Manifest& manifest) {
  json::Writer w;
  w.begin_object();
  w.member("format", kManifestFormat).member("version", kManifestVersion);
  w.key("stretto").begin_object(json::Writer::Style::Inline);
  w.member("version", manifest.version).member("commit", manifest.commit).end_object();
  w.key("command").begin_array(json::Writer::Style::Inline);
  for (const std::string& word : manifest.command) w.value(word);
  w.end_array();
  w.member("seed", manifest.seed);
  w.member("configuration", manifest.configuration);
  w.key("inputs").begin_array();
  for (const InputFile& f : manifest.inputs)
    w.begin_object(json::Writer::Style::Inline).member("path", f.path).member("sha256", f.sha256).end_object();
  w.end_array();
  w.member("result_sha256", manifest.result_sha256);
  w.end_object();
  return w.finish();
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  Manifest m;
  json::Document document(text, path);
  document.read([&](const json::Value& root) {
    const auto read_format = [](const json::Value& value) {
      const auto format = value.string();
      if (format && *format != kManifestFormat)
        value.fatal(fmt::format("is '{}'", *format), fmt::format("a manifest says '{}'", kManifestFormat));
    };
    const auto read_version = [](const json::Value& value) {
      const auto version = value.integer(1);
      if (version && *version > kManifestVersion)
        value.fatal(fmt::format("is {}, newer than this stretto knows", *version),
                    fmt::format("the newest known version is {}", kManifestVersion));
    };
    const auto read_program = [&](const json::Value& value) {
      value.fields({{"version", true, [&](const json::Value& v) { read_text(v, m.version); }},
                    {"commit", true, [&](const json::Value& v) { read_text(v, m.commit); }}});
    };
    const auto read_command = [&](const json::Value& value) {
      value.elements([&](const json::Value& word) { read_text(word, m.command.emplace_back()); });
    };
    const auto read_inputs = [&](const json::Value& value) {
      value.elements([&](const json::Value& input) {
        InputFile& f = m.inputs.emplace_back();
        input.fields({{"path", true, [&](const json::Value& v) { read_text(v, f.path); }},
                      {"sha256", true, [&](const json::Value& v) { read_text(v, f.sha256); }}});
      });
    };
    root.fields({{"format", true, read_format},
                 {"version", true, read_version},
                 {"stretto", true, read_program},
                 {"command", true, read_command},
                 {"seed", true, [&](const json::Value& v) { read_seed(v, m.seed); }},
                 {"configuration", true, [&](const json::Value& v) { read_text(v, m.configuration); }},
                 {"inputs", true, read_inputs},
                 {"result_sha256", true, [&](const json::Value& v) { read_text(v, m.result_sha256); }}});
  });
  return m;
}

std::vector<std::string> changed_inputs(const Manifest& manifest) {
  std::vector<std::string> changed;
  for (const InputFile& f : manifest.inputs) {
    try {
      if (file::sha256_hex(file::read_raw(f.path)) != f.sha256)
        changed.push_back(fmt::format("{} has changed since", f.path));
    } catch (const UserError&) {
      changed.push_back(fmt::format("{} cannot be read (paths are as seen from where the run was started)", f.path));
    }
  }
  return changed;
}

}  // namespace stretto::experiment
