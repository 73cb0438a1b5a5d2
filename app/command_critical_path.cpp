// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "analysis/trace_path.hpp"
#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/import_text.hpp"
#include "app/output.hpp"
#include "config/units_text.hpp"
#include "io/import/kineto_calls.hpp"
#include "report/trace_path.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

// The n-th annotation whose name begins with `name`.
const timeline::Annotation& find_annotation(const timeline::HostDevice& trace, const std::string& name, std::int64_t n,
                                            const std::string& file) {
  std::int64_t found = 0;
  std::vector<std::string> names;
  for (const timeline::Annotation& a : trace.annotations) {
    names.push_back(trace.names[a.name]);
    if (names.back().starts_with(name) && found++ == n) return a;
  }
  Diagnostic d;
  d.span.file = file;
  if (found > 0) {
    d.message = fmt::format("there are {} spans whose name begins with \"{}\"", found, escape_control(name));
    d.hint = fmt::format("valid: --instance 0 to {}", found - 1);
  } else {
    d.message = fmt::format("no span's name begins with \"{}\"", escape_control(name));
    d.hint = name_hint(name, names);
  }
  throw UserError({d});
}

}  // namespace

int critical_path_command(const CriticalPathOptions& options) {
  check_output_format(options.format);
  if (options.annotation.empty() && !options.instance.empty())
    throw UserError("--instance is for --annotation", "name the span too");
  std::int64_t instance = 0;
  if (!options.instance.empty()) {
    const auto number = config::parse_integer(options.instance);
    if (!number.ok() || number.value < 0)
      throw UserError(fmt::format("--instance: '{}' is no number of 0 or more", options.instance));
    instance = number.value;
  }
  io::ImportReport report;
  const timeline::HostDevice trace = io::read_kineto_calls_file(options.file, report);
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  if (!options.annotation.empty()) {
    const timeline::Annotation& span = find_annotation(trace, options.annotation, instance, options.file);
    from = span.start_ns;
    to = span.end_ns;
    report.read.push_back(fmt::format("the span \"{}\"", trace.names[span.name]));
  }
  print_error(import_notes(report));
  const analysis::TracePath path = analysis::trace_path(trace, from, to);
  const std::string name = std::filesystem::path(options.file).filename().string();
  print(options.format == "json" ? report::trace_path_json(path, trace, name)
                                 : report::trace_path_text(path, trace, name));
  return 0;
}

}  // namespace stretto::app
