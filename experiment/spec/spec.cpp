// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <tuple>

#include "experiment/spec/axes.hpp"
#include "experiment/spec/fields.hpp"
#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::array<std::string_view, 2> kWorkloadSuffixes = {".workload.json", ".workload.json.gz"};

// True where no finding is about one of the fields, so that a rule between them says something new.
bool clean(Reader& reader, const std::vector<std::string>& keys) {
  return std::none_of(reader.diagnostics().begin(), reader.diagnostics().end(), [&](const Diagnostic& d) {
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& k) {
      return d.key == k || k.starts_with(d.key + ".") || d.key.starts_with(k + ".");
    });
  });
}

void check_workload(Reader& reader, const Node& root, const Options& options, Spec& s) {
  std::vector<std::string> given;
  for (const char* name : {"model", "file", "generate"})
    if (config::find_path(root, std::string("workload.") + name)) given.emplace_back(name);
  if (!clean(reader, {"workload"})) return;
  if (given.empty())
    return reader.error(place_of(root, "workload"), "workload", "there is no workload",
                        "say model: NAME of a shipped workload, file: PATH, or generate: {transformer: {layers: 12}}");
  if (given.size() > 1) {
    const std::string key = "workload." + given[1];
    return reader.error(place_of(root, key), key, fmt::format("both {} and {} are given", given[0], given[1]),
                        "leave one of them out");
  }
  if (given[0] == "generate") return check_generate(reader, root, s.workload);
  if (given[0] == "model") {
    const std::vector<std::string> names = shipped_models(options);
    if (std::find(names.begin(), names.end(), s.workload.model) == names.end()) {
      const std::string guess = nearest_name(s.workload.model, names);
      std::string hint = guess.empty() ? "shipped:" : fmt::format("did you mean '{}'? shipped:", guess);
      for (const std::string& name : names) hint += " " + name;
      if (names.empty()) hint = fmt::format("no workload is shipped in '{}'", options.shipped);
      return reader.error(s.workload.place, "workload.model", fmt::format("unknown model '{}'", s.workload.model),
                          std::move(hint));
    }
    s.workload.file = shipped_workload(options, s.workload.model);
    return;
  }
  std::error_code code;
  if (!std::filesystem::is_regular_file(s.workload.file, code))
    reader.error(s.workload.place, "workload.file", fmt::format("no such file: '{}'", s.workload.file));
}

void check_nic(Reader& reader, const Node& root, const std::string& path) {
  const config::Entry* nic = config::find_entry(root, path);
  if (!nic || !nic->value.is_map()) return;
  for (const char* direction : {"up", "down"})
    if (!nic->value.find(direction))
      reader.error(nic->place, path, fmt::format("'{}' is missing", direction),
                   "give up and down, or one rate for both");
}

