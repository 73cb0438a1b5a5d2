// SPDX-License-Identifier: Apache-2.0
// The points of a sweep, made one at a time: `vary` and `sweep.ranges` as a grid, times the samples, without those
// points where a constraint is false. Point i is combination i / samples of the grid (the first path varies slowest)
// at sample i % samples; numbers count what constraints leave out, so that they never change with them.
//
// Memory: the tree of the file, the values of the grid's axes and 4 bytes per sample and field; nothing per point. Cost
// of a point: a copy of the tree and reading it, some 0.1 ms. A copy of the object reads no file again and may be used
// by another thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/spec/axes.hpp"
#include "experiment/spec/spec.hpp"
#include "experiment/spec/sweep_values.hpp"

namespace stretto::experiment {

inline constexpr std::size_t kMaxSweepPoints = 1'000'000;
inline constexpr std::size_t kMaxSamples = 100'000;

class SweepPoints {
 public:
  // Points before constraints.
  std::size_t size() const { return size_; }
  // What is varied, in the order of a point's values.
  std::vector<std::string> paths() const;
  std::vector<std::string> values(std::size_t i) const;
  // None where a constraint is false. Throws UserError where the values make no experiment.
  std::optional<Point> point(std::size_t i);
  // The first point that can be run.
  const Point& first() const { return *first_; }
  // Everything that decides what the points are, as text: equal texts have equal points.
  const std::string& configuration() const { return configuration_; }
  // Workload and other files that points read, sorted. Each value of each axis was looked at.
  const std::vector<std::string>& inputs() const { return inputs_; }
  // The YAML files that were read, in that order.
  const std::vector<std::string>& files() const { return loader_.files(); }
  // True if a constraint compares the field at `path` or something at or below it.
  bool is_constrained(const std::string& path) const;
  const std::vector<Diagnostic>& warnings() const { return warnings_; }

 private:
  friend class SweepReader;
  struct SampledField {
    std::string path;
    std::optional<ValueRange> range;          // or
    std::vector<config::Override> overrides;  // a list
    std::vector<std::string> texts;           // of the list
    Sampler sampler;
    config::Place place;
    config::Place value_place;
  };
  std::vector<config::Override> overrides(std::size_t i) const;

  Options options_;
  config::Loader loader_;
  config::Node root_;
  std::vector<LocatedAxis> axes_;
  std::vector<SampledField> fields_;
  std::size_t samples_ = 1;
  std::vector<Constraint> constraints_;
  std::vector<config::Override> stronger_;
  std::size_t size_ = 1;
  std::optional<Point> first_;
  std::string configuration_;
  std::vector<std::string> inputs_;
  std::vector<Diagnostic> warnings_;
};

// Reads `path` with the overrides as load_experiment does. Throws UserError with every finding; also where none of the
// first 100 points that constraints allow can be run (with the findings of the first), or where none is allowed.
SweepPoints load_sweep(const std::string& path, const std::vector<std::string>& overrides = {},
                       const Options& options = {});

}  // namespace stretto::experiment
