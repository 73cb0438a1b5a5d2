// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/run/attribution.hpp"
#include "report/attribution.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

int attribute_command(const AttributeOptions& options) {
  if (options.format != "text" && options.format != "json")
    throw UserError(fmt::format("--format: unknown format '{}'", options.format), "valid: text, json");
  std::vector<std::string> overrides = options.set;
  if (!options.seed.empty()) overrides.push_back("runs.seed=" + options.seed);
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment = experiment::load_experiment(options.file, overrides, spec_options);
  print_error(render(experiment.warnings));
  analysis::AttributionResult result;
  {
    ProgressLine progress(options.quiet);
    result = experiment::attribute(experiment, options.policies, std::ref(progress));
  }
  print(options.format == "json" ? report::attribution_json(result) : report::attribution_text(result));
  const bool stuck = std::any_of(result.results.begin(), result.results.end(),
                                 [](const analysis::AttributedPolicy& r) { return r.deadlock.has_value(); });
  return stuck ? 1 : 0;
}

}  // namespace stretto::app
