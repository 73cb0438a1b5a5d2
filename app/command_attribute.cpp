// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <functional>

#include "app/choices.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/run/attribution.hpp"
#include "report/attribution.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

int attribute_command(const AttributeOptions& options) {
  check_output_format(options.format);
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
