// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/workload_text.hpp"
#include "config/units_text.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/workload.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

std::string notes(const io::ImportResult& result) {
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

}  // namespace

int import_command(const ImportOptions& options) {
  io::ImportOptions import;
  import.format = options.format;
  import.name = options.name;
  import.source = options.source;
  import.graph_path = options.graph;
  if (!options.batch.empty()) {
    const auto batch = config::parse_integer(options.batch);
    if (!batch.ok() || batch.value < 1)
      throw UserError(fmt::format("--batch: '{}' is not a number of samples", options.batch), "valid: 1 or more");
    import.batch = batch.value;
  }
  const io::ImportResult result = io::import_any(options.file, import);
  if (options.summary) {
    print(notes(result) + '\n' + workload_text(result.graph));
    if (options.out.empty()) return 0;
  } else {
    print_error(notes(result));
  }
  const std::string text = io::write_workload(result.graph);
  if (options.out.empty())
    print(text);
  else
    file::write_atomic(options.out, text);
  return 0;
}

}  // namespace stretto::app