void check_cluster(Reader& reader, const Node& root, const Spec& s) {
  check_nic(reader, root, "cluster.workers.nic");
  check_nic(reader, root, "cluster.servers.nic");
  const DeviceSpec& device = s.cluster.workers.device;
  if (device.peak_gflops.has_value() != device.memory_gbytes.has_value() &&
      clean(reader, {"cluster.workers.device.peak_gflops", "cluster.workers.device.memory_gbytes"}))
    reader.error(
        place_of(root, std::string("cluster.workers.device.") + (device.peak_gflops ? "peak_gflops" : "memory_gbytes")),
        "cluster.workers.device", "peak_gflops and memory_gbytes go together", "give both or none");
  const std::string cores = "cluster.workers.device.cores";
  if (s.cluster.workers.device.kind == DeviceKind::Gpu && config::find_path(root, cores) &&
      clean(reader, {"cluster.workers.device.kind"}))
    reader.error(place_of(root, cores), cores, "a gpu has no cores", "say kind: cpu, or leave cores out");
  check_device(reader, root, device);
  const NetworkSpec& network = s.cluster.network;
  if (network.chunk.count() > 0 && network.model == cluster::LinkModel::Fluid &&
      clean(reader, {"cluster.network.model"}))
    reader.error(place_of(root, "cluster.network.chunk"), "cluster.network.chunk", "the fluid model has no chunks",
                 "say model: fifo, or leave chunk out");
  const auto limited = [](const NicSpec& nic) { return !nic.up.is_unlimited() || !nic.down.is_unlimited(); };
  for (const auto& [path, nic] : {std::pair("cluster.workers.nic", &s.cluster.workers.nic),
                                  std::pair("cluster.servers.nic", &s.cluster.servers.nic)})
    if (network.comm_compute_ratio && limited(*nic)) {
      const Span at = place_of(root, path).span();
      reader.error(
          network.ratio_place, "cluster.network.comm_compute_ratio",
          fmt::format("stands in place of NIC rates, but {} is given at {}:{}:{}", path, at.file, at.line, at.column),
          "leave one of them out");
    }
  for (const NamedServer& n : s.cluster.servers.placement.by_name)
    if (n.server >= s.cluster.servers.count && clean(reader, {"cluster.servers.count"}))
      reader.error(n.place, "cluster.servers.placement.by_name." + n.parameter,
                   fmt::format("there is no server {}", n.server),
                   s.cluster.servers.count == 1 ? std::string("there is one server, 0")
                                                : fmt::format("valid: 0 to {}", s.cluster.servers.count - 1));
}

void check_runs(Reader& reader, const Node& root, const Spec& s) {
  if (s.runs.warm_up >= s.runs.iterations && clean(reader, {"runs.warm_up", "runs.iterations"})) {
    const std::string at = config::find_path(root, "runs.warm_up") ? "runs.warm_up" : "runs.iterations";
    reader.error(
        place_of(root, at), at,
        fmt::format("{} iterations leave no step to measure after {} of warm-up", s.runs.iterations, s.runs.warm_up),
        "valid: warm_up less than iterations");
  }
  if (s.runs.min_replications > s.runs.max_replications && clean(reader, {"runs.replications"})) {
    const std::string at =
        config::find_path(root, "runs.replications.min") ? "runs.replications.min" : "runs.replications.max";
    reader.error(place_of(root, at), at,
                 fmt::format("min is {} and max is {}", s.runs.min_replications, s.runs.max_replications),
                 "valid: min at most max");
  }
}

void check_transforms(Reader& reader, const Node& root, const Spec& s) {
  if (s.workload.transfers.ratio && config::find_path(root, "workload.transfers.precision"))
    reader.error(place_of(root, "workload.transfers.ratio"), "workload.transfers.ratio",
                 "both precision and ratio are given", "leave one of them out");
  if (s.workload.batch_fixed_share > 0 && !s.workload.batch_per_worker && clean(reader, {"workload.batch_per_worker"}))
    reader.error(place_of(root, "workload.batch_fixed_share"), "workload.batch_fixed_share",
                 "says how times grow with the batch, and the batch is that of the profile",
                 "give batch_per_worker, or leave batch_fixed_share out");
}

