// SPDX-License-Identifier: Apache-2.0
#include "app/import_text.hpp"

#include <fmt/format.h>

#include <vector>

#include "config/units_text.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

std::string import_notes(const io::ImportReport& report) {
  std::string out;
  const auto section = [&](const char* title, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out += fmt::format("{}: {}\n", title, escape_control(line));
  };
  section("read", report.read);
  section("dropped", report.dropped);
  section("guessed", report.guessed);
  section("repaired", report.repaired);
  return out;
}

std::string import_notes(const io::ImportResult& result) {
  return fmt::format("format: {}\n", result.format) + import_notes(result.report);
}

std::optional<std::int64_t> batch_option(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto batch = config::parse_integer(text);
  if (!batch.ok() || batch.value < 1)
    throw UserError(fmt::format("--batch: '{}' is not a number of samples", text), "valid: 1 or more");
  return batch.value;
}

}  // namespace stretto::app
