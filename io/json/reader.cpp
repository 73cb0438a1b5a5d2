// SPDX-License-Identifier: Apache-2.0
#include "io/json/reader.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "io/file/file.hpp"
#include "io/json/utf8.hpp"
#include "sim/base/assert.hpp"

namespace stretto::json {

namespace ondemand = simdjson::ondemand;

struct Document::Parser {
  ondemand::parser parser;
  ondemand::document document;
};

// A value on the way from the root; `parent` lies further up on the stack.
struct Value::Node {
  Document& document;
  const Node* parent;
  std::string_view key;  // of a member
  std::size_t index;     // of an element
  bool is_element;
  ondemand::value value;
  Kind kind = Kind::Null;
  Place place;
  Place key_place;
};

namespace {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return "true or false";
    case Kind::Number:
      return "a number";
    case Kind::String:
      return "a string";
    case Kind::Array:
      return "an array";
    case Kind::Object:
      return "an object";
  }
  return "";
}

std::optional<Kind> kind_of(char c) {
  switch (c) {
    case '{':
      return Kind::Object;
    case '[':
      return Kind::Array;
    case '"':
      return Kind::String;
    case 't':
    case 'f':
      return Kind::Bool;
    case 'n':
      return Kind::Null;
    default:
      break;
  }
  if (c == '-' || (c >= '0' && c <= '9')) return Kind::Number;
  return std::nullopt;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string in_message(std::string_view text) {
  return text.size() <= 80 ? std::string(text) : std::string(text.substr(0, 77)) + "...";
}

std::string known_keys(const std::vector<std::string>& names) {
  std::string out = "known keys:";
  for (std::size_t i = 0; i < names.size(); ++i) out.append(i == 0 ? " " : ", ").append(names[i]);
  return out;
}

}  // namespace

Document::Document(std::string text, std::string path, const Limits& limits)
    : text_(std::move(text)), path_(std::move(path)), limits_(limits), size_(text_.size()) {}

Document::~Document() = default;

void Document::error(const Place& place, std::string key, std::string message, std::string hint) {
  Diagnostic d;
  d.span = file::span_at(std::string_view(text_).substr(0, size_), path_, place.offset, place.length);
  d.key = std::move(key);
  d.message = std::move(message);
  d.hint = std::move(hint);
  errors_.push_back(std::move(d));
  if (errors_.size() < limits_.max_errors) return;
  Diagnostic last;
  last.span.file = path_;
  last.message = fmt::format("more than {} errors, the rest is not shown", limits_.max_errors - 1);
  errors_.push_back(std::move(last));
  throw UserError(std::move(errors_));
}

void Document::fail(const Place& place, std::string key, std::string message, std::string hint) {
  error(place, std::move(key), std::move(message), std::move(hint));
  throw UserError(std::move(errors_));
}

void Document::check_text() {
  const std::string_view text(text_.data(), size_);
  if (size_ > limits_.max_bytes)
    fail({}, "", fmt::format("JSON text of {} bytes is over the limit of {}", size_, limits_.max_bytes));
  if (text.starts_with("\xEF\xBB\xBF")) start_ = 3;
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos)
    fail({bad, 1}, "", fmt::format("byte {} (0x{:02x}) is not UTF-8", bad, static_cast<unsigned char>(text[bad])));
  std::vector<std::size_t> open;
  bool rooted = false;
  for (std::size_t i = start_; i < size_; ++i) {
    const char c = text[i];
    if (is_space(c)) continue;
    if (open.empty() && rooted) fail({i, 1}, "", "unexpected text after the end of the JSON value");
    if (open.empty() && c != '{' && c != '[') fail({i, 1}, "", "a JSON object or array must stand here");
    if (c == '"') {
      const std::size_t start = i++;
      while (i < size_ && text[i] != '"') {
        if (static_cast<unsigned char>(text[i]) < 0x20)
          fail({i, 1}, "", "control character in a string", "a missing quote, or a character that needs \\u escapes");
        i += text[i] == '\\' ? 2 : 1;
      }
      if (i >= size_) fail({start, 1}, "", "string without closing quote (is the file cut off?)");
    } else if (c == '{' || c == '[') {
      rooted = true;
      open.push_back(i);
      if (open.size() > limits_.max_depth)
        fail({i, 1}, "", fmt::format("nested deeper than {} levels", limits_.max_depth));
    } else if (c == '}' || c == ']') {
      const char opening = text[open.back()];
      if ((opening == '{') != (c == '}')) {
        const int line = file::span_at(text, path_, open.back()).line;
        fail({i, 1}, "", fmt::format("'{}' does not close the '{}' of line {}", c, opening, line));
      }
      open.pop_back();
    }
  }
  if (!rooted) fail({}, "", "the file is empty", "a JSON object must stand here");
  if (!open.empty())
    fail({open.back(), 1}, "", fmt::format("'{}' is never closed (is the file cut off?)", text[open.back()]));
}