void check_noise(Reader& reader, const Node& root, const Spec& s) {
  const auto check_host = [&](const std::string& key, const Node& item, const char* kind, std::uint32_t host,
                              std::uint32_t count, const char* count_key) {
    if (host < count || !clean(reader, {count_key, key})) return;
    const config::Entry* entry = item.find(kind);
    reader.error(entry ? entry->value.place : item.place, key + "." + kind,
                 fmt::format("there is no {} {}", kind, host),
                 count == 1 ? fmt::format("there is one {}, 0", kind) : fmt::format("valid: 0 to {}", count - 1));
  };
  const auto check_list = [&](const char* path, std::size_t size, const auto& check_item) {
    const Node* list = config::find_path(root, path);
    for (std::size_t i = 0; i < size && list && i < list->items.size(); ++i)
      check_item(fmt::format("{}[{}]", path, i), list->items[i], i);
  };
  const std::uint32_t workers = s.cluster.workers.count;
  const std::uint32_t servers = s.cluster.servers.count;
  check_list("noise.slow_workers", s.noise.slow_workers.size(), [&](const auto& key, const Node& item, std::size_t i) {
    check_host(key, item, "worker", s.noise.slow_workers[i].worker, workers, "cluster.workers.count");
  });
  check_list("noise.late_starts", s.noise.late_starts.size(), [&](const auto& key, const Node& item, std::size_t i) {
    check_host(key, item, "worker", s.noise.late_starts[i].worker, workers, "cluster.workers.count");
  });
  if (clean(reader, {"noise.distribution", "noise.factors", "noise.compute_cv"})) {
    const bool empirical = s.noise.distribution == NoiseLaw::Empirical;
    if (empirical != !s.noise.factors.empty())
      reader.error(place_of(root, empirical ? "noise.distribution" : "noise.factors"), "noise",
                   empirical ? "distribution empirical needs factors" : "factors are for distribution: empirical",
                   "for example {distribution: empirical, factors: [0.9, 1, 1.3]}");
    if (empirical && s.noise.compute_cv > 0)
      reader.error(place_of(root, "noise.compute_cv"), "noise.compute_cv", "factors say how much op times vary",
                   "leave compute_cv out");
  }
  check_list("noise.nics", s.noise.nics.size(), [&](const auto& key, const Node& item, std::size_t i) {
    const NicChangeSpec& n = s.noise.nics[i];
    if (n.server)
      check_host(key, item, "server", n.host, servers, "cluster.servers.count");
    else
      check_host(key, item, "worker", n.host, workers, "cluster.workers.count");
  });
}

constexpr const char* kWorkersPath = "cluster.workers.count";
constexpr const char* kBatchPath = "workload.batch_per_worker";

bool overlap(const std::vector<std::string>& outer, const std::vector<std::string>& inner) {
  return std::any_of(outer.begin(), outer.end(), [&](const std::string& o) {
    return std::any_of(inner.begin(), inner.end(), [&](const std::string& i) { return config::path_holds(o, i); });
  });
}

// scaling.weak: numbers of workers, each with the batch that it has. scaling.strong: numbers of workers that share the
// samples of a step, which are batch_per_worker x count of the file.
void add_scaling(Reader& reader, const Node& root, const config::Entry& entry, LocatedAxis& axis) {
  const std::string key = "vary." + entry.key;
  const bool strong = entry.key == "scaling.strong";
  axis.paths = {kWorkersPath};
  if (strong) axis.paths.emplace_back(kBatchPath);
  if (!strong && entry.key != "scaling.weak")
    return reader.error(entry.place, key, "there is no such scaling", "scaling.weak or scaling.strong");
  std::int64_t samples = 0;
  if (strong) {
    const Node* batch = config::find_path(root, kBatchPath);
    const Node* count = config::find_path(root, kWorkersPath);
    if (!batch)
      return reader.error(entry.place, key, "the samples of a step are not known",
                          "give workload.batch_per_worker; times cluster.workers.count it is what workers share");
    const auto of_worker = reader.read_integer(*batch, kBatchPath, 1, 1'000'000'000);
    const auto workers = count ? reader.read_integer(*count, kWorkersPath, 1, kMaxWorkers) : std::optional(1L);
    if (!of_worker || !workers) return;
    samples = *of_worker * *workers;
  }
  for (std::size_t i = 0; i < entry.value.items.size(); ++i) {
    const Node& value = entry.value.items[i];
    const std::string at = fmt::format("{}[{}]", key, i);
    const auto workers = reader.read_integer(value, at, 1, kMaxWorkers);
    if (!workers) continue;
    std::vector<config::Override> overrides{{kWorkersPath, value, entry.place}};
    if (strong && samples % *workers != 0) {
      reader.error(value.place, at, fmt::format("{} samples cannot be shared evenly", samples),
                   "give numbers of workers that divide batch_per_worker x count");
      continue;
    }
    if (strong) {
      Node batch = value;
      batch.text = std::to_string(samples / *workers);
      overrides.push_back({kBatchPath, batch, entry.place});
    }
    axis.overrides.push_back(std::move(overrides));
  }
}

}  // namespace

