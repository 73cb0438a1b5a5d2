// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/setup/order_options.hpp"
#include "experiment/spec/spec.hpp"
#include "io/import/import.hpp"
#include "models/generate/generator.hpp"
#include "models/placement/placement.hpp"
#include "report/table.hpp"
#include "schedulers/policies/registry.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"

namespace stretto::app {

namespace {

constexpr std::size_t kWidth = 100;

// "name  help", the help wrapped under itself.
std::string entry(std::string_view name, std::size_t name_width, std::string_view help) {
  const std::string head = fmt::format("{:<{}}  ", name, name_width);
  std::string wrapped = report::wrap(help, kWidth - head.size(), 0);
  for (std::size_t at = wrapped.find('\n'); at + 1 < wrapped.size(); at = wrapped.find('\n', at + 1))
    wrapped.insert(at + 1, head.size(), ' ');
  return head + wrapped;
}

template <class Range, class Help>
std::string entries(const Range& rows, const Help& help) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.name.size());
  std::string out;
  for (const auto& row : rows) out += entry(row.name, width, help(row));
  return out;
}

// Options that the ranking policies share.
std::string shared_options_text() {
  std::string out =
      "\nOptions of every policy that ranks transfers ({tac: {window: 2}}); random, recorded and wfbp take "
      "partition:\n";
  std::size_t width = 0;
  for (const config::FieldRecord& r : experiment::order_option_records()) width = std::max(width, r.path.size());
  for (const config::FieldRecord& r : experiment::order_option_records()) {
    std::string help = r.help + "; " + r.type;
    if (!r.range.empty()) help += ", " + r.range;
    if (!r.fallback.empty()) help += "; default: " + r.fallback;
    out += entry(r.path, width, help);
  }
  return out;
}

std::string values_of(const policies::PolicyOption& o) {
  switch (o.kind) {
    case policies::OptionKind::Count:
      return fmt::format(" (integer, {} to {})", o.low, o.high);
    case policies::OptionKind::Duration:
      return " (duration, 0 to 1 hour)";
    case policies::OptionKind::Text:
      break;
  }
  return o.values.empty() ? "" : fmt::format(" (one of {})", o.values);
}

std::string policies_text() {
  return entries(policies::policies(),
                 [](const policies::Policy& p) {
                   std::string help(p.help);
                   for (const policies::PolicyOption& o : p.options)
                     help += fmt::format("; option {}{}: {}", o.name, values_of(o), o.help);
                   for (const auto& [name, text] : p.defaults) help += fmt::format("; default {}: {}", name, text);
                   return help;
                 }) +
         shared_options_text();
}

std::string placements_text() {
  return entries(placement::placements(), [](const placement::Placement& p) {
    return p.options.empty() ? std::string(p.help) : fmt::format("{}; options: {}", p.help, p.options);
  });
}

std::string formats_text() {
  return entries(io::importers(), [](const io::Importer& i) { return std::string(i.help); });
}

std::string topologies_text() {
  for (const config::FieldRecord& f : experiment::field_records())
    if (f.path == "cluster.network.topology")
      return report::wrap(fmt::format("{}: {}", f.type, f.help), kWidth, 4) + "\n";
  return "";
}

std::string fields_text() {
  std::string out;
  for (const config::FieldRecord& f : experiment::field_records()) {
    std::string line = f.type;
    if (!f.range.empty()) line += ", " + f.range;
    if (!f.fallback.empty()) line += ", default " + f.fallback;
    if (!f.shorthand.empty()) line += ", or as " + f.shorthand;
    out +=
        fmt::format("{}\n    {}    {}", f.path, report::wrap(line, kWidth - 4, 4), report::wrap(f.help, kWidth - 4, 4));
  }
  return out;
}

std::string workloads_text() {
  experiment::Options options;
  options.shipped = shipped_configs();
  std::string out;
  for (const std::string& name : experiment::shipped_models(options)) out += name + '\n';
  return out;
}

// Each generator with the rows of its fields.
std::string generators_text() {
  std::string out;
  for (const generate::Generator& generator : generate::generators()) {
    if (!out.empty()) out += '\n';
    out += entry(generator.name, generator.name.size(), generator.help);
    std::size_t width = 0;
    for (const generate::Field& field : generator.fields) width = std::max(width, field.name.size());
    const std::string path = fmt::format("workload.generate.{}.", generator.name);
    for (const config::FieldRecord& r : experiment::field_records())
      if (r.path.starts_with(path))
        out += entry(fmt::format("  {}", r.path.substr(path.size())), width + 2,
                     fmt::format("{}{}{}: {}", r.type, r.range.empty() ? "" : ", ", r.range, r.help));
  }
  return out;
}

struct Subject {
  std::string name;
  std::string (*text)();
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> table{{"policies", policies_text},     {"placements", placements_text},
                                          {"topologies", topologies_text}, {"fields", fields_text},
                                          {"workloads", workloads_text},   {"generators", generators_text},
                                          {"formats", formats_text}};
  return table;
}

}  // namespace

const std::vector<std::string>& list_subjects() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Subject& s : subjects()) all.push_back(s.name);
    return all;
  }();
  return names;
}

int list_command(const ListOptions& options) {
  for (const Subject& s : subjects()) {
    if (s.name != options.what) continue;
    print(s.text());
    return 0;
  }
  const std::string near = nearest_name(options.what, list_subjects());
  throw UserError(
      fmt::format("nothing to list under '{}'", options.what),
      near.empty() ? fmt::format("valid: {}", join(list_subjects())) : fmt::format("did you mean '{}'?", near));
}

}  // namespace stretto::app