void Document::read(const std::function<void(const Value& root)>& visit) {
  STRETTO_ASSERT(parser_ == nullptr, "document {} read twice", path_);
  parser_ = std::make_unique<Parser>();
  check_text();
  text_.resize(size_ + simdjson::SIMDJSON_PADDING, '\0');
  const auto give_up = [&](simdjson::error_code code) {
    fail({start_, 1}, "", fmt::format("cannot be parsed as JSON: {}", simdjson::error_message(code)));
  };
  const simdjson::padded_string_view view(text_.data() + start_, size_ - start_, text_.size() - start_);
  if (const auto code = parser_->parser.iterate(view).get(parser_->document)) give_up(code);
  ondemand::value value;
  if (const auto code = parser_->document.get_value().get(value)) give_up(code);
  Value::Node node{*this, nullptr, {}, 0, false, value, Kind::Null, {}, {}};
  node.place = {static_cast<std::size_t>(value.raw_json_token().data() - text_.data()), 1};
  node.kind = text_[node.place.offset] == '{' ? Kind::Object : Kind::Array;
  visit(Value(node));
  if (!errors_.empty()) throw UserError(std::move(errors_));
}

Kind Value::kind() const { return node_->kind; }

Place Value::place() const { return node_->place; }

std::string Value::path() const {
  std::vector<const Node*> nodes;
  for (const Node* n = node_; n->parent != nullptr; n = n->parent) nodes.push_back(n);
  std::reverse(nodes.begin(), nodes.end());
  std::string out;
  for (const Node* n : nodes) {
    if (n->is_element) {
      out += fmt::format("[{}]", n->index);
    } else {
      if (!out.empty()) out += '.';
      out += in_message(n->key);
    }
  }
  return out;
}

void Value::error(std::string message, std::string hint) const {
  node_->document.error(node_->place, path(), std::move(message), std::move(hint));
}

void Value::fatal(std::string message, std::string hint) const {
  node_->document.fail(node_->place, path(), std::move(message), std::move(hint));
}

void Value::syntax_error(int code) const {
  Document& document = node_->document;
  Place place = node_->place;
  const char* location = nullptr;
  const bool container = node_->kind == Kind::Array || node_->kind == Kind::Object;
  if (container && document.parser_->document.current_location().get(location) == simdjson::SUCCESS) {
    const auto offset = static_cast<std::size_t>(location - document.text_.data());
    if (offset > place.offset && offset <= document.size_) place = {offset, 1};
  }
  const auto error = static_cast<simdjson::error_code>(code);
  document.fail(place, path(), fmt::format("JSON syntax error: {}", simdjson::error_message(error)));
}

bool Value::expect(Kind kind, std::string_view what) const {
  if (node_->kind == kind) return true;
  error(fmt::format("must be {}, not {}", what, kind_name(node_->kind)));
  return false;
}

// Finds the value's kind and place before anything of it is consumed.
void Value::enter() const {
  const std::string_view token = node_->value.raw_json_token();
  const std::string& text = node_->document.text_;
  node_->place.offset = static_cast<std::size_t>(token.data() - text.data());
  std::size_t length =
      std::min(token.size(), node_->document.size_ - std::min(node_->place.offset, node_->document.size_));
  while (length > 1 && is_space(token[length - 1])) --length;
  node_->place.length = std::max<std::size_t>(length, 1);
  const std::optional<Kind> kind = length == 0 ? std::nullopt : kind_of(token[0]);
  // A null is never asked for its content, so it is checked here.
  const bool broken_null = kind == Kind::Null && token.substr(0, length) != "null";
  if (!kind || broken_null) syntax_error(broken_null ? simdjson::N_ATOM_ERROR : simdjson::TAPE_ERROR);
  node_->kind = *kind;
}

std::optional<std::string> Value::string() const {
  if (!expect(Kind::String, "a string")) return std::nullopt;
  std::string_view text;
  if (const auto code = node_->value.get_string().get(text)) syntax_error(code);
  return std::string(text);
}