std::vector<LocatedAxis> read_axes(Reader& reader, const Node& root, std::size_t max_points) {
  std::vector<LocatedAxis> axes;
  const Node* vary = config::find_path(root, "vary");
  if (!vary || vary->is_null()) return axes;
  if (!vary->is_map()) {
    reader.error(vary->place, "vary", "expected a mapping from paths to lists, found " + config::describe(*vary),
                 "for example {cluster.workers.count: [1, 2, 4]}");
    return axes;
  }
  std::size_t points = 1;
  for (const config::Entry& entry : vary->entries) {
    const std::string key = "vary." + entry.key;
    const std::string head = entry.key.substr(0, entry.key.find_first_of(".["));
    if (head == "vary" || head == "stretto" || head == "name" || entry.key.ends_with(".include")) {
      reader.error(entry.place, key, "cannot be varied");
      continue;
    }
    if (!entry.value.is_sequence() || entry.value.items.empty()) {
      reader.error(entry.value.place, key,
                   "expected a list of values, found " +
                       (entry.value.is_sequence() ? std::string("an empty list") : config::describe(entry.value)),
                   "for example [1, 2, 4]");
      continue;
    }
    const bool scaling = head == "scaling";
    LocatedAxis axis;
    axis.axis.path = entry.key;
    axis.place = entry.place;
    if (scaling)
      add_scaling(reader, root, entry, axis);
    else
      axis.paths = {entry.key};
    // A later axis is applied last: it may refine an earlier one (policies, then policies[0]), but not replace it.
    const auto replaced = std::find_if(axes.begin(), axes.end(), [&](const LocatedAxis& other) {
      return overlap(axis.paths, other.paths) || (scaling && overlap(other.paths, axis.paths));
    });
    if (replaced != axes.end()) {
      reader.error(entry.place, key, fmt::format("replaces '{}', which is varied too", replaced->axis.path),
                   "vary one of them, or the outer one first");
      continue;
    }
    points *= entry.value.items.size();
    if (points > max_points) {
      reader.error(entry.place, key, fmt::format("more than {} points", max_points), "vary fewer fields or values");
      return axes;
    }
    for (const Node& value : entry.value.items) {
      axis.axis.values.push_back(config::to_flow(without_directory(entry.key, value)));
      if (!scaling) axis.overrides.push_back({{entry.key, value, entry.place}});
    }
    if (axis.overrides.size() == entry.value.items.size()) axes.push_back(std::move(axis));
  }
  return axes;
}

namespace {

void collect(Reader& reader, const std::vector<Diagnostic>& diagnostics, std::set<std::string>& seen) {
  for (const Diagnostic& d : diagnostics)
    if (seen.insert(render(d)).second) reader.diagnostics().push_back(d);
}

// Reads every point; findings of all points go to `reader`, each once.
// `stronger`: overrides that `vary` must not undo.
std::vector<Point> read_points(Reader& reader, config::Loader& loader, const Node& root,
                               const std::vector<LocatedAxis>& axes, const std::vector<config::Override>& stronger,
                               const Options& options) {
  std::vector<Point> points;
  std::set<std::string> seen;
  std::vector<std::size_t> at(axes.size(), 0);
  const Node base = axes.empty() ? Node() : without_axes(root);
  while (reader.diagnostics().size() < config::kMaxFindings) {
    Point point;
    std::vector<config::Override> overrides;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto& set = axes[a].overrides[at[a]];
      overrides.insert(overrides.end(), set.begin(), set.end());
      if (set.front().path == axes[a].axis.path)
        point.vary.emplace_back(axes[a].axis.path, axes[a].axis.values[at[a]]);
      else
        for (const config::Override& o : set) point.vary.emplace_back(o.path, config::to_flow(o.value));
    }
    overrides.insert(overrides.end(), stronger.begin(), stronger.end());
    try {
      Reader one;
      point.spec = read_spec(one, axes.empty() ? root : loader.resolve(base, overrides), options);
      collect(reader, one.diagnostics(), seen);
    } catch (const UserError& e) {
      collect(reader, e.diagnostics(), seen);
    }
    points.push_back(std::move(point));
    std::size_t a = axes.size();
    while (a > 0 && ++at[a - 1] == axes[a - 1].overrides.size()) at[--a] = 0;
    if (a == 0) break;
  }
  return points;
}

}  // namespace

