// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec/sweep_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/units_text.hpp"
#include "experiment/spec/spec.hpp"
#include "sim/base/random.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr double kMaxValue = 9e18;  // below the end of int64

const std::vector<config::FieldRecord>& records() {
  static const std::vector<config::FieldRecord> kRecords = field_records();
  return kRecords;
}

const config::FieldRecord* record_of(std::string_view path) {
  for (const config::FieldRecord& r : records())
    if (r.path == path) return &r;
  for (const config::FieldRecord& r : records())
    if (r.shorthand == path && !r.shorthand.empty()) return &r;
  return nullptr;
}

bool is_whole_number(std::string_view text) { return config::parse_integer(text).ok(); }

double six_digits(double value) { return config::parse_number(fmt::format("{:.6g}", value)).value; }

std::string text_of(QuantityKind kind, double value) {
  if (kind == QuantityKind::Number || kind == QuantityKind::Fraction) return config::format_number(value);
  if (kind == QuantityKind::PerByte) return config::format_per_byte(value);
  const auto count = static_cast<std::int64_t>(std::llround(value));
  if (kind == QuantityKind::Duration) return config::format_duration(Duration::ps(count));
  if (kind == QuantityKind::Bytes) return config::format_bytes(Bytes(count));
  return config::format_bandwidth(Bandwidth(std::max<std::int64_t>(count, 1)));
}

double between(const ValueRange& r, double low, double high, double u) {
  return r.log ? low * std::pow(high / low, u) : low + u * (high - low);
}

bool word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// A path has a dot and begins with a letter, or is a known field; everything else is a value.
bool is_path(const std::string& operand) {
  if (record_of(operand) != nullptr) return true;
  return !operand.empty() && operand[0] > '9' && operand.find('.') != std::string::npos &&
         std::all_of(operand.begin(), operand.end(), [](char c) { return word_character(c) || c == '.'; });
}

[[noreturn]] void refuse(const Constraint& c, std::string message, std::string hint) {
  throw UserError({{Severity::Error, c.place.span(), "sweep.constraints", std::move(message), std::move(hint)}});
}

std::string value_of(const Constraint& c, const std::string& operand, const Node& root) {
  if (!is_path(operand)) return operand;
  const config::FieldRecord* record = record_of(operand);
  const Node* node = config::find_path(root, operand);
  if (node == nullptr && record != nullptr && !record->shorthand.empty())
    if (const Node* above = config::find_path(root, record->shorthand); above != nullptr && above->is_scalar())
      node = above;
  if (node != nullptr && node->is_scalar()) return node->text;
  if (node != nullptr && !node->is_null())
    refuse(c, fmt::format("{} is {} here, which is no single value", operand, config::describe(*node)),
           "name one field of it");
  if (record == nullptr) {
    std::vector<std::string> names;
    for (const config::FieldRecord& r : records()) names.push_back(r.path);
    const std::string near = nearest_name(operand, names);
    refuse(c, fmt::format("there is no field {}", operand),
           near.empty() ? "`stretto list fields` names the fields" : fmt::format("did you mean '{}'?", near));
  }
  if (record->fallback.empty()) refuse(c, fmt::format("{} has no value and no default", operand), "give it a value");
  return record->fallback;
}

bool compare(const std::string& op, double a, double b) {
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return (a == b) == (op == "==");
}

}  // namespace

Quantity parse_quantity(std::string_view text) {
  if (text == "unlimited") return {QuantityKind::Bandwidth, std::numeric_limits<double>::infinity()};
  if (const auto v = config::parse_integer(text); v.ok()) return {QuantityKind::Number, static_cast<double>(v.value)};
  if (const auto v = config::parse_number(text); v.ok()) return {QuantityKind::Number, v.value};
  if (const auto v = config::parse_fraction(text); v.ok()) return {QuantityKind::Fraction, v.value};
  if (const auto v = config::parse_duration(text); v.ok())
    return {QuantityKind::Duration, static_cast<double>(v.value.ps())};
  if (const auto v = config::parse_bytes(text); v.ok())
    return {QuantityKind::Bytes, static_cast<double>(v.value.count())};
  if (const auto v = config::parse_bandwidth(text); v.ok())
    return {QuantityKind::Bandwidth, static_cast<double>(v.value.bits_per_second())};
  if (const auto v = config::parse_per_byte(text); v.ok()) return {QuantityKind::PerByte, v.value};
  return {};
}

std::string grid_value(const ValueRange& range, double u) {
  if (u <= 0) return range.from;
  if (u >= 1) return range.to;
  const double value = between(range, range.low, range.high, u);
  if (range.whole) return fmt::format("{}", std::llround(six_digits(value)));
  return text_of(range.kind, six_digits(value));
}

std::string sample_value(const ValueRange& range, double u) {
  if (!range.whole) return text_of(range.kind, six_digits(between(range, range.low, range.high, u)));
  const double value = std::floor(six_digits(between(range, range.low, range.high + 1, u)));
  return fmt::format("{}", std::llround(std::clamp(value, range.low, range.high)));
}

