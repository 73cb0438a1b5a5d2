// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/file_part.hpp"
#include "app/import_text.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "app/workload_text.hpp"
#include "config/load.hpp"
#include "config/node.hpp"
#include "config/units_text.hpp"
#include "experiment/spec/spec.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/workload.hpp"
#include "models/device/roofline.hpp"
#include "models/generate/generator.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLongestFileName = 100;        // of a workload's name in a file name
constexpr std::size_t kLongestKey = 1000;            // YAML takes keys of up to 1024 characters
constexpr std::size_t kLargestPlacement = 2u << 20;  // bytes of YAML, of the 4 MiB that a file may have
constexpr std::int32_t kMostServers = 1024;

// What the experiment is about.
struct Subject {
  graph::Graph graph;
  std::string line;                  // of the section workload: "model: vgg_16", "file: PATH" or "generate:" and more
  std::string device;                // "cpu", "gpu" or "" as in io::ImportResult
  std::vector<std::string> guessed;  // by the importer
  bool all_reduced = false;          // how the traced job exchanged its gradients
};

// `path` as a file in `directory` says it.
std::string seen_from(const fs::path& directory, const fs::path& path) {
  std::error_code error;
  const fs::path base = directory.empty() ? fs::path(".") : directory;
  const fs::path relative = fs::relative(path, base, error);
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  return relative.empty() || relative.string().size() > absolute.string().size() ? absolute.string()
                                                                                 : relative.string();
}

// Lines of a comment.
std::string comment(const std::string& text, std::size_t indent = 0) {
  const std::string lead = std::string(indent, ' ') + "# ";
  std::string wrapped = report::wrap(escape_control(text), kWidth - lead.size());
  std::string out = lead;
  for (std::size_t i = 0; i < wrapped.size(); ++i) {
    out += wrapped[i];
    if (wrapped[i] == '\n' && i + 1 < wrapped.size()) out += lead;
  }
  return out;
}

// "key: value  # remark", the remarks of a file in one column.
std::string field(const std::string& indented, const std::string& remark) {
  return fmt::format("{:<34} # {}\n", indented, remark);
}

// The servers of the parameters, if all are known.
bool servers_known(const graph::Graph& graph) {
  std::size_t bytes = 0;
  std::set<std::int32_t> used;
  for (const graph::Parameter& p : graph.parameters) {
    if (p.server < 0 || p.server >= kMostServers || p.name.size() > kLongestKey) return false;
    bytes += config::quote_if_needed(p.name).size() + 20;
  }
  return !graph.parameters.empty() && graph.parameters.size() <= config::kMaxKeys && bytes <= kLargestPlacement;
}

std::string workload_section(const Subject& s, bool training) {
  std::string out = comment(
      "The model: one worker's step, its ops, variables and what they wait for. `stretto show` prints its figures.");
  for (const std::string& text : s.guessed) out += comment("Guessed by the import: " + text);
  out += "workload:\n  " + s.line + '\n';
  out += field(training ? "  mode: training" : "  mode: inference",
               training ? "or inference: pulls and forward pass only"
                        : "pulls and forward pass only; this workload has no gradients");
  if (const std::string left_out = left_out_text(s.graph); !left_out.empty())
    out += comment("Left out: " + left_out, 2);
  out += field(fmt::format("  # batch_per_worker: {}", s.graph.batch), "another batch scales the times of the ops");
  return out;
}

std::string device_line(const Subject& s, std::int64_t cores, const fs::path& directory, const std::string& configs) {
  if (device::lacks_times(s.graph))
    return comment("No op of this workload has a time: the device's peak rates give them. REPLACE by your device's.",
                   4) +
           fmt::format("    device: {{include: {}}}\n",
                       config::quote_if_needed(seen_from(directory, fs::path(configs) / "devices/k80_roofline.yaml")));
  if (cores > 0)
    return comment(
               "The profile is of a CPU. REPLACE cores: the threads for ops that the profiled process had "
               "(inter_op_parallelism_threads). speed is relative to the profiled device.",
               4) +
           fmt::format("    device: {{name: cpu, kind: cpu, cores: {}, speed: 1}}\n", cores);
  return comment(std::string(s.device == "gpu" ? "The profile is of a GPU" : "The profile is taken for one of a GPU") +
                     ": one op at a time. For a CPU: {name: cpu, kind: cpu, cores: 2}. speed is relative to the "
                     "profiled device.",
                 4) +
         "    device: {name: gpu, kind: gpu, speed: 1}\n";
}