std::vector<config::Override> overrule(std::vector<LocatedAxis>& axes, const std::vector<config::Override>& sets,
                                       std::vector<Diagnostic>& warnings) {
  std::vector<config::Override> stronger;
  for (const config::Override& set : sets) {
    std::erase_if(axes, [&](const LocatedAxis& axis) {
      if (!config::path_holds(set.path, axis.paths.front())) return false;
      warnings.push_back({Severity::Warning, axis.place.span(), "vary." + axis.axis.path,
                          fmt::format("is not varied, since --set {} is stronger", set.path),
                          fmt::format("to vary it, leave --set {} out", set.path)});
      return true;
    });
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const LocatedAxis& axis) { return config::path_holds(axis.axis.path, set.path); }))
      stronger.push_back(set);
  }
  return stronger;
}

void sort_findings(std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> files;
  for (const Diagnostic& d : diagnostics)
    if (std::find(files.begin(), files.end(), d.span.file) == files.end()) files.push_back(d.span.file);
  const auto rank = [&](const Diagnostic& d) {
    return std::tuple(std::find(files.begin(), files.end(), d.span.file), d.span.line, d.span.column);
  };
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return rank(a) < rank(b); });
  const auto same = [](const Diagnostic& a, const Diagnostic& b) { return render(a) == render(b); };
  diagnostics.erase(std::unique(diagnostics.begin(), diagnostics.end(), same), diagnostics.end());
}

