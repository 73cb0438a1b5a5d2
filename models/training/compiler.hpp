// SPDX-License-Identifier: Apache-2.0
// Compiler of training steps, private to this directory: resources.cpp (pools, links, channels), compile.cpp (one
// worker's step), synchronization.cpp (what gradients do at the servers and what lets a worker go on).
#pragma once

#include <cstdint>
#include <vector>

#include "models/training/compile.hpp"

namespace stretto::training {

class Compiler {
 public:
  Compiler(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
           const Options& options)
      : graph_(graph),
        cluster_(cluster),
        layout_(layout),
        options_(options),
        training_(options.mode == Mode::Training) {}

  Compiled run();

 private:
  using ActivityId = program::ActivityId;

  // One worker's step while it is compiled.
  struct Step {
    std::uint32_t worker = 0;
    ActivityId start;
    ActivityId begun;                   // start and overhead
    std::vector<ActivityId> gradients;  // ops of the last pass
    ActivityId ops_done;
    ActivityId done;  // the worker has done its part of the step
  };

  ActivityId add(Role role, std::uint32_t worker, std::uint32_t item, ActivityId activity, std::uint32_t pass = 0) {
    out_.labels.push_back({role, static_cast<std::uint16_t>(pass), worker, item});
    return activity;
  }
  bool pushed(std::uint32_t t) const {
    return training_ && graph_.parameters[layout_.transfers[t].parameter.index()].gradient.valid();
  }
  bool shared_updates() const {
    return options_.synchronization != Synchronization::Async && options_.synchronization != Synchronization::Ssp;
  }

  void rank_ops();
  void add_copy_engines();
  void add_resources();
  void add_channels();

  void add_worker(std::uint32_t worker);
  void add_pulls(std::uint32_t worker, ActivityId begun);
  void add_passes(Step& step);
  void add_input(const Step& step, std::uint32_t pass, const std::vector<ActivityId>& begins,
                 std::vector<ActivityId>& inputs);

  void add_shared_updates();
  void add_step_end();
  void end_step(Step& step);
  void add_pushes(const Step& step);
  // From the arrival of a gradient to its effect; returns what ends it.
  ActivityId add_sum(std::uint32_t worker, std::uint32_t transfer, ActivityId push);
  ActivityId add_own_update(std::uint32_t worker, std::uint32_t transfer, ActivityId push);
  void add_gate();
  void skip_late_steps();
  void add_markers();

  const graph::Graph& graph_;
  const cluster::Cluster& cluster_;
  const plan::Layout& layout_;
  const Options options_;
  const bool training_;
  program::ProgramBuilder builder_;
  Compiled out_;
  std::vector<program::ChannelId> pull_channel_;
  std::vector<program::ChannelId> push_channel_;
  std::vector<ActivityId> aggregate_;  // per transfer; shared updates only
  std::vector<ActivityId> update_;
  std::vector<ActivityId> start_;  // per worker
  std::vector<ActivityId> worker_done_;
  ActivityId step_end_;
};

}  // namespace stretto::training
