// SPDX-License-Identifier: Apache-2.0
#include "app/command_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "app/numbers.hpp"
#include "app/output.hpp"
#include "app/pick_sweep.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "experiment/run/attribution.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/run/manifest.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/run/step_view.hpp"
#include "experiment/spec/input_files.hpp"
#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "report/html.hpp"
#include "report/read_result.hpp"
#include "report/sweep_data.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/version.hpp"
#include "study/store.hpp"
#include "study/sweep.hpp"

namespace stretto::app {

namespace {

namespace fs = std::filesystem;

// Bars of all timelines of a report together: about 20 MB.
constexpr std::size_t kMostBarsInAll = 400'000;
constexpr std::size_t kMostBars = 10'000'000;  // that --bars takes

void warn(const std::string& message, const std::string& hint = "") {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.message = message;
  d.hint = hint;
  print_error(render(d));
}

// What needs the experiment: timelines, and the causes where they are asked for.
void add_simulated(const ReportOptions& options, const experiment::Experiment& experiment, report::Page& page) {
  const std::size_t each = whole_number("--bars", options.bars, 0, kMostBars);
  const std::size_t policies = experiment::with_baselines(experiment.points.front().spec.policies).size();
  if (each > 0) {
    ProgressLine progress(options.quiet);
    page.steps =
        experiment::step_views(experiment, *page.result, std::min(each, kMostBarsInAll / policies), std::ref(progress));
  } else {
    page.steps_note = "No timeline was asked for (--bars 0).";
  }
  if (options.attribute.empty()) return;
  ProgressLine progress(options.quiet);
  page.attribution = experiment::attribute(experiment, options.attribute, std::ref(progress));
}

void add_inputs(const std::vector<experiment::InputFile>& inputs, report::Page& page) {
  for (const experiment::InputFile& f : inputs) page.origin.inputs.emplace_back(f.path, f.sha256);
}

report::Page of_experiment(const ReportOptions& options) {
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.input, options.set, spec_options);
  print_error(render(experiment.warnings));
  keep_inputs("--out", options.out, experiment::input_files(experiment));
  report::Page page;
  {
    ProgressLine progress(options.quiet);
    experiment::RunOutput output = experiment::run(experiment, {}, std::ref(progress));
    page.result = std::move(output.result);
    add_inputs(experiment::hash_inputs(output.input_files), page);
  }
  page.origin.version = version();
  page.origin.commit = commit();
  page.origin.command = options.command;
  page.origin.configuration = experiment::effective_yaml(experiment);
  page.steps_note = "The first measured step of replication 0.";
  add_simulated(options, experiment, page);
  return page;
}

// Why the steps of a result cannot be simulated again; "" if they can.
std::string cannot_repeat(const experiment::Manifest& manifest, const std::string& json) {
  if (file::sha256_hex(json) != manifest.result_sha256) return "the manifest beside the result is that of another one";
  const std::vector<std::string> changed = experiment::changed_inputs(manifest);
  return changed.empty() ? "" : changed.front();
}

report::Page of_result(const ReportOptions& options) {
  std::error_code error;
  const fs::path given = options.input;
  const fs::path folder = fs::is_directory(given, error) ? given : given.parent_path();
  const fs::path result =
      fs::is_directory(given, error) || given.filename() == "manifest.json" ? folder / "result.json" : given;
  const fs::path manifest_path = folder / "manifest.json";
  keep_inputs("--out", options.out, {result.string(), manifest_path.string()});
  const std::string json = file::read(result.string());
  report::Page page;
  page.result = report::read_result(json, result.string());
  std::string why;
  if (!fs::is_regular_file(manifest_path, error)) {
    why = fmt::format("there is no {}", manifest_path.string());
  } else {
    const experiment::Manifest manifest =
        experiment::parse_manifest(file::read(manifest_path.string()), manifest_path.string());
    why = cannot_repeat(manifest, json);
    page.origin = {manifest.version, manifest.commit, manifest.command, manifest.configuration, {}};
    add_inputs(manifest.inputs, page);
    if (why.empty()) {
      experiment::Options spec_options;
      spec_options.shipped = shipped_configs();
      const experiment::Experiment experiment = experiment::read_experiment(
          manifest.configuration, "configuration in " + manifest_path.string(), {}, spec_options);
      page.steps_note = fmt::format(
          "The first measured step of replication 0, simulated again for this report by stretto {} (commit {}) from "
          "the manifest of the result.",
          version(), commit());
      add_simulated(options, experiment, page);
      return page;
    }
  }
  page.steps_note = fmt::format("No timeline: {}.", why);
  warn("the report has no timeline: " + escape_control(why),
       "`stretto report FILE.yaml` runs an experiment and shows its timelines");
  if (!options.attribute.empty()) throw UserError("--attribute: the experiment cannot be run again", why);
  return page;
}

report::Page of_store(const ReportOptions& options) {
  study::Store store(options.input, study::Store::Access::Read);
  const study::SweepInfo sweep = pick_sweep(store, "--sweep", options.sweep);
  report::Page page;
  page.sweep = report::sweep_json(store, sweep);
  const study::Program program = study::program_of(sweep);
  page.origin.version = program.version;
  page.origin.commit = program.commit;
  page.origin.configuration = sweep.configuration;
  add_inputs(study::inputs_of(sweep), page);
  return page;
}

bool is_store(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream stream(path, std::ios::binary);
  std::string head(15, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  return stream.good() && head == "SQLite format 3";
}

bool is_yaml(const fs::path& path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }

}  // namespace

int report_command(const ReportOptions& options) {
  const bool yaml = is_yaml(options.input);
  const bool store = !yaml && is_store(options.input);
  if (!yaml && !options.set.empty())
    throw UserError("--set changes an experiment, and this is a result", "give the experiment (FILE.yaml)");
  if (!store && !options.sweep.empty()) throw UserError("--sweep names a sweep of a results store, and this is none");
  if (store && !options.attribute.empty()) throw UserError("--attribute: a results store has no single step");
  check_target("--out", options.out, {options.input});
  const report::Page page = yaml ? of_experiment(options) : store ? of_store(options) : of_result(options);
  const std::string html = report::html(page);
  file::write_atomic(options.out, html);
  print(report::wrap(escape_control(fmt::format("Wrote {} ({:.1f} MB): open it in a browser.", options.out,
                                                static_cast<double>(html.size()) * 1e-6)),
                     100, 2));
  return 0;
}

}  // namespace stretto::app
