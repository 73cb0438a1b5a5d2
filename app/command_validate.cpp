// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "experiment/run/comparison.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/input_files.hpp"
#include "io/file/file.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"
#include "validation/bundle.hpp"
#include "validation/child.hpp"
#include "validation/compare.hpp"
#include "validation/measurement.hpp"
#include "validation/timeline.hpp"

namespace stretto::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidth = 100;
constexpr int kBadInput = 2;
constexpr int kInterruptedChild = 130;

std::uint32_t number(const char* option, const std::string& text, std::uint32_t otherwise) {
  return text.empty() ? otherwise : static_cast<std::uint32_t>(whole_number(option, text, 1, 86'400));
}

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "stretto-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw UserError(fmt::format("cannot make a folder '{}'", name));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Prediction {
  experiment::Setup setup;
  experiment::SimulateOptions options;
  std::vector<validation::NamedPlan> plans;
  std::vector<experiment::Measured> measured;
};

Prediction predict(const experiment::Spec& spec, std::uint32_t window, bool quiet) {
  experiment::Workloads workloads;
  const experiment::RunsSpec& runs = spec.runs;
  Prediction p{
      experiment::make_setup(spec, workloads), experiment::simulate_options(runs, available_threads()), {}, {}};
  ProgressLine progress(quiet);
  for (const experiment::PolicySpec& policy : spec.policies) {
    const std::string name = experiment::label(policy);
    const auto taken = [&](const validation::NamedPlan& plan) { return plan.name == name; };
    if (std::any_of(p.plans.begin(), p.plans.end(), taken))
      throw UserError(fmt::format("policy {} is there twice", name));
    progress(p.plans.size(), spec.policies.size(), "predicting " + name);
    plan::Plan plan = validation::enforceable(experiment::make_plan(p.setup, policy, runs.seed), window);
    p.measured.push_back(experiment::simulate(p.setup, plan, p.options));
    p.plans.push_back({name, std::move(plan)});
  }
  return p;
}

std::string percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

report::Cell time_cell(const analysis::Estimate& e) {
  const double half = (e.ci95_high - e.ci95_low) / 2;
  return {fmt::format("{:.1f} ms", 1e3 * e.mean), half > 0 ? fmt::format(" ± {:.1f}", 1e3 * half) : std::string()};
}

std::string text_of(const validation::Comparison& c, const validation::Measurement& m) {
  const std::string network =
      m.network == "namespaces" ? "shaped links" : fmt::format("plain loopback, links not shaped ({})", m.reason);
  std::string out =
      report::wrap(escape_control(fmt::format("{}: TensorFlow {}, {}", c.name, m.tensorflow, network)), kWidth) + "\n";
  report::Table table{{{"policy", report::Align::Left},
                       {"predicted"},
                       {"measured"},
                       {"sd"},
                       {"error"},
                       {"gain predicted"},
                       {"measured"},
                       {"inversions"}},
                      {}};
  double others = 0;
  for (const validation::Row& r : c.rows) {
    others = std::max(others, r.other_cores);
    const auto gain = [](const std::optional<double>& g) {
      return report::Cell{g ? percent(*g) : std::string("-"), ""};
    };
    table.rows.push_back({{escape_control(r.policy), ""},
                          time_cell(r.predicted_s),
                          time_cell(r.measured_s),
                          {fmt::format("{:.1f} ms", 1e3 * r.measured_sd_s), ""},
                          {percent(r.error), ""},
                          gain(r.gain_predicted),
                          gain(r.gain_measured),
                          {r.pairs > 0 ? fmt::format("{:.1f} of {}", r.inversions, r.pairs) : std::string("-"), ""}});
  }
  out += report::render(table, kWidth) + "\n";
  out += report::wrap(fmt::format("Gains over {}. Errors: mean {:.1f} %, worst {:.1f} %.", escape_control(c.baseline),
                                  100 * c.mean_error, 100 * c.worst_error),
                      kWidth, 2);
  if (others > 0.1 * static_cast<double>(m.cores))
    out += report::wrap(
        fmt::format("Other processes kept up to {:.1f} of {} cores busy while it was measured.", others, m.cores),
        kWidth, 2);
  return out;
}

// Runs the harness; nothing if it failed, with the exit code to return.
std::optional<int> measure(const std::string& bundle, const std::string& result) {
  const fs::path harness = fs::path(shipped_configs()).parent_path() / "harness" / "stretto-tf";
  std::error_code error;
  if (!fs::exists(harness, error))
    throw UserError(fmt::format("'{}' is missing", harness.string()), "validate runs from a checkout of stretto");
  const std::string program = fs::absolute(harness).string();
  const int code = validation::run_child({program, "run", bundle, "-o", result});
  if (code == kInterruptedChild) throw Interrupted();
  if (code == 0) return std::nullopt;
  return code == kBadInput ? kBadInput : 1;
}

}  // namespace