std::optional<ValueRange> read_range(Reader& reader, const Node& node, const std::string& path,
                                     const std::string& key) {
  const std::string hint = "for example {from: 1 Gbit/s, to: 40 Gbit/s, scale: log}";
  const std::size_t before = reader.diagnostics().size();
  ValueRange range;
  const config::Entry* from = node.find("from");
  const config::Entry* to = node.find("to");
  if (from == nullptr || to == nullptr) {
    reader.error(node.place, key, "a range needs both from and to", hint);
    return std::nullopt;
  }
  const auto end = [&](const config::Entry& entry, std::string& text) {
    const std::string name = key + "." + entry.key;
    Quantity q;
    if (entry.value.is_scalar()) q = parse_quantity(text = entry.value.text);
    if (q.kind == QuantityKind::None)
      reader.error(entry.value.place, name, "expected a quantity, found " + config::describe(entry.value), hint);
    else if (!(q.value < kMaxValue && q.value >= 0))
      reader.error(entry.value.place, name, config::describe(entry.value) + " cannot be the end of a range",
                   "valid: 0 or more, and limited");
    return q;
  };
  const Quantity low = end(*from, range.from);
  const Quantity high = end(*to, range.to);
  if (const config::Entry* scale = node.find("scale"))
    if (const auto choice = reader.read_choice(scale->value, key + ".scale", {"linear", "log"}))
      range.log = *choice == 1;
  if (reader.diagnostics().size() > before) return std::nullopt;
  range.kind = low.kind;
  range.low = low.value;
  range.high = high.value;
  const config::FieldRecord* record = record_of(path);
  range.whole =
      is_whole_number(range.from) && is_whole_number(range.to) && (record == nullptr || record->type == "integer");
  if (low.kind != high.kind)
    reader.error(to->value.place, key + ".to", "from and to have different units", "give both in one unit");
  else if (range.low > range.high)
    reader.error(from->value.place, key + ".from", "from is more than to", "");
  else if (range.log && range.low <= 0)
    reader.error(from->value.place, key + ".from", "a range on a log scale cannot begin at 0", "begin above 0");
  else if (record != nullptr && record->type == "integer" && !range.whole)
    reader.error(node.place, key, "the field takes whole numbers", "give whole ends");
  else if (range.whole && range.high > 1e6 && range.high - range.low > 1e6)
    reader.error(node.place, key, "the range is too wide for whole numbers", "valid: at most 1000000 from end to end");
  if (reader.diagnostics().size() > before) return std::nullopt;
  return range;
}

Sampler::Sampler(SampleMethod method, std::uint64_t seed, const std::string& path, std::size_t n)
    : stream_(stream_key(seed, "sweep/" + path)) {
  if (method == SampleMethod::Random) return;
  RandomStream stream(seed, "sweep/strata/" + path);
  strata_ = random_permutation(n, stream);
}

double Sampler::at(std::size_t i) const {
  const double u = to_unit(hash_draw(stream_, i));
  if (strata_.empty()) return u;
  return (static_cast<double>(strata_[i]) + u) / static_cast<double>(strata_.size());
}

std::optional<Constraint> read_constraint(Reader& reader, const Node& node, const std::string& key) {
  const auto text = reader.read_text(node, key);
  if (!text) return std::nullopt;
  const std::size_t at = text->find_first_of("<>=!");
  Constraint c{*text, "", "", "", node.place};
  if (at != std::string::npos) {
    const bool two = at + 1 < text->size() && (*text)[at + 1] == '=';
    c.op = text->substr(at, two ? 2 : 1);
    c.left = trimmed(std::string_view(*text).substr(0, at));
    c.right = trimmed(std::string_view(*text).substr(at + c.op.size()));
  }
  const std::vector<std::string> ops{"<=", ">=", "<", ">", "==", "!="};
  if (std::find(ops.begin(), ops.end(), c.op) != ops.end() && !c.left.empty() && !c.right.empty() &&
      c.right.find_first_of("<>=!") == std::string::npos)
    return c;
  reader.error(node.place, key, fmt::format("'{}' is no comparison", *text),
               "for example cluster.servers.count <= cluster.workers.count; one of <= >= < > == != between two fields "
               "or values");
  return std::nullopt;
}

bool holds(const Constraint& c, const Node& root) {
  const std::string left = value_of(c, c.left, root);
  const std::string right = value_of(c, c.right, root);
  const Quantity a = parse_quantity(left);
  const Quantity b = parse_quantity(right);
  const auto plain = [](QuantityKind kind) { return kind == QuantityKind::Number || kind == QuantityKind::Fraction; };
  if (a.kind != QuantityKind::None && (a.kind == b.kind || (plain(a.kind) && plain(b.kind))))
    return compare(c.op, a.value, b.value);
  if (a.kind == b.kind && (c.op == "==" || c.op == "!=")) return (left == right) == (c.op == "==");
  refuse(c, fmt::format("'{}' cannot be compared with '{}'", left, right),
         a.kind == b.kind ? "names are only equal (==) or not (!=)" : "compare quantities of one kind");
}

}  // namespace stretto::experiment
