// SPDX-License-Identifier: Apache-2.0
#include "io/json/repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/json/reader.hpp"

namespace stretto::json {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kLongestWord = 16;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Repairer {
 public:
  explicit Repairer(std::string_view text) : text_(text) { out_.text.reserve(text.size() + 16); }

  Repair run() {
    while (at_ < text_.size()) step();
    close();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"') {
      string();
      return;
    }
    if (is_letter(c) || ((c == '-' || c == '+') && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]))) {
      word();
      return;
    }
    if (c == '{' || c == '[') {
      open_.push_back(c);
      key_ = c == '{';
    } else if (c == '}' || c == ']') {
      if (!open_.empty()) open_.pop_back();
      key_ = false;
    } else if (c == ',') {
      key_ = in_object();
    } else if (c == ':') {
      key_ = false;
    }
    out_.text += c;
    ++at_;
  }

  bool in_object() const { return !open_.empty() && open_.back() == '{'; }

  char next_visible(std::size_t& at) const {
    at = text_.find_first_not_of(kSpace, at);
    return at == std::string_view::npos ? '\0' : text_[at];
  }

  // Does the quote before `at` end the string?
  bool ends(std::size_t at) const {
    const char c = next_visible(at);
    if (c == '\0') return true;
    if (key_) return c == ':';
    if (c == '}' || c == ']') return true;
    if (c != ',') return false;
    const char after = next_visible(++at);
    if (in_object()) return after == '"' || after == '}' || after == '\0';
    return std::string_view("\"{[-]0123456789tfn").find(after) != std::string_view::npos || after == '\0';
  }

  void string() {
    out_.text += text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') {
        if (ends(at_)) {
          out_.text += c;
          return;
        }
        out_.text += "\\\"";
        ++out_.quotes;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_.text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        ++out_.control_characters;
      } else {
        out_.text += c;
        if (c == '\\' && at_ < text_.size() && static_cast<unsigned char>(text_[at_]) >= 0x20)
          out_.text += text_[at_++];
      }
    }
    unfinished_ = true;
  }

  void word() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view whole = text_.substr(begin, at_ - begin);
    std::string_view word = whole;
    if (word.front() == '-' || word.front() == '+') word.remove_prefix(1);
    std::string lower(word.substr(0, kLongestWord));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (lower == "nan" || lower == "inf" || lower == "infinity") {
      out_.text += "null";
      ++out_.not_numbers;
    } else {
      out_.text += whole;
    }
  }

  void close() {
    if (unfinished_ || (open_ != "[" && open_ != "{" && open_ != "{[")) return;
    const std::size_t last = out_.text.find_last_not_of(kSpace);
    const char c = out_.text[last];
    if (c != ',' && c != '}' && c != ']') return;
    if (c == ',') out_.text.erase(last, 1);
    for (; !open_.empty(); open_.pop_back()) out_.text += open_.back() == '[' ? ']' : '}';
    out_.closed = true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;  // brackets that are open
  bool key_ = false;  // a string here is a key
  bool unfinished_ = false;
  Repair out_;
};

}  // namespace

std::vector<std::string> Repair::notes() const {
  std::vector<std::string> list;
  const auto note = [&](std::size_t n, const char* what) {
    if (n > 0) list.push_back(fmt::format("{} {}", n, what));
  };
  note(control_characters, "control characters in strings, escaped");
  note(quotes, "unescaped quotes in strings, escaped");
  note(not_numbers, "values nan or inf, taken as missing");
  if (closed) list.emplace_back("the array or object at the top is not closed");
  return list;
}

Repair repair(std::string_view text) { return Repairer(text).run(); }

std::vector<std::string> read_repaired(const std::string& text, const std::string& path,
                                       const std::function<void(const Value& root)>& visit,
                                       const std::function<void()>& restart) {
  try {
    Document(text, path).read(visit);
    return {};
  } catch (const UserError&) {
    Repair repaired = repair(text);
    if (!repaired.changed()) throw;
    restart();
    Document(std::move(repaired.text), path).read(visit);
    return repaired.notes();
  }
}

}  // namespace stretto::json