std::optional<bool> Value::boolean() const {
  if (!expect(Kind::Bool, "true or false")) return std::nullopt;
  bool flag = false;
  if (const auto code = node_->value.get_bool().get(flag)) syntax_error(code);
  return flag;
}

std::optional<double> Value::number() const {
  if (!expect(Kind::Number, "a number")) return std::nullopt;
  double number = 0;
  const auto code = node_->value.get_double().get(number);
  if (code == simdjson::SUCCESS) return number;
  // simdjson reports a number beyond double's range like one that is malformed.
  error("is not a valid JSON number, or too large");
  return std::nullopt;
}

std::optional<std::string> Value::number_text() const {
  const std::size_t start = node_->place.offset;
  const std::size_t length = node_->place.length;
  if (!number()) return std::nullopt;
  return node_->document.text_.substr(start, length);
}

std::optional<std::int64_t> Value::integer(std::int64_t least, std::int64_t most) const {
  constexpr std::string_view kWhat = "a whole number";
  if (!expect(Kind::Number, kWhat)) return std::nullopt;
  const std::string_view token =
      std::string_view(node_->document.text_).substr(node_->place.offset, node_->place.length);
  if (token.find_first_of(".eE") != std::string_view::npos) {
    error(fmt::format("must be {}, written without fraction and exponent", kWhat));
    return std::nullopt;
  }
  std::int64_t number = 0;
  if (node_->value.get_int64().get(number) != simdjson::SUCCESS) {
    error(fmt::format("must be {} of at most 64 bits", kWhat));
    return std::nullopt;
  }
  if (number >= least && number <= most) return number;
  if (most == std::numeric_limits<std::int64_t>::max())
    error(fmt::format("must be at least {}", least));
  else
    error(fmt::format("must be between {} and {}", least, most));
  return std::nullopt;
}

bool Value::elements(const std::function<void(const Value&)>& visit) const {
  if (!expect(Kind::Array, "an array")) return false;
  ondemand::array array;
  if (const auto code = node_->value.get_array().get(array)) syntax_error(code);
  std::size_t index = 0;
  for (auto element : array) {
    Node node{node_->document, node_, {}, index, true, {}, Kind::Null, {}, {}};
    if (const auto code = std::move(element).get(node.value)) syntax_error(code);
    Value(node).enter();
    visit(Value(node));
    ++index;
  }
  return true;
}

bool Value::members(const std::function<void(std::string_view, const Value&)>& visit) const {
  if (!expect(Kind::Object, "an object")) return false;
  ondemand::object object;
  if (const auto code = node_->value.get_object().get(object)) syntax_error(code);
  for (auto member : object) {
    ondemand::field field;
    if (const auto code = std::move(member).get(field)) syntax_error(code);
    const std::string& text = node_->document.text_;
    const auto key_start = static_cast<std::size_t>(field.key().raw() - text.data());
    std::size_t key_end = key_start;
    while (text[key_end] != '"') key_end += text[key_end] == '\\' ? 2 : 1;
    std::string_view key;
    if (const auto code = field.unescaped_key().get(key)) syntax_error(code);
    Node node{
        node_->document, node_, key, 0, false, field.value(), Kind::Null, {}, {key_start - 1, key_end - key_start + 2}};
    Value(node).enter();
    visit(key, Value(node));
  }
  return true;
}

bool Value::fields(const std::vector<Field>& fields) const {
  std::vector<std::string> names;
  for (const Field& f : fields) names.push_back(f.key);
  std::vector<char> seen(fields.size(), 0);
  std::vector<std::string> misspelt;  // keys that an unknown key was probably meant to be
  const bool is_object = members([&](std::string_view key, const Value& value) {
    const auto i = static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
    const Place key_place = value.node_->key_place;
    if (i == names.size()) {
      const std::string nearest = nearest_name(key, names);
      node_->document.error(key_place, value.path(), "unknown key",
                            nearest.empty() ? known_keys(names) : fmt::format("did you mean \"{}\"?", nearest));
      misspelt.push_back(nearest);
    } else if (std::exchange(seen[i], 1) != 0) {
      node_->document.error(key_place, value.path(), "key appears twice");
    } else {
      fields[i].read(value);
    }
  });
  if (!is_object) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool explained = std::find(misspelt.begin(), misspelt.end(), names[i]) != misspelt.end();
    if (fields[i].required && seen[i] == 0 && !explained) error(fmt::format("key \"{}\" is missing", names[i]));
  }
  return true;
}

}  // namespace stretto::json
