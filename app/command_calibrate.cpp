// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "app/targets.hpp"
#include "io/file/file.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/version.hpp"
#include "validation/calibration.hpp"
#include "validation/cells.hpp"
#include "validation/costs.hpp"

namespace stretto::app {

namespace {

using validation::CalibratedCase;

constexpr std::size_t kWidth = 100;

std::uint32_t number(const char* option, const std::string& text, std::uint32_t otherwise) {
  return text.empty() ? otherwise : static_cast<std::uint32_t>(whole_number(option, text, 1, 10'000));
}

std::vector<std::string> cost_names(const std::string& text) {
  if (text.empty()) return {"per_message", "per_byte", "latency", "efficiency", "step_overhead", "update_rate"};
  if (text == "none") return {};
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    names.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return names;
}

// The spec whose cluster has the costs to begin with.
experiment::Spec base_spec(const std::string& cluster, const experiment::Options& options) {
  std::error_code error;
  if (!std::filesystem::exists(cluster, error))
    throw UserError(
        fmt::format("--cluster: '{}': no such file", cluster),
        fmt::format("a cluster as experiments include it; shipped ones lie in '{}/clusters'", options.shipped));
  std::string quoted = "\"";
  for (const char c : cluster) quoted += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  const experiment::Experiment base =
      experiment::read_experiment("stretto: 1\nname: base\nworkload: {model: mixed_12}\ncluster: {}\n", "--cluster",
                                  {fmt::format("cluster.include={}\"", quoted)}, options);
  const experiment::Spec& spec = base.points.front().spec;
  if (!spec.cluster.workers.groups.empty() || spec.cluster.network.comm_compute_ratio)
    throw UserError(fmt::format("{}: workers of several kinds, and comm_compute_ratio, cannot be calibrated", cluster));
  return spec;
}

double milliseconds(double seconds) { return 1e3 * seconds; }

std::string error_text(double simulated, double measured) {
  return fmt::format("{:+.1f} %", 100 * (simulated / measured - 1));
}

std::string errors_text(const validation::Errors& e) {
  return fmt::format("mean error {:.2f} %, worst {:.2f} %", 100 * e.mean, 100 * e.worst);
}

double start_of(const CalibratedCase& c) { return c.start_s; }
double simulated_of(const CalibratedCase& c) { return c.simulated_s; }
double left_out_of(const CalibratedCase& c) { return c.left_out_s.value_or(c.simulated_s); }

std::string cost_line(const validation::FittedCost& f) {
  const validation::Cost& c = validation::cost(f.name);
  if (!f.half_width) return fmt::format("{} {}: not told by the data, kept", f.name, c.format(f.value));
  if (f.name == "update_rate" || f.name == "rate_cap") {
    // The interval of the time per byte, as rates.
    const double low = std::max(f.value - *f.half_width, 0.0);
    return fmt::format("{} {} (95 %: {} to {})", f.name, c.format(f.value), c.format(f.value + *f.half_width),
                       c.format(low));
  }
  return fmt::format("{} {} ± {}", f.name, c.format(f.value), c.format(validation::rounded(*f.half_width)));
}

std::string table_of(const std::vector<CalibratedCase>& rows, bool left_out) {
  report::Table table{{{"cell", report::Align::Left}, {"steps"}, {"measured"}, {"before"}, {"fitted"}, {"error"}}, {}};
  if (left_out) table.columns.push_back({"left out"});
  for (const CalibratedCase& c : rows) {
    const auto time = [](double seconds) { return report::Cell{fmt::format("{:.1f} ms", milliseconds(seconds)), ""}; };
    table.rows.push_back({{escape_control(c.name), ""},
                          {fmt::format("{}", c.steps), ""},
                          time(c.measured_s),
                          {error_text(c.start_s, c.measured_s), ""},
                          time(c.simulated_s),
                          {error_text(c.simulated_s, c.measured_s), ""}});
    if (left_out) table.rows.back().push_back({error_text(left_out_of(c), c.measured_s), ""});
  }
  return report::render(table, kWidth);
}

std::vector<std::string> summary(const validation::Calibration& result, bool left_out) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Fitted to {} cells: {} (before: {}).", result.fitted.size(),
                              errors_text(validation::errors(result.fitted, simulated_of)),
                              errors_text(validation::errors(result.fitted, start_of))));
  if (result.costs.empty() || result.fitted.empty()) lines.clear();
  if (left_out && !lines.empty())
    lines.push_back(fmt::format("Each predicted by the costs fitted to the others: {}.",
                                errors_text(validation::errors(result.fitted, left_out_of))));
  if (!result.held.empty())
    lines.push_back(fmt::format("{} other cells predicted: {} (before: {}).", result.held.size(),
                                errors_text(validation::errors(result.held, simulated_of)),
                                errors_text(validation::errors(result.held, start_of))));
  return lines;
}

std::string text_of(const validation::Calibration& result, bool left_out) {
  std::string out;
  for (const validation::FittedCost& c : result.costs) out += cost_line(c) + "\n";
  if (!result.fitted.empty()) out += fmt::format("\n{}", table_of(result.fitted, left_out));
  if (!result.held.empty()) out += fmt::format("\nnot fitted to:\n{}", table_of(result.held, false));
  out += "\n";
  for (const std::string& line : summary(result, left_out)) out += report::wrap(line, kWidth, 2) + "\n";
  return out;
}

void check_target_of(const CalibrateOptions& options) {
  std::vector<std::string> inputs = options.files;
  inputs.insert(inputs.end(), options.predict.begin(), options.predict.end());
  for (const auto& [experiment, measured] : options.cases) inputs.insert(inputs.end(), {experiment, measured});
  inputs.push_back(options.cluster);
  check_target("--out", options.out, inputs);
}

}  // namespace

