// SPDX-License-Identifier: Apache-2.0
// `vary` as axes with places, private to the readers of experiments and sweeps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "config/load.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// An axis with the located values that overrides need.
struct LocatedAxis {
  Axis axis;
  std::vector<std::string> paths;                        // that it sets
  std::vector<std::vector<config::Override>> overrides;  // one list per value
  config::Place place;
};

// The axes of `vary`, of at most `max_points` combinations. Findings go to `reader`.
std::vector<LocatedAxis> read_axes(config::Reader& reader, const config::Node& root, std::size_t max_points);

// Drops the axes that `sets` overrule, with a warning each; gives the overrides that lie below an axis that stays.
std::vector<config::Override> overrule(std::vector<LocatedAxis>& axes, const std::vector<config::Override>& sets,
                                       std::vector<Diagnostic>& warnings);

// The tree with the keys of `vary` and `sweep` but not what they hold: what every point starts from, so that n points
// do not copy n values each.
config::Node without_axes(config::Node root);

// By place, each once; files in the order of their first finding.
void sort_findings(std::vector<Diagnostic>& diagnostics);

}  // namespace stretto::experiment
