// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands.hpp"
#include "app/join.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/workload_text.hpp"
#include "experiment/spec.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/workload.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

std::string experiment_text(const experiment::Experiment& experiment) {
  const experiment::Spec& spec = experiment.points.front().spec;
  std::string out = escape_control(spec.name) + '\n';
  std::string policies;
  for (const experiment::PolicySpec& p : spec.policies) policies += (policies.empty() ? "" : ", ") + p.name;
  const auto row = [&](const char* name, const std::string& text) {
    out += fmt::format("  {:<12}{}\n", name, escape_control(text));
  };
  const experiment::WorkersSpec& workers = spec.cluster.workers;
  const experiment::ServersSpec& servers = spec.cluster.servers;
  const auto count = [](std::uint32_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  row("cluster",
      fmt::format("{} ({}), {}", count(workers.count, "worker"), workers.device.name, count(servers.count, "server")));
  row("training", fmt::format("{}, {}", spec.workload.mode == experiment::Mode::Training ? "training" : "inference",
                              experiment::training_text(spec)));
  row("policies", policies);
  row("steps", fmt::format("{} a replication, the first {} dropped", spec.runs.iterations, spec.runs.warm_up));
  row("repeated", fmt::format("{} to {} times", spec.runs.min_replications, spec.runs.max_replications));
  row("seed", fmt::format("{}", spec.runs.seed));
  for (const experiment::Axis& axis : experiment.axes) row("vary", fmt::format("{}: {}", axis.path, join(axis.values)));
  row("points", fmt::format("{}", experiment.points.size()));
  for (const std::string& file : experiment.files) row("file", file);
  return out + "\nworkload " + workload_text(io::read_workload(spec.workload.file));
}

}  // namespace

int show_command(const ShowOptions& options) {
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  std::string path = options.what;
  if (!std::filesystem::exists(path)) {
    const std::vector<std::string> models = experiment::shipped_models(spec_options);
    if (std::find(models.begin(), models.end(), path) != models.end()) {
      path = spec_options.shipped + "/workloads/" + path + ".workload.json";
    } else {
      const std::string near = nearest_name(path, models);
      throw UserError(
          fmt::format("'{}' is neither a file nor a shipped workload", path),
          near.empty() ? "`stretto list workloads` names the shipped ones" : fmt::format("did you mean '{}'?", near));
    }
  }
  const std::string text = file::read(path);
  const auto& importers = io::importers();
  const bool is_graph =
      std::any_of(importers.begin(), importers.end(), [&](const io::Importer& i) { return i.detect(text); });
  if (is_graph) {
    if (options.effective || !options.set.empty())
      throw UserError(fmt::format("'{}' is a workload; --effective and --set are for experiments", options.what));
    print(workload_text(io::import_text(text, path).graph));
    return 0;
  }
  const experiment::Experiment experiment = experiment::load_experiment(path, options.set, spec_options);
  print_error(render(experiment.warnings));
  print(options.effective ? experiment::effective_yaml(experiment) : experiment_text(experiment));
  return 0;
}

}  // namespace stretto::app
