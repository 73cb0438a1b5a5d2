// SPDX-License-Identifier: Apache-2.0
// Text to tree: the only use of yaml-cpp. Its event interface is used instead of its nodes, which keep the first of
// doubled keys, follow alias cycles for ever, lose the places of keys and guess types.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "config/load.hpp"

namespace stretto::config {

namespace {

// Ends parsing after a finding that leaves nothing sensible to read.
struct Stop {};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::vector<Diagnostic> diagnostics;
  std::optional<Node> root;

  void report(const Place& place, std::string message, std::string hint = "") {
    diagnostics.push_back({Severity::Error, place.span(), "", std::move(message), std::move(hint)});
  }

  Place place(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1, 1}; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    report(place(mark), "text after the end of the document", "a file holds one document; check '---' and indentation");
    throw Stop();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    Node node;
    node.place = null_place(mark);
    if (key_expected()) {
      report(node.place, "a key is empty", "a key is text before a colon");
      throw Stop();
    }
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark);
    Node node;
    node.kind = Kind::Scalar;
    node.text = value;
    node.quoted = tag == "!";
    node.place = scalar_place(mark, node);
    if (node.quoted) check_quote(mark, node.place);
    if (key_expected())
      begin_entry(std::move(node));
    else
      add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::Sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    std::optional<Entry> entry;  // Map: the key whose value comes next
    bool doubled = false;        // that key is there already
    std::unordered_map<std::string, std::size_t> index;
  };

  bool key_expected() const { return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().entry; }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    report(place(mark), "anchors and aliases ('&name', '*name') are not supported",
           "use include, or write the value out");
    throw Stop();
  }

  void refuse_tag(const YAML::Mark& mark) {
    report(place(mark), "tags ('!name') are not supported", "leave the tag out");
    throw Stop();
  }

  void open(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) refuse_tag(mark);
    if (key_expected()) {
      report(place(mark), "a key must be plain text", "close the bracket; or put text that begins with one in quotes");
      throw Stop();
    }
    if (static_cast<int>(stack_.size()) >= kMaxNesting) {
      report(place(mark), fmt::format("more than {} levels of nesting", kMaxNesting));
      throw Stop();
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = place(mark);
    stack_.push_back(std::move(frame));
  }

  void close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void begin_entry(Node key) {
    Frame& frame = stack_.back();
    if (key.text.empty()) {
      report(key.place, "a key is empty", "a key is text before a colon");
      throw Stop();
    }
    if (key.text == "<<" && !key.quoted) {
      report(key.place, "merge keys ('<<') are not supported", "use include");
      throw Stop();
    }
    const auto [it, fresh] = frame.index.emplace(key.text, frame.node.entries.size());
    if (!fresh) {
      const Place& first = frame.node.entries[it->second].place;
      report(key.place, fmt::format("the key '{}' stands here twice", key.text),
             fmt::format("the first is at {}:{}:{}", source_->file, first.line, first.column));
    }
    if (diagnostics.size() >= kMaxFindings) throw Stop();
    if (fresh && frame.node.entries.size() >= kMaxKeys) {
      report(key.place, fmt::format("more than {} keys in one mapping", kMaxKeys));
      throw Stop();
    }
    frame.doubled = !fresh;
    frame.entry = Entry{std::move(key.text), key.place, {}};
  }

  void add(Node node) {
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_sequence()) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    frame.entry->value = std::move(node);
    if (!frame.doubled) frame.node.entries.push_back(std::move(*frame.entry));
    frame.entry.reset();
  }

  std::string_view rest_of_line(const YAML::Mark& mark) const {
    if (mark.line < 0 || static_cast<std::size_t>(mark.line) >= source_->lines.size()) return "";
    const std::string& line = source_->lines[static_cast<std::size_t>(mark.line)];
    if (mark.column < 0 || static_cast<std::size_t>(mark.column) >= line.size()) return "";
    return std::string_view(line).substr(static_cast<std::size_t>(mark.column));
  }

  Place scalar_place(const YAML::Mark& mark, const Node& node) const {
    Place p = place(mark);
    const std::string_view rest = rest_of_line(mark);
    if (rest.starts_with(node.text)) p.length = static_cast<int>(node.text.size());
    if (node.quoted && !rest.empty() && (rest[0] == '"' || rest[0] == '\'')) {
      std::size_t end = 1;
      while (end < rest.size() && rest[end] != rest[0]) end += rest[0] == '"' && rest[end] == '\\' ? 2 : 1;
      p.length = static_cast<int>(std::min(end + 1, rest.size()));
    }
    return p;
  }

  // yaml-cpp takes the end of the text for the end of an open quote.
  void check_quote(const YAML::Mark& mark, const Place& at) {
    const std::string_view rest = rest_of_line(mark);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return;
    const char quote = rest[0];
    std::size_t from = static_cast<std::size_t>(mark.column) + 1;
    for (auto l = static_cast<std::size_t>(mark.line); l < source_->lines.size(); ++l, from = 0) {
      const std::string& line = source_->lines[l];
      for (std::size_t i = from; i < line.size(); ++i) {
        const bool doubled = quote == '\'' && line[i] == quote && i + 1 < line.size() && line[i + 1] == quote;
        if (doubled || (quote == '"' && line[i] == '\\'))
          ++i;
        else if (line[i] == quote)
          return;
      }
    }
    report(at, "the quote is not closed");
    throw Stop();
  }

  // yaml-cpp marks an empty value at whatever comes next; the key, or the list, is a better place.
  Place null_place(const YAML::Mark& mark) const {
    const std::string_view rest = rest_of_line(mark);
    Place p = place(mark);
    for (const std::string_view word : {"null", "Null", "NULL", "~"})
      if (rest.starts_with(word)) {
        p.length = static_cast<int>(word.size());
        return p;
      }
    if (stack_.empty() || key_expected()) return p;
    const Frame& frame = stack_.back();
    return frame.entry ? frame.entry->place : frame.node.place;
  }

  std::shared_ptr<const Source> source_;
  std::vector<Frame> stack_;
  int documents_ = 0;
};

