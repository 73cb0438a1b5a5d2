// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/words.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/workload_text.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/setup/placement_loads.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/spec/spec.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "models/generate/generator.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"

namespace stretto::app {

namespace {

// Bytes on every server under each placement, as many columns as can be read.
std::string placements_text(const experiment::Experiment& experiment) {
  constexpr std::size_t kMostServers = 16;
  const experiment::Spec& spec = experiment.points.front().spec;
  experiment::Workloads workloads;
  const experiment::Setup setup = experiment::make_setup(spec, workloads);
  const std::size_t servers = setup.cluster.servers.size();
  report::Table table{{{"placement", report::Align::Left}, {"slices"}, {"most / mean"}}, {}};
  if (servers > kMostServers)
    for (const char* header : {"least", "most"}) table.columns.push_back({header});
  else
    for (const cluster::Server& server : setup.cluster.servers) table.columns.push_back({server.name});
  std::string reasons;
  const auto bytes = [](std::int64_t n) { return report::Cell{analysis::bytes_text(static_cast<double>(n)), ""}; };
  for (const experiment::PlacementLoads& loads : experiment::placement_loads(setup)) {
    if (loads.servers.empty()) {
      reasons += report::wrap(fmt::format("{}: {}", loads.placement, loads.reason), 100, 2);
      continue;
    }
    const auto less = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
    const auto [least, most] = std::minmax_element(loads.servers.begin(), loads.servers.end(), less);
    std::int64_t slices = 0;
    double all = 0;
    for (const analysis::ServerLoad& s : loads.servers) {
      slices += s.transfers;
      all += static_cast<double>(s.bytes);
    }
    const double mean = all / static_cast<double>(servers);
    std::vector<report::Cell> row{{std::string(loads.placement), ""},
                                  {fmt::format("{}", slices), ""},
                                  {mean > 0 ? fmt::format("{:.2f}", static_cast<double>(most->bytes) / mean) : "", ""}};
    if (servers > kMostServers) {
      row.push_back(bytes(least->bytes));
      row.push_back(bytes(most->bytes));
    } else {
      for (const analysis::ServerLoad& s : loads.servers) row.push_back(bytes(s.bytes));
    }
    table.rows.push_back(std::move(row));
  }
  return "\nbytes of variables on the servers, by placement\n" + report::render(table, 100) + reasons;
}

std::string experiment_text(const experiment::Experiment& experiment) {
  const experiment::Spec& spec = experiment.points.front().spec;
  std::string out = escape_control(spec.name) + '\n';
  std::string policies;
  for (const experiment::PolicySpec& p : spec.policies)
    policies += (policies.empty() ? "" : ", ") + experiment::label(p);
  const auto row = [&](const char* name, const std::string& text) {
    out += fmt::format("  {:<12}{}\n", name, escape_control(text));
  };
  const experiment::WorkersSpec& workers = spec.cluster.workers;
  const experiment::ServersSpec& servers = spec.cluster.servers;
  const auto count = [](std::uint32_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  const bool all_reduce = spec.training.exchange == experiment::Exchange::AllReduce;
  row("cluster", fmt::format("{} ({}), {}", count(workers.count, "worker"), workers.device.name,
                             all_reduce ? exchange_text(spec) : count(servers.count, "server")));
  row("training", fmt::format("{}, {}", spec.workload.mode == experiment::Mode::Training ? "training" : "inference",
                              experiment::training_text(spec)));
  row("policies", policies);
  row("steps", fmt::format("{} a replication, the first {} dropped", spec.runs.iterations, spec.runs.warm_up));
  row("repeated", fmt::format("{} to {} times", spec.runs.min_replications, spec.runs.max_replications));
  row("seed", fmt::format("{}", spec.runs.seed));
  for (const experiment::Axis& axis : experiment.axes) row("vary", fmt::format("{}: {}", axis.path, join(axis.values)));
  row("points", fmt::format("{}", experiment.points.size()));
  for (const std::string& file : experiment.files) row("file", file);
  experiment::Workloads workloads;
  return out + "\nworkload " + workload_text(*workloads.get(spec.workload).graph);
}

[[noreturn]] void refuse_options(const std::string& what) {
  throw UserError(fmt::format("'{}' is a workload; --effective and --set are for experiments", what));
}

}  // namespace

int show_command(const ShowOptions& options) {
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  std::string path = options.what;
  if (!std::filesystem::exists(path)) {
    std::vector<std::string> models = experiment::shipped_models(spec_options);
    if (std::find(models.begin(), models.end(), path) != models.end()) {
      path = experiment::shipped_workload(spec_options, path);
    } else if (const generate::Generator* generator = generate::find_generator(path)) {
      if (options.effective || !options.set.empty()) refuse_options(options.what);
      print(workload_text(generate::make(*generator, generate::with_defaults(*generator)).graph));
      return 0;
    } else {
      const std::vector<std::string> generators = generate::generator_names();
      models.insert(models.end(), generators.begin(), generators.end());
      const std::string near = nearest_name(path, models);
      throw UserError(fmt::format("'{}' is neither a file nor a shipped workload nor a generator", path),
                      near.empty() ? "`stretto list workloads` and `stretto list generators` name them"
                                   : fmt::format("did you mean '{}'?", near));
    }
  }
  const std::string text = file::read(path);
  const auto& importers = io::importers();
  const bool is_graph =
      std::any_of(importers.begin(), importers.end(), [&](const io::Importer& i) { return i.detect(text); });
  if (is_graph) {
    if (options.effective || !options.set.empty()) refuse_options(options.what);
    print(workload_text(io::import_text(text, path).graph));
    return 0;
  }
  const experiment::Experiment experiment = experiment::load_experiment(path, options.set, spec_options);
  print_error(render(experiment.warnings));
  print(options.effective ? experiment::effective_yaml(experiment)
                          : experiment_text(experiment) + placements_text(experiment));
  return 0;
}

}  // namespace stretto::app