namespace {

// 5 reads like 5 %, and is 500 %.
void warn_of_cv(const Node& root, std::vector<Diagnostic>& warnings) {
  const Node* cv = config::find_path(root, "noise.compute_cv");
  if (!cv || !cv->is_scalar() || cv->text.ends_with('%')) return;
  Reader reader;
  const auto value = reader.read_number(*cv, "noise.compute_cv");
  if (value && *value > 1)
    warnings.push_back({Severity::Warning, cv->place.span(), "noise.compute_cv",
                        fmt::format("{} is {:g} %: op times spread by that much of their mean", cv->text, 100 * *value),
                        fmt::format("for {} % say {} %", cv->text, cv->text)});
}

Experiment load_tree(config::Loader& loader, Node raw, const std::vector<std::string>& overrides,
                     const Options& options) {
  Reader reader;
  std::vector<config::Override> sets;
  for (const std::string& text : overrides) {
    try {
      sets.push_back(config::parse_override(text));
    } catch (const UserError& e) {
      reader.diagnostics().insert(reader.diagnostics().end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }
  Experiment experiment;
  try {
    const Node root = loader.resolve(std::move(raw), sets);
    warn_of_cv(root, experiment.warnings);
    if (const config::Entry* sweep = root.find("sweep"))
      experiment.warnings.push_back(
          {Severity::Warning, sweep->place.span(), "sweep", "is left out: only `stretto sweep` runs its points", ""});
    std::vector<LocatedAxis> axes = read_axes(reader, root, kMaxPoints);
    const std::vector<config::Override> stronger = overrule(axes, sets, experiment.warnings);
    experiment.points = read_points(reader, loader, root, axes, stronger, options);
    for (const LocatedAxis& axis : axes) experiment.axes.push_back(axis.axis);
  } catch (const UserError& e) {
    reader.diagnostics().insert(reader.diagnostics().end(), e.diagnostics().begin(), e.diagnostics().end());
  }
  if (!reader.diagnostics().empty()) {
    sort_findings(reader.diagnostics());
    throw UserError(std::move(reader.diagnostics()));
  }
  experiment.files = loader.files();
  return experiment;
}

}  // namespace

namespace {

// Keys that have moved: what they are called now.
void name_moved_keys(Reader& reader) {
  constexpr std::array<std::array<const char*, 2>, 2> kMoved{
      {{"all_reduce.per_host", "cluster.workers.per_host"}, {"all_reduce.inside_rate", "cluster.workers.nvlink"}}};
  for (Diagnostic& d : reader.diagnostics())
    for (const auto& [before, now] : kMoved)
      if (d.key == before) {
        d.message = "hosts and their links belong to the cluster";
        d.hint = fmt::format("say {}", now);
      }
}

Spec read_tree(Reader& reader, const Node& root, const Options& options) {
  Spec s;
  if (!root.is_map()) {
    reader.error(root.place, "", fmt::format("expected a mapping, found {}", config::describe(root)));
    return s;
  }
  if (!root.find("stretto"))
    reader.error(root.place, "stretto", "the version of the file format is missing",
                 fmt::format("begin the file with stretto: {}", config::kFormatVersion));
  config::read_fields(reader, root, spec_fields(), s);
  name_moved_keys(reader);
  name_generator(root, s.workload);
  DeviceSpec& device = s.cluster.workers.device;
  if (device.kind == DeviceKind::Cpu && !config::find_path(root, "cluster.workers.device.name")) device.name = "cpu";
  if (s.name.empty() && root.place.source) s.name = std::filesystem::path(root.place.source->file).stem().string();
  check_runs(reader, root, s);
  if (is_job(root) || !read_jobs(reader, root, options, s)) {
    check_workload(reader, root, options, s);
    check_transforms(reader, root, s);
    check_cluster(reader, root, s);
    check_noise(reader, root, s);
    if (reader.diagnostics().empty()) check_modes(reader, root, s);
    if (reader.diagnostics().empty()) check_all_reduce(reader, root, s);
    if (reader.diagnostics().empty()) check_workers(reader, root, s);
  }
  if (reader.diagnostics().empty() && !is_job(root)) check_topology(reader, root, s);
  return s;
}

}  // namespace

Spec read_spec(Reader& reader, const Node& root, const Options& options) {
  if (!is_job(root)) return read_tree(reader, root, options);
  Spec s;
  reader.error(root.find("jobs")->place, "jobs", "expected a list of jobs, found an empty value",
               "list them, or leave jobs out");
  return s;
}

Spec read_job(Reader& reader, const Node& root, const Options& options) { return read_tree(reader, root, options); }

Experiment load_experiment(const std::string& path, const std::vector<std::string>& overrides, const Options& options) {
  config::Loader loader;
  return load_tree(loader, loader.read(path), overrides, options);
}

Experiment read_experiment(const std::string& text, const std::string& file, const std::vector<std::string>& overrides,
                           const Options& options) {
  config::Loader loader;
  return load_tree(loader, config::parse_text(text, file), overrides, options);
}

std::string effective_yaml(const Spec& spec) { return config::write_fields(spec_fields(), spec); }

std::string effective_yaml(const Experiment& experiment) {
  std::string out = effective_yaml(experiment.points.at(0).spec);
  if (experiment.axes.empty()) return out;
  out += "vary:\n";
  for (const Axis& axis : experiment.axes) {
    out += "  " + config::quote_if_needed(axis.path) + ": [";
    for (std::size_t i = 0; i < axis.values.size(); ++i) out += (i > 0 ? ", " : "") + axis.values[i];
    out += "]\n";
  }
  return out;
}

std::vector<config::FieldRecord> field_records() {
  std::vector<config::FieldRecord> records;
  for (const auto& field : spec_fields()) records.push_back(field.record);
  return records;
}

std::vector<std::string> shipped_models(const Options& options) {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(options.shipped) / "workloads", code)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view suffix : kWorkloadSuffixes)
      if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string shipped_workload(const Options& options, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(options.shipped) / "workloads";
  std::error_code code;
  for (const std::string_view suffix : kWorkloadSuffixes) {
    const std::filesystem::path file = folder / (name + std::string(suffix));
    if (std::filesystem::is_regular_file(file, code)) return file.string();
  }
  return (folder / (name + std::string(kWorkloadSuffixes.front()))).string();
}

}  // namespace stretto::experiment
