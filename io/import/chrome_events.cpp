// SPDX-License-Identifier: Apache-2.0
#include "io/import/chrome_events.hpp"

#include <algorithm>

#include "io/file/file.hpp"
#include "io/file/source.hpp"
#include "io/json/reader.hpp"
#include "io/json/repair.hpp"

namespace stretto::io {

namespace {

constexpr std::string_view kArray = "traceEvents";

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The strict reader's events as cells.
class Reader {
 public:
  explicit Reader(const ChromeReading& reading) : reading_(reading) {}

  void read(const json::Value& root) {
    bool found = false;
    root.members([&](std::string_view key, const json::Value& value) {
      if (key != kArray) return;
      found = true;
      value.elements([&](const json::Value& event) { read_event(event); });
    });
    if (!found) root.error("there is no traceEvents");
  }

 private:
  void set(std::string_view key, std::string_view prefix, const json::Value& v) {
    for (std::size_t i = 0; i < reading_.keys.size(); ++i) {
      const std::string_view name = reading_.keys[i];
      if (!name.starts_with(prefix) || name.substr(prefix.size()) != key) continue;
      if (prefix.empty() && name.find('/') != std::string_view::npos) continue;
      cells_[i].kind = v.kind();
      if (v.kind() == json::Kind::String) texts_[i] = v.string().value_or("");
      if (v.kind() == json::Kind::Number) texts_[i] = v.number_text().value_or("");
      return;
    }
  }

  void read_event(const json::Value& value) {
    if (value.kind() != json::Kind::Object) {
      value.error("an event is no object");
      return;
    }
    cells_.assign(reading_.keys.size(), {});
    texts_.assign(reading_.keys.size(), "");
    value.members([&](std::string_view key, const json::Value& v) {
      if (key != "args")
        set(key, "", v);
      else if (v.kind() == json::Kind::Object)
        v.members([&](std::string_view inner, const json::Value& w) { set(inner, "args/", w); });
    });
    for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].text = texts_[i];
    reading_.visit(cells_);
  }

  const ChromeReading& reading_;
  std::vector<json::Cell> cells_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> read_chrome_events(const std::string& text, const std::string& path,
                                            const ChromeReading& reading) {
  return json::read_repaired(
      text, path, [&](const json::Value& root) { Reader(reading).read(root); }, reading.restart);
}

std::vector<std::string> read_chrome_file(const std::string& path, const ChromeReading& reading) {
  if (file::is_regular(path)) {
    file::Limits limits;
    limits.max_bytes = kLargestChromeFile;
    file::Source source(path, limits);
    json::Records records(std::string(kArray), reading.keys);
    if (records.read(source, reading.visit)) return {};
    reading.restart();
  }
  return read_chrome_events(file::read(path), path, reading);
}

bool same_word(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return small(a) == b; });
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), small);
  return out;
}

}  // namespace stretto::io
