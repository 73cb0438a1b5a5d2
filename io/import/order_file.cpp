// SPDX-License-Identifier: Apache-2.0
#include "io/import/order_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "io/file/file.hpp"
#include "io/json/reader.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kLongestShown = 4096;
constexpr std::uint32_t kLargestPriority = 2'000'000'000;

std::string read_limited(const std::string& path) {
  file::Limits limits;
  limits.max_bytes = std::size_t{64} << 20;
  return file::read(path, limits);
}

Span span_in(const std::string& path, int line, std::string_view text, std::size_t column, std::size_t length) {
  Span span{path, line, static_cast<int>(column) + 1, static_cast<int>(std::max<std::size_t>(length, 1)), ""};
  if (text.size() <= kLongestShown) span.text = text;
  return span;
}

}  // namespace

plan::NamedOrder parse_order_file(std::string_view text, const std::string& path) {
  plan::NamedOrder order;
  std::vector<Diagnostic> wrong;
  int number = 0;
  while (!text.empty() && wrong.size() < kMostErrors) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const auto fail = [&](std::size_t column, std::size_t length, std::string message) {
      wrong.push_back({Severity::Error, span_in(path, number, line, column, length), "", std::move(message),
                       "a line says NAME, a tab and a priority: fc6/weights<TAB>3"});
    };
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos) {
      fail(0, line.size(), "no tab between name and priority");
      continue;
    }
    const std::string_view name = line.substr(0, tab);
    const std::string_view digits = line.substr(tab + 1);
    std::uint32_t priority = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), priority);
    if (name.empty())
      fail(0, 1, "there is no name");
    else if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size() ||
             priority > kLargestPriority)
      fail(tab + 1, digits.size(),
           fmt::format("'{}' is no priority, a whole number from 0 to {}", digits, kLargestPriority));
    else
      order.push_back({std::string(name), priority, span_in(path, number, line, 0, name.size())});
  }
  if (wrong.empty() && order.empty())
    wrong.push_back({Severity::Error, {path, 0, 0, 1, ""}, "", "the file ranks nothing", ""});
  if (!wrong.empty()) throw UserError(std::move(wrong));
  return order;
}

plan::NamedOrder read_order_file(const std::string& path) { return parse_order_file(read_limited(path), path); }

std::vector<plan::NamedOrder> parse_arrivals(const std::string& text, const std::string& path) {
  std::vector<plan::NamedOrder> orders;
  json::Document document(text, path);
  // Names come in the order of the text, so that lines are counted once. The line itself is not kept with each name.
  int line = 1;
  std::size_t line_start = 0;
  std::size_t counted = 0;
  const auto span_of = [&](const json::Place& place) {
    for (; counted < place.offset; ++counted)
      if (text[counted] == '\n') {
        ++line;
        line_start = counted + 1;
      }
    return Span{path, line, static_cast<int>(place.offset - line_start) + 1, static_cast<int>(place.length), ""};
  };
  const auto read_order = [&](const json::Value& list) {
    plan::NamedOrder& order = orders.emplace_back();
    list.elements([&](const json::Value& element) {
      const json::Place place = element.place();
      if (auto name = element.string())
        order.push_back({std::move(*name), static_cast<std::uint32_t>(order.size()), span_of(place)});
    });
    if (order.empty()) list.error("an order of nothing");
  };
  document.read([&](const json::Value& root) {
    root.fields({
        {"format", true,
         [](const json::Value& v) {
           const auto format = v.string();
           if (format && *format != kArrivalsFormat) v.fatal(fmt::format("must be \"{}\"", kArrivalsFormat));
         }},
        {"version", true,
         [](const json::Value& v) {
           const auto version = v.integer(1);
           if (version && *version > kArrivalsVersion)
             v.fatal(
                 fmt::format("version {} is newer than this program, which reads up to {}", *version, kArrivalsVersion),
                 "use a newer stretto");
         }},
        {"orders", true,
         [&](const json::Value& v) {
           v.elements(read_order);
           if (orders.empty()) v.error("there is no order to draw from");
         }},
    });
  });
  return orders;
}

std::vector<plan::NamedOrder> read_arrivals(const std::string& path) {
  return parse_arrivals(read_limited(path), path);
}

}  // namespace stretto::io
