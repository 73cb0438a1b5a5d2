// SPDX-License-Identifier: Apache-2.0

#include <filesystem>

#include "analysis/stragglers.hpp"
#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/import_text.hpp"
#include "app/output.hpp"
#include "io/import/straggler_trace.hpp"
#include "report/stragglers.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

int stragglers_command(const StragglersOptions& options) {
  check_output_format(options.format);
  const io::StragglerTrace trace = io::read_straggler_trace(options.file);
  print_error(import_notes(trace.report));
  analysis::Stragglers result;
  try {
    result = analysis::stragglers(trace.timeline);
  } catch (const UserError& e) {  // which knows the timeline, not its file
    std::vector<Diagnostic> found = e.diagnostics();
    for (Diagnostic& d : found)
      if (d.span.file.empty()) d.span.file = options.file;
    throw UserError(std::move(found));
  }
  const std::string name = std::filesystem::path(options.file).filename().string();
  print(options.format == "json" ? report::stragglers_json(result, name) : report::stragglers_text(result, name));
  return 0;
}

}  // namespace stretto::app