// Length of the valid UTF-8 sequence at text[i], 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  if (c < 0x80) return 1;
  const std::size_t n = c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (n == 0 || i + n > text.size()) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(text[i + 1]);
  if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second >= 0xA0)) return 0;
  if ((c == 0xF0 && second < 0x90) || (c == 0xF4 && second >= 0x90)) return 0;
  return n;
}

// Without byte order mark, line ends as \n, one at the end.
std::string normalise(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      out += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      out += '\n';
  }
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// The first byte that is no UTF-8 or a control character; yaml-cpp takes \x04 for the end of the text.
void check_characters(const std::shared_ptr<const Source>& source) {
  for (std::size_t l = 0; l < source->lines.size(); ++l) {
    const std::string& line = source->lines[l];
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t n = utf8_length(line, i);
      const auto c = static_cast<unsigned char>(line[i]);
      if (n == 0 || (n == 1 && (c < 0x20 || c == 0x7F) && c != '\t')) {
        const Place place{source, static_cast<int>(l) + 1, static_cast<int>(i) + 1, 1};
        throw UserError({{Severity::Error, place.span(), "",
                          n == 0 ? "the text is not valid UTF-8" : fmt::format("control character 0x{:02x}", c),
                          n == 0 ? "save the file as UTF-8" : "in double quotes it can be written as an escape"}});
      }
      i += n;
    }
  }
}

void report_yaml_error(Builder& builder, const Source& source, const YAML::Exception& e) {
  const YAML::Mark mark = e.mark.is_null() ? YAML::Mark() : e.mark;
  struct Hint {
    std::string_view message;  // part of yaml-cpp's
    std::string_view hint;
  };
  constexpr Hint kHints[] = {
      {"anchor", "anchors and aliases ('&name', '*name') are not supported"},
      {"end of map flow", "a '{' is not closed"},
      {"end of sequence flow", "a '[' is not closed"},
      {"end of map not found", "keys of one mapping begin in the same column"},
      {"end of sequence not found", "items of one list begin in the same column"},
      {"illegal map value", "check the indentation; text that holds ': ' needs quotes"},
  };
  std::string hint;
  for (const Hint& h : kHints)
    if (e.msg.find(h.message) != std::string::npos) hint = h.hint;
  const int line = mark.line;
  for (const int l : {line, line - 1}) {
    if (l < 0 || static_cast<std::size_t>(l) >= source.lines.size()) continue;
    const std::string& text = source.lines[static_cast<std::size_t>(l)];
    const std::size_t blank = text.find_first_not_of(" \t");
    if (text.substr(0, blank).find('\t') != std::string::npos) hint = "indent with spaces, not with tabs";
  }
  builder.report(builder.place(mark), "not valid YAML: " + e.msg, hint);
}

}  // namespace

Node parse_text(std::string_view text, const std::string& file, const std::string& directory) {
  Span whole;
  whole.file = file;
  if (text.size() > kMaxFileBytes)
    throw UserError({{Severity::Error, whole, "", fmt::format("larger than {} MiB", kMaxFileBytes >> 20), ""}});
  const std::string normal = normalise(text);
  const auto source = std::make_shared<const Source>(Source{file, directory, split_lines(normal)});
  check_characters(source);
  Builder builder(source);
  try {
    std::istringstream in(normal);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
  } catch (const YAML::Exception& e) {
    report_yaml_error(builder, *source, e);
  }
  if (builder.diagnostics.empty() && (!builder.root || builder.root->is_null()))
    throw UserError({{Severity::Error, whole, "", "nothing in it", "the file is empty or holds comments only"}});
  if (!builder.diagnostics.empty()) throw UserError(std::move(builder.diagnostics));
  return std::move(*builder.root);
}

}  // namespace stretto::config
