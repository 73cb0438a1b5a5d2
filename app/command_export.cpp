// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/input_files.hpp"
#include "io/export/exporters.hpp"
#include "io/export/step_trace.hpp"
#include "io/file/file.hpp"
#include "io/import/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"

namespace stretto::app {

namespace {

// The schedule held against its experiment.
struct Fitted {
  experiment::Spec spec;
  experiment::Setup setup;
  plan::Schedule schedule;
};

Fitted fit(const ExportOptions& options, const std::string& text) {
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  experiment::Experiment experiment = experiment::load_experiment(options.experiment, options.set, spec_options);
  print_error(render(experiment.warnings));
  keep_inputs("--out", options.out, experiment::input_files(experiment));
  experiment::Workloads workloads;
  Fitted fitted{std::move(experiment.points.front().spec), {}, {}};
  fitted.setup = experiment::make_setup(fitted.spec, workloads);
  fitted.schedule = io::parse_schedule(text, options.schedule, *fitted.setup.graph,
                                       {static_cast<std::uint32_t>(fitted.setup.cluster.servers.size()),
                                        static_cast<std::uint32_t>(fitted.setup.cluster.workers.size())});
  return fitted;
}

std::string trace(const Fitted& f) {
  experiment::SimulateOptions simulation;
  simulation.iterations = f.spec.runs.iterations;
  simulation.warm_up = f.spec.runs.warm_up;
  simulation.seed = f.spec.runs.seed;
  experiment::check_size(f.setup, f.schedule.plan.layout);
  const experiment::StepRecords step = experiment::record_step(f.setup, f.schedule.plan, simulation);
  if (step.records.empty()) throw UserError("the step cannot be drawn, since it never ends", "`stretto run` says why");
  const plan::Layout& layout = f.schedule.plan.layout;
  std::vector<io::Span> spans = io::step_spans(*f.setup.graph, f.setup.cluster, layout, step.compiled, step.records);
  const std::vector<io::Span> servers =
      io::server_spans(*f.setup.graph, f.setup.cluster, layout, step.compiled, step.records);
  spans.insert(spans.end(), servers.begin(), servers.end());
  return io::write_chrome_trace(spans);
}

}  // namespace

int export_command(const ExportOptions& options) {
  if (options.to.empty()) {
    std::vector<std::string> names;
    for (const io::Exporter& e : io::exporters()) names.emplace_back(e.name);
    throw UserError("--to is missing", "valid: " + join(names));
  }
  const io::Exporter& exporter = io::find_exporter(options.to);
  if (exporter.write == nullptr && options.experiment.empty())
    throw UserError(fmt::format("--to {} needs --experiment", options.to), "the step is simulated for it");
  if (!exporter.servers && options.experiment.empty())
    throw UserError(fmt::format("--to {} needs --experiment", options.to), "schedules for all-reduce are read with it");
  keep_inputs("--out", options.out, {options.schedule});
  const std::string text = io::read_schedule_text(options.schedule);
  io::Exported exported;
  if (options.experiment.empty()) {
    const io::ScheduleAlone alone = io::parse_schedule_alone(text, options.schedule);
    exported = exporter.write(alone.schedule, alone.parameters);
  } else {
    const Fitted fitted = fit(options, text);
    if (!exporter.all_reduce && !fitted.schedule.plan.layout.bucket.empty())
      throw UserError(
          fmt::format("--to {} knows parameter servers only, and the schedule is for all-reduce", options.to),
          "--to order, csv, bytescheduler, dpro_groups or perfetto");
    if (!exporter.servers && fitted.schedule.plan.layout.bucket.empty())
      throw UserError(
          fmt::format("--to {} knows all-reduce only, and the schedule is for parameter servers", options.to),
          "--to dpro, which has a partition of each variable");
    if (exporter.write != nullptr)
      exported = exporter.write(fitted.schedule, *fitted.setup.graph);
    else
      exported.text = trace(fitted);
  }
  if (options.out.empty())
    print(exported.text);
  else
    file::write_atomic(options.out, exported.text);
  for (const std::string& lost : exported.lost)
    print_error(fmt::format("{} leaves out {}\n", options.to, escape_control(lost)));
  return 0;
}

}  // namespace stretto::app
