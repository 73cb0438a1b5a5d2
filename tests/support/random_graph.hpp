// SPDX-License-Identifier: Apache-2.0
// Seeded random replica graphs for tests. Small integer times and sizes (so that ties are frequent), every parameter
// read by at least one op unless asked otherwise, names that do not sort like ids. Training graphs get one backward op
// per forward op in mirrored order; the gradient of a parameter is completed by the mirror of its first reader.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/graph/graph.hpp"
#include "sim/base/random.hpp"

namespace stretto::test {

enum class Shape : std::uint8_t { Chain, Layered, SeriesParallel, Bipartite };
inline constexpr std::array kShapes{Shape::Chain, Shape::Layered, Shape::SeriesParallel, Shape::Bipartite};

struct RandomGraphSpec {
  Shape shape = Shape::Layered;
  std::size_t ops = 6;  // forward ops; a training graph has twice as many
  std::size_t parameters = 4;
  bool training = false;
  std::int64_t max_time = 6;   // op times are 0..max_time times `unit`
  std::int64_t max_bytes = 6;  // sizes are 1..max_bytes times 4
  Duration unit = Duration::us(1);
};

// Op i may only depend on ops before it, so that ids are a topological order.
inline void add_random_edges(graph::Graph& g, Shape shape, RandomStream& random) {
  const auto n = g.ops.size();
  const auto layer = std::max<std::size_t>(1, n / 3);
  for (std::size_t i = 1; i < n; ++i) {
    auto& inputs = g.ops[i].inputs;
    if (shape == Shape::Chain) inputs = {graph::OpId(i - 1)};
    if (shape == Shape::Layered)
      for (std::size_t j = i / layer >= 1 ? (i / layer - 1) * layer : 0; j < i / layer * layer; ++j)
        if (random.below(2) == 0) inputs.emplace_back(j);
    if (shape == Shape::SeriesParallel) {
      inputs.emplace_back(i - 1 - random.below(std::min<std::size_t>(i, 3)));
      const auto second = random.below(i);
      if (random.below(2) == 0 && graph::OpId(second) != inputs.front()) inputs.emplace_back(second);
    }
  }
}

inline void add_backward(graph::Graph& g) {
  const auto n = g.ops.size();
  const auto mirror = [n](std::size_t forward) { return graph::OpId(2 * n - 1 - forward); };
  g.ops.resize(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    graph::Op& back = g.ops[mirror(i).index()];
    back.name = g.ops[i].name + "_grad";
    back.phase = graph::Phase::Backward;
    back.time = g.ops[i].time * 2;
    back.reads = g.ops[i].reads;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (const graph::OpId input : g.ops[i].inputs) g.ops[mirror(input.index()).index()].inputs.push_back(mirror(i));
  for (std::size_t i = 0; i < n; ++i) {
    const auto back = mirror(i).index();
    for (std::size_t f = 0; f < n; ++f)
      if (g.ops[back].inputs.empty()) g.ops[back].inputs.emplace_back(f);
    for (std::size_t f = 0; f < n && g.ops[back].inputs.front().index() < n; ++f)
      if (g.ops[back].inputs.front() != graph::OpId(f)) g.ops[back].inputs.emplace_back(f);
  }
  for (std::size_t i = n; i-- > 0;)
    for (const graph::ParameterId p : g.ops[i].reads) g.parameters[p.index()].gradient = mirror(i);
}

inline graph::Graph random_graph(const RandomGraphSpec& spec, std::uint64_t seed) {
  RandomStream random(seed, "tests/random_graph");
  graph::Graph g;
  g.name = fmt::format("random {}", seed);
  const auto names = random_permutation(spec.parameters, random);
  for (std::size_t p = 0; p < spec.parameters; ++p)
    g.parameters.push_back(
        {fmt::format("w{:03}", names[p]),
         Bytes(4 * (1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spec.max_bytes))))),
         true,
         {}});
  for (std::size_t i = 0; i < spec.ops; ++i) {
    graph::Op op;
    op.name = fmt::format("op{:03}", i);
    op.time = spec.unit * static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spec.max_time) + 1));
    g.ops.push_back(std::move(op));
  }
  add_random_edges(g, spec.shape, random);
  for (std::size_t p = 0; p < spec.parameters; ++p) {
    const auto readers = 1 + (spec.shape == Shape::Bipartite ? random.below(spec.ops) : random.below(2));
    for (std::uint64_t k = 0; k < readers; ++k) {
      auto& reads = g.ops[random.below(spec.ops)].reads;
      if (std::find(reads.begin(), reads.end(), graph::ParameterId(p)) == reads.end()) reads.emplace_back(p);
    }
  }
  if (spec.training) add_backward(g);
  return g;
}

}  // namespace stretto::test
