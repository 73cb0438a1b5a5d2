// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/run/sweep_costs.hpp"
#include "experiment/spec/sweep_points.hpp"
#include "io/json/writer.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/version.hpp"
#include "study/sweep.hpp"

namespace stretto::app {

namespace {

constexpr std::uint64_t kMaxThreads = 1024;
constexpr std::uint64_t kMaxShards = 100'000;
constexpr std::size_t kWidth = 100;

// A whole number from 1 to kMaxShards, or 0.
std::uint64_t count_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= kMaxShards ? value : 0;
}

study::Shard shard_of(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  study::Shard shard{0, 0};
  if (slash != std::string::npos) {
    shard.index = count_of(std::string_view(text).substr(0, slash));
    shard.count = count_of(std::string_view(text).substr(slash + 1));
  }
  if (shard.index == 0 || shard.index > shard.count)
    throw UserError(fmt::format("--shard: '{}' is no shard", text), "for example 1/4, 2/4, 3/4 and 4/4");
  return shard;
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string progress_text(const study::SweepProgress& p) {
  std::string text = p.per_second > 0 ? fmt::format("{:.1f} points/s", p.per_second) : std::string("first points");
  if (p.seconds_left >= 0) text += ", " + duration_text(p.seconds_left) + " left";
  return text + fmt::format(", {} failed", p.failed);
}

// Says where the store has a sweep of this name that is not this one.
void warn_of_others(study::Store& store, const study::SweepInfo& mine) {
  for (const study::SweepInfo& other : store.sweeps()) {
    if (other.name != mine.name || other.hash == mine.hash) continue;
    std::string what;
    const auto add = [&](bool differs, const char* name) {
      if (differs) what += (what.empty() ? "" : ", ") + std::string(name);
    };
    add(other.configuration != mine.configuration || other.size != mine.size, "settings");
    add(other.inputs != mine.inputs, "input files");
    add(other.version != mine.version, "versions of stretto");
    Diagnostic d;
    d.severity = Severity::Warning;
    d.message =
        fmt::format("'{}' has a sweep '{}' (number {}) with other {}", store.path(), other.name, other.id, what);
    d.hint = "its results are kept and not used; `stretto results gc` removes sweeps that were replaced";
    print_error(render(d));
  }
}

// What each of `shards` shards would do, for people or as JSON.
std::string divided(const experiment::SweepPoints& points, const study::SweepInfo& sweep, std::uint64_t shards,
                    std::size_t threads, bool as_json) {
  const std::vector<study::ShardLoad> loads = study::shard_loads(experiment::sweep_costs(points, threads), shards);
  if (!as_json) {
    report::Table table{{{"shard"}, {"points"}, {"predicted cost"}}, {}};
    for (std::size_t s = 0; s < loads.size(); ++s)
      table.rows.push_back({{fmt::format("{}/{}", s + 1, loads.size()), ""},
                            {std::to_string(loads[s].points), ""},
                            {fmt::format("{:.2f} %", 100 * loads[s].share), ""}});
    return report::wrap(escape_control(fmt::format("Sweep '{}': {} points", sweep.name, points.size())), kWidth, 2) +
           report::render(table, kWidth);
  }
  json::Writer w;
  w.begin_object();
  w.member("format", "stretto-shards").member("version", 1).member("name", sweep.name).member("sweep", sweep.hash);
  w.member("points", points.size()).member("configs", shipped_configs());
  w.key("files").begin_array();
  for (const auto* files : {&points.files(), &points.inputs()})
    for (const std::string& file : *files) w.value(file);
  w.end_array();
  w.key("shards").begin_array();
  for (const study::ShardLoad& load : loads)
    w.begin_object(json::Writer::Style::Inline).member("points", load.points).member("share", load.share).end_object();
  w.end_array().end_object();
  return w.finish();
}

}  // namespace

int sweep_command(const SweepOptions& options) {
  check_output_format(options.format);
  if (options.divide.empty() && options.format != "text")
    throw UserError("--format json is for --divide", "`stretto results export csv` writes the results");
  if (!options.divide.empty() && !(options.shard.empty() && options.store.empty()))
    throw UserError("--divide runs nothing, so that there is no --shard and no --store");
  study::SweepOptions run_options;
  run_options.shard = shard_of(options.shard);
  run_options.threads = available_threads();
  if (!options.threads.empty()) run_options.threads = whole_number("--threads", options.threads, 1, kMaxThreads);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::SweepPoints points = experiment::load_sweep(options.file, options.set, spec_options);
  print_error(render(points.warnings()));
  study::SweepInfo sweep =
      study::describe(points, study::version_text({std::string(version()), std::string(commit())}));
  if (!options.divide.empty()) {
    print(divided(points, sweep, whole_number("--divide", options.divide, 1, kMaxShards), run_options.threads,
                  options.format == "json"));
    return 0;
  }
  const std::string path =
      options.store.empty() ? std::filesystem::path(options.file).stem().string() + ".results.sqlite" : options.store;
  study::Store store(path, study::Store::Access::Create);
  warn_of_others(store, sweep);
  sweep.id = store.add_sweep(sweep);
  const auto start = std::chrono::steady_clock::now();
  run_options.clock = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  study::SweepRun run;
  {
    ProgressLine line(options.quiet);
    run_options.progress = [&](const study::SweepProgress& p) {
      try {
        line(p.done, p.total, progress_text(p));
      } catch (const Interrupted&) {
        return false;
      }
      return true;
    };
    run = study::run_sweep(points, sweep, store, run_options);
  }
  if (run.interrupted) throw Interrupted();
  const study::Store::Counts counts = store.counts(sweep.id);
  std::string text = fmt::format("Sweep '{}': {} points", sweep.name, run.total);
  if (run_options.shard.count > 1) text += fmt::format(" in shard {}", options.shard);
  if (run.before > 0) text += fmt::format(", {} stored before", run.before);
  if (run.left_out > 0) text += fmt::format(", {} left out by constraints", run.left_out);
  text += fmt::format(", {} run.", run.run);
  const std::int64_t bad = counts.failed + counts.deadlock;
  if (bad > 0) text += fmt::format(" The store has {} failed, {} of them in a deadlock.", bad, counts.deadlock);
  text += fmt::format(" See `stretto results show {}`.", path);
  print(report::wrap(escape_control(text), kWidth, 2));
  return bad > 0 ? 1 : 0;
}

}  // namespace stretto::app
