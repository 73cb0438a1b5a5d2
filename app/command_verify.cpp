// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/check/verify.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

constexpr std::size_t kWidth = 100;
constexpr int kPartWidth = 12;
constexpr int kStatusWidth = 13;

const char* word(experiment::VerifyPart::Status status) {
  switch (status) {
    case experiment::VerifyPart::Status::Passed:
      return "passed";
    case experiment::VerifyPart::Status::Violated:
      return "VIOLATED";
    case experiment::VerifyPart::Status::NotCovered:
      return "not covered";
  }
  return "";
}

std::string text_of(const experiment::VerifyResult& r) {
  std::string out = report::wrap(escape_control(fmt::format("{}: plan of {}", r.workload, r.policy)), kWidth) + "\n";
  for (const experiment::VerifyPart& p : r.parts) {
    std::string head = fmt::format("{:<{}}{:<{}}", p.name, kPartWidth, word(p.status), kStatusWidth);
    const std::string text = report::wrap(escape_control(p.text), kWidth - head.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      out += head + text.substr(at, end - at);
      head.assign(head.size(), ' ');
      at = end;
    }
  }
  out += '\n';
  out += r.violation
             ? report::wrap(escape_control(fmt::format("Not verified: rule '{}' does not hold.", r.violation->rule)),
                            kWidth)
             : std::string("Verified.\n");
  return out;
}

}  // namespace

int verify_command(const VerifyOptions& options) {
  check_output_format(options.format);
  if (options.experiment.empty())
    throw UserError("--experiment is missing", "a schedule is verified for the experiment that it was made for");
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.experiment, options.set, spec_options);
  print_error(render(experiment.warnings));
  const experiment::VerifyResult result = experiment::verify_schedule(experiment, options.schedule);
  print(options.format == "json" ? experiment::verify_json(result) : text_of(result));
  return result.violation ? 1 : 0;
}

}  // namespace stretto::app
