// SPDX-License-Identifier: Apache-2.0
// The rows of the section `sweep`, which experiment/spec/sweep_points.cpp reads: nothing of it is a member of a spec.
#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

void add_sweep_fields(Rows& rows) {
  const auto row = [&](const char* path, const char* type, const char* range, const char* help) {
    rows.push_back(custom(
        path, type, range, "", help, [](config::Reader&, const config::Node&, const std::string&, Spec&) {},
        [](const Spec&) { return ""; }));
  };
  row("sweep.ranges", "mapping", "",
      "path: {from, to, points, scale: linear or log}; `stretto sweep` runs every combination, after `vary`");
  row("sweep.sample.method", "one of random, latin_hypercube", "",
      "how samples are drawn; latin_hypercube if left out");
  row("sweep.sample.points", "integer", "1 to 100000", "samples at each combination of `vary` and ranges");
  row("sweep.sample.seed", "integer", "0 to 9223372036854775807", "of the samples; 1 if left out");
  row("sweep.sample.fields", "mapping", "", "path: {from, to, scale: linear or log}, or a list to draw from");
  row("sweep.constraints", "list", "", "comparisons between fields and values; points where one is false are left out");
}

}  // namespace stretto::experiment
