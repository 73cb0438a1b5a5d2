// SPDX-License-Identifier: Apache-2.0
#include "app/import_text.hpp"

#include <fmt/format.h>

#include <vector>

#include "config/units_text.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

std::string import_notes(const io::ImportResult& result) {
  std::string out = fmt::format("format: {}\n", result.format);
  const auto section = [&](const char* title, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out += fmt::format("{}: {}\n", title, escape_control(line));
  };
  section("read", result.report.read);
  section("dropped", result.report.dropped);
  section("guessed", result.report.guessed);
  section("repaired", result.report.repaired);
  return out;
}

std::optional<std::int64_t> batch_option(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto batch = config::parse_integer(text);
  if (!batch.ok() || batch.value < 1)
    throw UserError(fmt::format("--batch: '{}' is not a number of samples", text), "valid: 1 or more");
  return batch.value;
}

}  // namespace stretto::app