std::string servers_section(const graph::Graph& graph) {
  const bool known = servers_known(graph);
  std::int32_t count = 1;
  if (known)
    for (const graph::Parameter& p : graph.parameters) count = std::max(count, p.server + 1);
  std::string out = "  servers:\n" + field(fmt::format("    count: {}", count),
                                           known ? "as traced" : "REPLACE: parameter servers, each on a host");
  out += field("    nic: 10 Gbit/s", "REPLACE");
  if (!known || count == 1)
    return out + comment("How variables are dealt to servers where there are several: `stretto list placements`.", 4) +
           "    placement: round_robin\n";
  out += comment(
      "Where the variables lay when they were traced. In their place, for any number of servers: round_robin, "
      "greedy, {partitioned: {size: 4 MiB}}.",
      4);
  out += "    placement:\n      by_name:\n";
  for (const graph::Parameter& p : graph.parameters)
    out += fmt::format("        {}: {}\n", config::quote_if_needed(p.name), p.server);
  return out;
}

std::string experiment_text(const Subject& s, const fs::path& file, std::int64_t cores) {
  const fs::path directory = file.parent_path();
  const std::string configs = shipped_configs();
  const bool training = std::any_of(s.graph.parameters.begin(), s.graph.parameters.end(),
                                    [](const graph::Parameter& p) { return p.gradient.valid(); });
  std::string out =
      comment("Written by `stretto init`; runs as it is: `stretto run " + file.filename().string() +
              "`. REPLACE marks what no profile can know. `stretto list fields` prints every field with its "
              "range and default.");
  out += "stretto: 1\n";
  out += fmt::format("name: {}\n\n", config::quote_if_needed(escape_control(file.stem().string())));
  out += workload_section(s, training);
  out += '\n' + comment(
                    "The machines. The included file says what the wire and the handling of messages cost; shipped: "
                    "ethernet_1g, ethernet_10g, ideal, local_tensorflow. What stands here is stronger.");
  out += fmt::format("cluster:\n  include: {}\n",
                     config::quote_if_needed(seen_from(directory, fs::path(configs) / "clusters/ethernet_10g.yaml")));
  out += "  workers:\n" + field("    count: 4", "REPLACE: machines that compute");
  out += field("    nic: 10 Gbit/s", "REPLACE");
  out += device_line(s, cores, directory, configs);
  out += servers_section(s.graph);
  out += field("  network: {latency: 0 us}", "REPLACE: one way, host to host");
  out += '\n' + comment("When a step ends. With a barrier all workers start the next one together.");
  if (s.all_reduced)
    out += comment(
        "The traced job exchanged its gradients by all-reduce; here parameter servers do. For all-reduce leave the "
        "section servers out and write training: {exchange: all_reduce} and policies: [fifo, mg_wfbp, dear].");
  out += "training: {synchronization: sync, barrier: true}\n";
  out += '\n' + comment(
                    "Orders of the transfers to compare: `stretto list policies`. random is what a parameter server "
                    "does when nobody orders.");
  out += "policies: [random, fifo, tic, tac]\n";
  out += '\n' + comment("What differs from step to step.");
  out += "noise:\n" + field("  compute_cv: 0 %", "REPLACE: spread of an op's times, standard deviation over mean");
  out += comment("A straggler: slow_workers: [{worker: 0, slowdown: 1.3}]", 2);
  out += '\n' + comment(
                    "How much is simulated: steps of one replication, of which warm_up are not measured; replications "
                    "end when the 95 % interval is within precision of the mean.");
  out += "runs:\n  iterations: 10\n  warm_up: 2\n  replications: {min: 5, max: 50, precision: 1 %}\n  seed: 1\n";
  out += '\n' + comment("What to vary: every combination is run. The servers' NICs are cluster.servers.nic.");
  out +=
      "# vary:\n#   cluster.workers.count: [1, 2, 4, 8]\n#   cluster.workers.nic: [1 Gbit/s, 10 Gbit/s, 25 Gbit/s]\n";
  return out;
}

void refuse_to_overwrite(const std::vector<std::string>& files) {
  std::vector<Diagnostic> found;
  for (const std::string& file : files) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(file, error))) continue;
    Diagnostic d;
    d.span.file = file;
    d.message = "the file exists";
    d.hint = "--force overwrites it, -o FILE names another";
    found.push_back(d);
  }
  if (!found.empty()) throw UserError(std::move(found));
}