int calibrate_command(const CalibrateOptions& options) {
  check_output_format(options.format);
  if (!options.out.empty()) check_target_of(options);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const std::string shipped = spec_options.shipped + "/clusters/local_tensorflow.yaml";
  const experiment::Spec base = base_spec(options.cluster.empty() ? shipped : options.cluster, spec_options);
  validation::CalibrationOptions calibration;
  calibration.fit = cost_names(options.fit);
  for (const std::string& name : calibration.fit) validation::cost(name);
  const std::uint32_t window = number("--window", options.window, 1);
  calibration.simulate.iterations = 12;
  calibration.simulate.min_replications = number("--replications", options.replications, 20);
  calibration.simulate.max_replications = calibration.simulate.min_replications;
  calibration.simulate.threads = available_threads();
  calibration.leave_one_out = options.leave_one_out;
  std::vector<validation::Case> cases;
  std::vector<validation::Case> held;
  const auto append = [](std::vector<validation::Case>& to, std::vector<validation::Case> more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
  };
  for (const std::string& file : options.files) append(cases, validation::read_cells(file, base));
  for (const auto& [experiment, measured] : options.cases)
    append(cases, validation::read_case(experiment, measured, window, spec_options));
  for (const std::string& file : options.predict) append(held, validation::read_cells(file, base));
  if (cases.empty() && !calibration.fit.empty())
    throw UserError("there is nothing to fit to", "give measurements of the harness, or --case EXPERIMENT MEASURED");
  cluster::Cluster start = experiment::make_cluster(base);
  validation::Calibration result;
  {
    ProgressLine progress(options.quiet);
    calibration.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress(done, total, what);
    };
    result = validation::calibrate(start, cases, held, calibration);
  }
  if (!options.out.empty()) {
    validation::set_costs(result.costs, start);
    std::string command;
    for (const std::string& word : options.command) command += " " + word;
    std::vector<std::string> comments{fmt::format("Made by stretto {} (commit {}):{}", version(), commit(), command)};
    for (const validation::FittedCost& c : result.costs) comments.push_back(cost_line(c));
    for (std::string& line : summary(result, options.leave_one_out)) comments.push_back(std::move(line));
    file::write_atomic(options.out, validation::write_costs(start, comments));
  }
  print(options.format == "json" ? validation::write_calibration(result) : text_of(result, options.leave_one_out));
  return 0;
}

}  // namespace stretto::app
