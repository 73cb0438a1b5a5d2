// SPDX-License-Identifier: Apache-2.0
#include "config/fields.hpp"
#include "sim/base/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stretto::config {

namespace {

bool same_finding(const Diagnostic& a, const Diagnostic& b) {
  return a.span.file == b.span.file && a.span.line == b.span.line && a.span.column == b.span.column && a.key == b.key &&
         a.message == b.message;
}

std::string join_path(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : std::string(prefix) + "." + std::string(name);
}

// Names directly below `prefix` in the order of the table.
std::vector<std::string> children(const std::vector<FieldRecord>& records, std::string_view prefix) {
  std::vector<std::string> names;
  const std::string start = prefix.empty() ? "" : std::string(prefix) + ".";
  for (const FieldRecord& r : records) {
    if (!r.path.starts_with(start)) continue;
    std::string name = r.path.substr(start.size(), r.path.find('.', start.size()) - start.size());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

void unknown_key(Reader& reader, const Entry& entry, std::string_view prefix, const std::vector<FieldRecord>& records) {
  const std::vector<std::string> names = children(records, prefix);
  if (std::any_of(records.begin(), records.end(),
                  [&](const FieldRecord& r) { return r.path == join_path(prefix, entry.key); }))
    return reader.error(entry.place, join_path(prefix, entry.key), "unknown key",
                        "write one mapping inside the other; paths with dots are for vary and --set");
  std::string guess = nearest_name(entry.key, names);
  if (!guess.empty()) guess = join_path(prefix, guess);
  if (guess.empty()) {
    // One of that name elsewhere, the least deep.
    const auto depth = [](const std::string& path) { return std::count(path.begin(), path.end(), '.'); };
    for (const FieldRecord& r : records)
      if (r.path.ends_with("." + entry.key) && (guess.empty() || depth(r.path) < depth(guess))) guess = r.path;
  }
  std::string hint = guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess);
  hint += "valid here: " + join(names);
  reader.error(entry.place, join_path(prefix, entry.key), "unknown key", std::move(hint));
}

void check_section(Reader& reader, const Node& node, const std::string& prefix,
                   const std::vector<FieldRecord>& records) {
  for (const Entry& entry : node.entries) {
    const std::string path = join_path(prefix, entry.key);
    if (entry.key.find('.') != std::string::npos) {
      unknown_key(reader, entry, prefix, records);
      continue;
    }
    const bool field =
        std::any_of(records.begin(), records.end(), [&](const FieldRecord& r) { return r.path == path; });
    if (field) continue;
    const std::vector<std::string> names = children(records, path);
    if (names.empty()) {
      unknown_key(reader, entry, prefix, records);
      continue;
    }
    const bool shorthand =
        std::any_of(records.begin(), records.end(), [&](const FieldRecord& r) { return r.shorthand == path; });
    if (entry.value.is_map())
      check_section(reader, entry.value, path, records);
    else if (!(shorthand && entry.value.is_scalar()) && !(entry.value.is_null() && !shorthand))
      reader.error(
          entry.value.place, path,
          fmt::format("expected a mapping{}, found {}", shorthand ? " or a single value" : "", describe(entry.value)),
          "keys: " + join(names));
  }
}

}  // namespace

void Reader::error(const Place& place, std::string_view key, std::string message, std::string hint) {
  if (diagnostics_.size() >= kMaxFindings) return;
  Diagnostic d{Severity::Error, place.span(), std::string(key), std::move(message), std::move(hint)};
  const bool known = std::any_of(diagnostics_.begin(), diagnostics_.end(),
                                 [&](const Diagnostic& other) { return same_finding(other, d); });
  if (!known) diagnostics_.push_back(std::move(d));
}

const std::string* Reader::scalar(const Node& node, std::string_view key, std::string_view expected) {
  if (node.is_scalar() && !node.text.empty()) return &node.text;
  error(node.place, key,
        fmt::format("expected {}, found {}", expected, node.is_scalar() ? "an empty text" : describe(node)));
  return nullptr;
}

const std::string* Reader::plain(const Node& node, std::string_view key, std::string_view expected) {
  const std::string* text = scalar(node, key, expected);
  if (!text || !node.quoted) return text;
  error(node.place, key, fmt::format("expected {}, found {}", expected, describe(node)), "remove the quotes");
  return nullptr;
}

std::optional<bool> Reader::read_bool(const Node& node, std::string_view key) {
  const std::string* text = plain(node, key, "true or false");
  if (!text) return std::nullopt;
  if (*text == "true") return true;
  if (*text == "false") return false;
  std::string word = *text;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const bool yes = word == "yes" || word == "on" || word == "y" || word == "true" || word == "1";
  const bool no = word == "no" || word == "off" || word == "n" || word == "false" || word == "0";
  error(node.place, key, fmt::format("expected true or false, found {}", describe(node)),
        yes  ? "write true"
        : no ? "write false"
             : "");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::read_integer(const Node& node, std::string_view key, std::int64_t low,
                                                 std::int64_t high) {
  const std::string* text = plain(node, key, "an integer");
  if (!text) return std::nullopt;
  const auto parsed = parse_integer(*text);
  const std::string range = fmt::format("valid: {} to {}", low, high);
  if (!parsed.ok()) {
    error(node.place, key, parsed.message, parsed.hint.empty() ? range : parsed.hint);
    return std::nullopt;
  }
  if (parsed.value >= low && parsed.value <= high) return parsed.value;
  error(node.place, key, fmt::format("{} is out of range", parsed.value), range);
  return std::nullopt;
}

std::optional<double> Reader::read_number(const Node& node, std::string_view key) {
  const std::string* text = plain(node, key, "a number");
  if (!text) return std::nullopt;
  auto parsed = parse_number(*text);
  if (parsed.ok()) return parsed.value;
  error(node.place, key, std::move(parsed.message), std::move(parsed.hint));
  return std::nullopt;
}

std::optional<double> Reader::read_fraction(const Node& node, std::string_view key) {
  const bool percentage = node.is_scalar() && node.text.ends_with("%");
  const std::string* text = percentage ? scalar(node, key, "a fraction") : plain(node, key, "a fraction");
  if (!text) return std::nullopt;
  auto parsed = parse_fraction(*text);
  if (parsed.ok()) return parsed.value;
  error(node.place, key, std::move(parsed.message), std::move(parsed.hint));
  return std::nullopt;
}

std::optional<std::string> Reader::read_text(const Node& node, std::string_view key) {
  const std::string* text = scalar(node, key, "text");
  return text ? std::optional(*text) : std::nullopt;
}

std::optional<std::size_t> Reader::read_choice(const Node& node, std::string_view key,
                                               const std::vector<std::string>& names) {
  const std::string* text = scalar(node, key, "a name");
  if (!text) return std::nullopt;
  const auto it = std::find(names.begin(), names.end(), *text);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  const std::string guess = nearest_name(*text, names);
  error(node.place, key, fmt::format("unknown name {}", describe(node)),
        (guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess)) + "valid: " + join(names));
  return std::nullopt;
}

template <class T>
std::optional<T> Reader::quantity(const Node& node, std::string_view key, std::string_view expected,
                                  Parsed<T> (*parse)(std::string_view), T low, T high, std::string_view range) {
  const std::string* text = scalar(node, key, expected);
  if (!text) return std::nullopt;
  auto parsed = parse(*text);
  if (!parsed.ok()) {
    error(node.place, key, std::move(parsed.message), std::move(parsed.hint));
    return std::nullopt;
  }
  if (parsed.value >= low && parsed.value <= high) return parsed.value;
  error(node.place, key, describe(node) + " is out of range", "valid: " + std::string(range));
  return std::nullopt;
}

std::optional<Duration> Reader::read_duration(const Node& node, std::string_view key) {
  return quantity(node, key, "a duration", parse_duration, Duration(), Duration::ps(kMaxDurationPs), "0 to 1 hour");
}

std::optional<Bytes> Reader::read_bytes(const Node& node, std::string_view key) {
  return quantity(node, key, "an amount of data", parse_bytes, Bytes(), Bytes(kMaxBytes), "0 to 1 TiB");
}

std::optional<Bandwidth> Reader::read_bandwidth(const Node& node, std::string_view key) {
  return quantity(node, key, "a bandwidth", parse_bandwidth, Bandwidth(kMinBandwidth), Bandwidth::unlimited(),
                  "1 kbit/s or more, or unlimited");
}

std::optional<double> Reader::read_per_byte(const Node& node, std::string_view key) {
  return quantity(node, key, "a time per byte", parse_per_byte, 0.0, kMaxPerByte, "0 to 1 ms/B");
}

const Entry* find_entry(const Node& root, std::string_view path) {
  const Node* node = &root;
  const Entry* entry = nullptr;
  while (true) {
    const std::size_t dot = path.find('.');
    entry = node->find(path.substr(0, dot));
    if (!entry || dot == std::string_view::npos) return entry;
    node = &entry->value;
    path.remove_prefix(dot + 1);
  }
}

const Node* find_path(const Node& root, std::string_view path) {
  const Entry* entry = find_entry(root, path);
  return entry ? &entry->value : nullptr;
}

Found find_field(const Node& root, const FieldRecord& record) {
  if (const Node* node = find_path(root, record.path)) return {node, record.path};
  if (record.shorthand.empty()) return {};
  const Node* node = find_path(root, record.shorthand);
  return node && node->is_scalar() ? Found{node, record.shorthand} : Found{};
}

void check_keys(Reader& reader, const Node& root, const std::vector<FieldRecord>& records) {
  check_section(reader, root, "", records);
}

std::string write_block(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  std::vector<std::string> open;
  for (const auto& [path, text] : values) {
    if (text.empty()) continue;
    std::vector<std::string> names;
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t end = std::min(path.find('.', start), path.size());
      names.push_back(path.substr(start, end - start));
      start = end + 1;
    }
    std::size_t common = 0;
    while (common < open.size() && common + 1 < names.size() && open[common] == names[common]) ++common;
    open.assign(names.begin(), names.end() - 1);
    for (std::size_t level = common; level < names.size(); ++level) {
      out += std::string(2 * level, ' ') + names[level] + ":";
      out += level + 1 == names.size() ? " " + text + "\n" : "\n";
    }
  }
  return out;
}

}  // namespace stretto::config
