// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/file_part.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "experiment/run/manifest.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/spec/input_files.hpp"
#include "io/export/csv.hpp"
#include "io/export/schedule.hpp"
#include "io/export/step_trace.hpp"
#include "io/export/tictac.hpp"
#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "report/json.hpp"
#include "report/table.hpp"
#include "report/text.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"
#include "sim/base/version.hpp"

namespace stretto::app {

namespace {

// Names of files, each used once.
class FileNames {
 public:
  std::string unique(const std::string& base, const std::string& ending) {
    std::string name = base + ending;
    for (int n = 2; std::find(names_.begin(), names_.end(), name) != names_.end(); ++n)
      name = fmt::format("{}_{}{}", base, n, ending);
    names_.push_back(name);
    return name;
  }

 private:
  std::vector<std::string> names_;
};

// The critical path as one more process of the trace.
std::vector<io::Span> path_spans(const experiment::Timeline& t) {
  const Time origin = io::trace_origin(t.step.records);
  std::vector<io::Span> spans;
  for (const analysis::PathLink& link : t.step.path.links) {
    if (link.from < origin) continue;
    io::Span span{"critical path", "critical path", {}, Time() + (link.from - origin), Time() + (link.to - origin), {}};
    span.name = training::describe(t.step.compiled, *t.setup.graph, t.plan.layout, program::ActivityId(link.activity));
    for (std::size_t k = 0; k < analysis::kPathKinds; ++k)
      if (link.parts[k] > Duration())
        span.args.emplace_back(fmt::format("{}, us", analysis::path_words(static_cast<analysis::PathKind>(k))),
                               fmt::format("{:.6f}", link.parts[k].seconds() * 1e6));
    spans.push_back(std::move(span));
  }
  return spans;
}

std::string trace_of(const experiment::Timeline& t) {
  const graph::Graph& graph = *t.setup.graph;
  std::vector<io::Span> spans = io::step_spans(graph, t.setup.cluster, t.plan.layout, t.step.compiled, t.step.records);
  for (const std::vector<io::Span>& more :
       {io::server_spans(graph, t.setup.cluster, t.plan.layout, t.step.compiled, t.step.records), path_spans(t)})
    spans.insert(spans.end(), more.begin(), more.end());
  return io::write_chrome_trace(spans);
}

// An order file names whole parameters.
bool has_order_file(const plan::Plan& plan) {
  return !plan.order.pull.rank.empty() && plan.layout.transfers.size() + 1 == plan.layout.first.size();
}

plan::Schedule schedule_of(const experiment::Timeline& t, const analysis::RunResult& result) {
  const analysis::PolicyResult& r = result.results[t.result];
  plan::Schedule schedule;
  schedule.plan = t.plan;
  schedule.workload = t.setup.graph->name;
  schedule.found_by = fmt::format("policy {} of experiment {}, stretto {}", t.policy, result.name, version());
  const analysis::Estimate& e = r.step_time.estimate;
  schedule.prediction = plan::Prediction{e.mean, e.ci95_low, e.ci95_high, static_cast<std::uint64_t>(r.step_time.n),
                                         r.lower_bound_s.value};
  return schedule;
}

std::string steps_csv(const experiment::Experiment& experiment, const experiment::RunOutput& output) {
  std::vector<io::StepSeries> series;
  for (const experiment::Steps& s : output.steps)
    series.push_back({s.vary, s.policy, s.seconds, s.efficiencies, s.pull_orders});
  return io::write_steps_csv(series, experiment.points.front().spec.runs.warm_up);
}

// Files in `folder` that look like those of a run and are not among `written`, sorted.
std::vector<std::string> left_over(const std::string& folder, const std::vector<std::string>& written) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool ours = (name.starts_with("trace_") && name.ends_with(".json")) ||
                      (name.starts_with("schedule_") && name.ends_with(".json")) ||
                      (name.starts_with("order_") && name.ends_with(".txt"));
    if (ours && std::find(written.begin(), written.end(), name) == written.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Names of the files that it wrote.
std::vector<std::string> write_files(const RunOptions& options, const experiment::Experiment& experiment,
                                     const experiment::RunOutput& output, const std::string& json) {
  make_folder(options.out);
  std::vector<std::string> written;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = (std::filesystem::path(options.out) / name).string();
    keep_inputs("--out", path, output.input_files);
    file::write_atomic(path, text);
    written.push_back(name);
  };
  FileNames names;
  for (const experiment::Timeline& t : output.timelines) {
    const std::string part = file_part(t.policy);
    const graph::Graph& graph = *t.setup.graph;
    write(names.unique("trace_" + part, ".json"), trace_of(t));
    write(names.unique("schedule_" + part, ".json"), io::write_schedule(graph, schedule_of(t, output.result)));
    // Order files are of parameter servers.
    if (t.setup.training.exchange == training::Exchange::AllReduce || !has_order_file(t.plan)) continue;
    try {
      write(names.unique("order_" + part, ".txt"), io::write_tictac_order(graph, t.plan.layout, t.plan.order));
    } catch (const UserError& refused) {
      for (Diagnostic d : refused.diagnostics()) {
        d.severity = Severity::Warning;
        print_error(render(d));
      }
    }
  }
  write("steps.csv", steps_csv(experiment, output));
  write("result.json", json);
  experiment::Manifest manifest;
  manifest.version = version();
  manifest.commit = commit();
  manifest.command = options.command;
  manifest.seed = output.result.seed;
  manifest.configuration = experiment::effective_yaml(experiment);
  manifest.inputs = experiment::hash_inputs(output.input_files);
  manifest.result_sha256 = file::sha256_hex(json);
  write("manifest.json", experiment::write_manifest(manifest));
  const std::vector<std::string> left = left_over(options.out, written);
  if (left.empty()) return written;
  Diagnostic d;
  d.severity = Severity::Warning;
  d.message = fmt::format("'{}' also holds {} of another run: {}", options.out,
                          left.size() == 1 ? "a file" : fmt::format("{} files", left.size()), join(left));
  d.hint = "remove them, or write to a new directory";
  print_error(render(d));
  return written;
}

// What is read once only cannot be hashed for the manifest, nor be read again by whoever reproduces the run.
void refuse_pipes(const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const std::string& file : inputs)
    if (std::filesystem::is_fifo(file, error))
      throw UserError(fmt::format("--out: the manifest cannot name '{}', which is a pipe", file), "save it as a file");
}

}  // namespace

int run_command(const RunOptions& options) {
  check_output_format(options.format);
  std::vector<std::string> overrides = options.set;
  if (!options.seed.empty()) overrides.push_back("runs.seed=" + options.seed);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.file, overrides, spec_options);
  print_error(render(experiment.warnings));
  if (!options.out.empty()) {
    refuse_pipes(experiment::input_files(experiment));
    check_folder(options.out);
  }
  experiment::RunOptions run_options;
  run_options.details = !options.out.empty();
  experiment::RunOutput output;
  {
    ProgressLine progress(options.quiet);
    output = experiment::run(experiment, run_options, std::ref(progress));
  }
  const std::string json = report::json(output.result);
  std::string note;
  if (!options.out.empty()) {
    const std::vector<std::string> written = write_files(options, experiment, output, json);
    note = '\n' + report::wrap(escape_control(fmt::format("Wrote to {}: {}.", options.out, join(written))), 100, 2);
  }
  print(options.format == "json" ? json : report::text(output.result) + note);
  const auto& results = output.result.results;
  const bool stuck = std::any_of(results.begin(), results.end(),
                                 [](const analysis::PolicyResult& r) { return r.deadlock.has_value(); });
  return stuck ? 1 : 0;
}

}  // namespace stretto::app
