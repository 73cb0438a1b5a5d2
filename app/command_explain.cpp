// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/search/explain.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMoves = 8;
constexpr std::size_t kMostMoves = 10'000;

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:+.2f} %", 100 * *share) : "deadlock";
}

std::string text_of(const experiment::Explanation& e) {
  std::string out = report::wrap(
      escape_control(fmt::format("{}: plan of {}, step {:.4f} ms", e.workload, e.policy, 1e3 * e.step_s)), kWidth);
  if (!e.moves.empty()) {
    report::Table table{{{"variable", report::Align::Left},
                         {"direction", report::Align::Left},
                         {"place"},
                         {"without a search"},
                         {"tac"},
                         {"step if moved back"}},
                        {}};
    for (const experiment::ExplainedMove& m : e.moves)
      table.rows.push_back({{escape_control(m.variable), ""},
                            {m.push ? "push" : "pull", ""},
                            {std::to_string(m.place), ""},
                            {std::to_string(m.reference_place), ""},
                            {m.tac_place ? std::to_string(*m.tac_place) : "-", ""},
                            {percent(m.loss), ""}});
    out += '\n';
    out += report::render(table, kWidth);
  }
  report::Table table{{{"what the schedule changes", report::Align::Left}, {"step without it"}, {"gain"}}, {}};
  for (const experiment::ExplainedChange& c : e.changes)
    table.rows.push_back({{c.change, ""},
                          {c.step_s ? fmt::format("{:.4f} ms", 1e3 * *c.step_s) : "deadlock", ""},
                          {percent(c.gain), ""}});
  out += '\n';
  out += report::render(table, kWidth);
  out += '\n';
  for (const std::string& sentence : e.sentences) out += report::wrap(escape_control(sentence), kWidth, 2);
  return out;
}

}  // namespace

int explain_command(const ExplainOptions& options) {
  check_output_format(options.format);
  if (options.experiment.empty())
    throw UserError("--experiment is missing", "a schedule is explained for the experiment that it was made for");
  const std::size_t moves = options.moves.empty() ? kMoves : whole_number("--moves", options.moves, 0, kMostMoves);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.experiment, options.set, spec_options);
  print_error(render(experiment.warnings));
  const experiment::Explanation explanation = experiment::explain_schedule(experiment, options.schedule, moves);
  print(options.format == "json" ? experiment::explain_json(explanation) : text_of(explanation));
  return 0;
}

}  // namespace stretto::app
