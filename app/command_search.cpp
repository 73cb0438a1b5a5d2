// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "experiment/search/checkpoint.hpp"
#include "experiment/search/run.hpp"
#include "experiment/spec/input_files.hpp"
#include "io/export/schedule.hpp"
#include "io/file/file.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/version.hpp"

namespace stretto::app {

namespace {

constexpr std::size_t kWidth = 100;
constexpr double kCheckpointEvery = 2;  // seconds

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t least) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > 1'000'000'000'000)
    throw UserError(fmt::format("{}: '{}' is no number from {} to 10^12", option, text, least));
  return value;
}

double seconds_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(value > 0 && value <= 1e6))
    throw UserError(fmt::format("--seconds: '{}' is no number of seconds", text), "more than 0, at most 1e6");
  return value;
}

std::string milliseconds(double seconds) { return fmt::format("{:.4f} ms", 1e3 * seconds); }

std::string percent(double share) { return fmt::format("{:+.2f} %", 100 * share); }

std::string progress_text(const experiment::SearchProgress& p) {
  std::string text = p.best_s ? "best " + milliseconds(*p.best_s) : std::string("no plan yet");
  if (p.best_s && p.bound_s && *p.bound_s > 0)
    text += fmt::format(", bound {}, gap {:.2f} %", milliseconds(*p.bound_s), 100 * (*p.best_s / *p.bound_s - 1));
  return text + fmt::format(", {:.0f}/s", static_cast<double>(p.evaluations) / std::max(p.seconds, 1e-3));
}

std::string text_of(const experiment::SearchResult& r) {
  std::string out = report::wrap(escape_control(r.setup), kWidth) + "\n";
  report::Table table{{{"plan", report::Align::Left}, {"step"}, {"gain of the search over it"}}, {}};
  for (const experiment::SearchedPolicy& p : r.policies) {
    report::Cell gain{"-", ""};
    if (p.gain.estimate) {
      gain.text = percent(p.gain.estimate->mean);
      const double half = (p.gain.estimate->ci95_high - p.gain.estimate->ci95_low) / 2;
      if (half > 0) gain.tail = fmt::format(" ± {:.2f} %", 100 * half);
    }
    table.rows.push_back({{escape_control(p.policy), ""}, {p.step_s ? milliseconds(*p.step_s) : "deadlock", ""}, gain});
  }
  table.rows.push_back({{"search", ""}, {milliseconds(r.step_s), ""}, {"", ""}});
  if (r.bound_s.value) table.rows.push_back({{"lower bound", ""}, {milliseconds(*r.bound_s.value), ""}, {"", ""}});
  out += report::render(table, kWidth) + "\n";
  const auto line = [&](const std::string& text) { out += report::wrap(escape_control(text), kWidth, 2); };
  line(fmt::format("Found by: {}; layout: {}.", r.found_by, r.layout));
  for (const std::string& sentence : r.proven) line(sentence);
  std::string effort = fmt::format("{} evaluations in {:.1f} s", r.evaluations, r.seconds);
  if (r.reduced_ops < r.ops) effort += fmt::format(", on {} ops that behave as the model's {}", r.reduced_ops, r.ops);
  if (!r.reproducible) effort += "; ended by time, so that another run may find another plan";
  line(effort + ".");
  return out;
}

// What is to be written can be, and destroys nothing that is read.
void check_targets(const SearchOptions& options, const experiment::Experiment& experiment) {
  std::vector<std::string> inputs = experiment::input_files(experiment);
  if (!options.checkpoint.empty()) check_target("--checkpoint", options.checkpoint, inputs);
  if (options.out.empty()) return;
  if (!options.resume.empty()) inputs.push_back(options.resume);
  check_target("--out", options.out, inputs);
  if (!options.checkpoint.empty() && same_file(options.out, options.checkpoint))
    throw UserError(fmt::format("--out and --checkpoint both name '{}'", options.out), "name two files");
}

}  // namespace

int search_command(const SearchOptions& options) {
  check_output_format(options.format);
  if (!options.budget.empty() && !options.seconds.empty()) throw UserError("--budget and --seconds exclude each other");
  experiment::SearchRunOptions run;
  if (!options.budget.empty()) run.evaluations = whole_number("--budget", options.budget, 1);
  if (!options.seconds.empty()) run.seconds = seconds_of(options.seconds);
  std::vector<std::string> overrides = options.set;
  if (!options.seed.empty()) overrides.push_back("runs.seed=" + options.seed);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.file, overrides, spec_options);
  print_error(render(experiment.warnings));
  check_targets(options, experiment);
  run.seed = experiment.points.front().spec.runs.seed;
  run.threads = available_threads();
  const auto start = std::chrono::steady_clock::now();
  run.clock = [start] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const std::string key = experiment::search_key(experiment, run);
  if (!options.resume.empty()) run.resume = experiment::read_checkpoint(options.resume, key);
  double last_checkpoint = 0;
  std::string checkpoint;
  graph::Graph graph;
  experiment::SearchResult result;
  {
    ProgressLine line(options.quiet);
    run.progress = [&](const experiment::SearchProgress& p) {
      if (p.state != nullptr && !options.checkpoint.empty() &&
          (last_checkpoint == 0 || run.clock() - last_checkpoint > kCheckpointEvery)) {
        file::write_atomic(options.checkpoint, experiment::write_checkpoint(*p.state, key));
        last_checkpoint = run.clock();
      }
      try {
        line(p.evaluations, run.evaluations, progress_text(p));
      } catch (const Interrupted&) {
        if (p.state != nullptr && !options.checkpoint.empty())
          file::write_atomic(options.checkpoint, experiment::write_checkpoint(*p.state, key));
        return false;
      }
      return true;
    };
    result = experiment::search_plan(experiment, run, &graph);
  }
  if (!options.out.empty()) {
    plan::Schedule schedule;
    schedule.plan = result.plan;
    schedule.workload = result.workload;
    schedule.found_by =
        fmt::format("search ({}), {} evaluations, stretto {}", result.found_by, result.evaluations, version());
    schedule.prediction = plan::Prediction{result.step_s, result.ci95_low_s, result.ci95_high_s, result.replications,
                                           result.bound_s.value};
    file::write_atomic(options.out, io::write_schedule(graph, schedule));
  }
  print(options.format == "json" ? experiment::search_json(result) : text_of(result));
  if (result.stopped) print_error("interrupted; the best plan so far is kept\n");
  return 0;
}

}  // namespace stretto::app
