// SPDX-License-Identifier: Apache-2.0
#include "models/training/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stretto::training {

namespace {

struct GradientCount {
  std::uint32_t step = 0;
  std::size_t come = 0;
  std::size_t all = 0;
};

// Of the first step that lacks some.
GradientCount gradients_of_stuck_step(const Compiled& compiled, const program::Simulation& sim) {
  GradientCount g;
  g.step = std::numeric_limits<std::uint32_t>::max();
  for (const program::ActivityId a : compiled.push)
    if (a.valid()) g.step = std::min(g.step, sim.done(a));
  for (const program::ActivityId a : compiled.push) {
    if (!a.valid()) continue;
    ++g.all;
    if (sim.done(a) > g.step) ++g.come;
  }
  return g;
}

}  // namespace

std::string explain_deadlock(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                             const program::Simulation& sim) {
  const auto name = [&](program::ActivityId a) { return describe(compiled, graph, layout, a); };
  std::string text = fmt::format("deadlock at {:.6f} s", sim.now().seconds());
  if (const GradientCount g = gradients_of_stuck_step(compiled, sim); g.all > 0)
    text += fmt::format(": {} of {} {} of step {} will ever come", g.come, g.all,
                        compiled.exchange == Exchange::AllReduce ? "collectives" : "gradients", g.step);
  for (const program::Blocked& b : sim.blocked(5)) {
    text += fmt::format("; {} (step {}) ", name(b.activity), b.iteration);
    text += b.wait == program::Blocked::Wait::Turn ? std::string("waits for its turn")
                                                   : fmt::format("has {} of {} that it waits for", b.have, b.need);
    for (std::size_t i = 0; i < b.missing.size() && i < 3; ++i)
      text += (i == 0 ? " after " : ", ") + name(b.missing[i]);
    if (b.missing.size() > 3) text += ", ...";
  }
  return text;
}

}  // namespace stretto::training