std::int64_t cores_option(const std::string& text) {
  if (text.empty()) return 0;
  const auto cores = config::parse_integer(text);
  if (!cores.ok() || cores.value < 1 || cores.value > 1024)
    throw UserError(fmt::format("--cores: '{}' is not a number of threads", text), "valid: 1 to 1024");
  return cores.value;
}

// A generator with its defaults, and what else may be said.
Subject generated_subject(const generate::Generator& generator) {
  std::string lines = fmt::format("generate:\n    {}:\n", generator.name);
  for (const generate::Field& f : generator.fields) {
    const bool given = !f.fallback.empty();
    lines += comment(given ? std::string(f.help) : fmt::format("{}: {}", f.name, f.help), 6);
    if (given) lines += fmt::format("      {}: {}\n", f.name, generate::value_text(f, f.fallback));
  }
  lines.pop_back();
  return {generate::make(generator, generate::with_defaults(generator)).graph, std::move(lines), "", {}};
}

// A shipped workload, a generator or a workload file.
Subject named_subject(const std::string& what, const fs::path& directory) {
  experiment::Options options;
  options.shipped = shipped_configs();
  std::vector<std::string> models = experiment::shipped_models(options);
  if (fs::exists(what))
    return {io::read_workload(what), "file: " + config::quote_if_needed(seen_from(directory, what)), "", {}};
  if (std::find(models.begin(), models.end(), what) == models.end()) {
    if (const generate::Generator* generator = generate::find_generator(what)) return generated_subject(*generator);
    const std::vector<std::string> generators = generate::generator_names();
    models.insert(models.end(), generators.begin(), generators.end());
    throw UserError(fmt::format("'{}' is neither a workload file nor a shipped workload nor a generator", what),
                    name_hint(what, models));
  }
  return {io::read_workload(experiment::shipped_workload(options, what)),
          "model: " + config::quote_if_needed(what),
          "",
          {}};
}

}  // namespace

int init_command(const InitOptions& options) {
  if (options.import.empty() == options.workload.empty())
    throw UserError(
        options.import.empty() ? "nothing to start from" : "--import and --workload exclude each other",
        "--import FILE for a profile or trace, --workload NAME|FILE for a workload that there is or a generator");
  if (options.import.empty() &&
      !(options.graph.empty() && options.variables.empty() && options.name.empty() && options.batch.empty()))
    throw UserError("--graph, --variables, --name and --batch are for --import");
  std::int64_t cores = cores_option(options.cores);
  const fs::path directory = fs::path(options.out).parent_path();
  std::vector<std::string> files{options.out};
  std::string left_out;
  if (options.import.empty()) {
    const Subject subject = named_subject(options.workload, directory);
    if (!options.force) refuse_to_overwrite(files);
    keep_inputs("--out", options.out, {options.workload});
    left_out = left_out_text(subject.graph);
    file::write_atomic(options.out, experiment_text(subject, options.out, cores));
  } else {
    io::ImportOptions import;
    import.name = options.name;
    import.graph_path = options.graph;
    import.variables_path = options.variables;
    import.batch = batch_option(options.batch);
    io::ImportResult result = io::import_any(options.import, import);
    print_error(import_notes(result));
    if (cores == 0 && result.device == "cpu") cores = 1;
    const bool all_reduced = result.all_reduce && !result.graph.parameters.empty();
    const std::string leaf = file_part(result.graph.name).substr(0, kLongestFileName) + ".workload.json";
    files.insert(files.begin(), (directory / leaf).string());
    if (!options.force) refuse_to_overwrite(files);
    for (const std::string& file : files)
      keep_inputs("--out", file, {options.import, options.graph, options.variables});
    if (same_file(files.front(), options.out))
      throw UserError(fmt::format("--out: the workload is written to '{}'", files.front()), "name another file");
    file::write_atomic(files.front(), io::write_workload(result.graph));
    left_out = left_out_text(result.graph);
    const Subject subject{std::move(result.graph), "file: " + config::quote_if_needed(leaf), result.device,
                          result.report.guessed, all_reduced};
    file::write_atomic(options.out, experiment_text(subject, options.out, cores));
  }
  for (const std::string& file : files) print(fmt::format("wrote {}\n", escape_control(file)));
  if (!left_out.empty()) print(fmt::format("left out: {}\n", left_out));
  print(fmt::format("next: stretto run {}\n", escape_control(options.out)));
  return 0;
}

}  // namespace stretto::app