int validate_command(const ValidateOptions& options) {
  check_output_format(options.format);
  const std::vector<std::string>& networks = network_kinds();
  if (std::find(networks.begin(), networks.end(), options.network) == networks.end())
    throw UserError(fmt::format("--network: unknown network '{}'", options.network),
                    name_hint(options.network, networks));
  validation::BundleOptions bundle_options;
  bundle_options.steps = number("--steps", options.steps, bundle_options.steps);
  bundle_options.warm_up = number("--warm-up", options.warm_up, bundle_options.warm_up);
  bundle_options.time_limit_s = number("--time-limit", options.time_limit, bundle_options.time_limit_s);
  bundle_options.network = options.network;
  const auto real = validation::real_networks();
  if (!options.real.empty() && std::find(real.begin(), real.end(), options.real) == real.end())
    throw UserError(fmt::format("--real: no network '{}'", escape_control(options.real)),
                    name_hint(options.real, {real.begin(), real.end()}));
  bundle_options.model = options.real;
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.file, options.set, spec_options);
  print_error(render(experiment.warnings));
  if (experiment.points.size() != 1)
    throw UserError(
        fmt::format("{} varies over {} points; a validation has one", options.file, experiment.points.size()),
        "take `vary` out, or set its fields with --set");
  if (!options.bundle.empty()) {
    check_target("--bundle", options.bundle, experiment::input_files(experiment));
  } else if (!options.out.empty()) {
    make_folder(options.out);
  }
  const experiment::Spec& spec = experiment.points.front().spec;
  const Prediction p = predict(spec, number("--window", options.window, 1), options.quiet);
  const std::string bundle = validation::write_bundle(p.setup, spec.name, p.plans, bundle_options);
  if (!options.bundle.empty()) {
    file::write_atomic(options.bundle, bundle);
    return 0;
  }
  std::optional<TemporaryFolder> temporary;
  fs::path folder = options.out;
  if (options.out.empty()) folder = temporary.emplace().path();
  std::string measured = options.measured;
  if (measured.empty()) {
    measured = (folder / "measurement.json").string();
    file::write_atomic((folder / "bundle.json").string(), bundle);
    if (const auto code = measure((folder / "bundle.json").string(), measured)) return *code;
  }
  const validation::Measurement measurement = validation::read_measurement(measured);
  const validation::Comparison comparison = validation::compare(
      spec.name, p.setup.training.barrier, p.setup.cluster.workers.size(), p.plans, p.measured, measurement);
  const std::string json = validation::write_comparison(comparison, measurement);
  if (!options.out.empty()) {
    file::write_atomic((folder / "validation.json").string(), json);
    for (std::size_t i = 0; i < p.plans.size(); ++i)
      file::write_atomic((folder / fmt::format("trace_{}.json", i)).string(),
                         validation::write_timeline(p.setup, p.plans[i].plan,
                                                    experiment::record_step(p.setup, p.plans[i].plan, p.options),
                                                    measurement.cells[i]));
  }
  print(options.format == "json" ? json : text_of(comparison, measurement));
  return 0;
}

}  // namespace stretto::app
