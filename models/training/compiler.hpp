// SPDX-License-Identifier: Apache-2.0
// Compiler of training steps, private to this directory: resources.cpp (pools, links, channels), compile.cpp (one
// worker's step), synchronization.cpp (what gradients do at the servers and what lets a worker go on),
// compile_all_reduce.cpp (the same without servers).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
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

  ActivityId add(Role role, std::uint32_t worker, std::uint32_t item, ActivityId activity, std::uint32_t pass = 0,
                 Part part = Part::Whole) {
    out_.labels.push_back({role, part, static_cast<std::uint16_t>(pass), worker, item});
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
  // The link, made when it is first asked for.
  network::LinkId link(cluster::LinkRef ref);
  // Sets route and latency of a channel between two processes.
  void set_route(channel::Channel& channel, cluster::End from, cluster::End to, Bandwidth cap);

  void add_worker(std::uint32_t worker);
  void add_pulls(std::uint32_t worker, ActivityId begun);
  void add_passes(Step& step);
  void add_input(const Step& step, std::uint32_t pass, const std::vector<ActivityId>& begins,
                 std::vector<ActivityId>& inputs);

  bool all_reduce() const { return options_.exchange == Exchange::AllReduce; }
  void add_ranks();
  void add_collectives();
  // One rank's messages, of several, stand for those of all.
  bool one_for_all() const { return all_reduce() && options_.all_reduce.aggregate && out_.workers > 1; }
  bool inside(std::uint32_t from, std::uint32_t to) const;
  program::ChannelId rank_channel(std::uint32_t from, std::uint32_t to);
  program::ChannelId receiving_channel(const channel::Channel& channel, std::uint32_t to);
  std::uint32_t stands_for(cluster::LinkKind kind) const;
  struct OfAll {
    program::ChannelId channel;
    std::uint32_t ranks = 1;  // whose messages one of it stands for
  };
  OfAll& channel_of_all(bool inside);
  // A bucket's collective between `begins` and the ends that it returns, one for each simulated rank.
  std::vector<ActivityId> add_collective(std::uint32_t bucket, Part part, ActivityId begins);
  void add_messages(std::uint32_t bucket, Part part, std::vector<std::vector<ActivityId>>& last);
  void add_reads(std::uint32_t worker, graph::ParameterId parameter, ActivityId op);
  void add_gradients(const Step& step);

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
  void add_background();

  const graph::Graph& graph_;
  const cluster::Cluster& cluster_;
  const plan::Layout& layout_;
  const Options options_;
  const bool training_;
  program::ProgramBuilder builder_;
  Compiled out_;
  std::array<std::vector<network::LinkId>, cluster::kLinkKinds> links_;  // by kind and number; none() if not made
  std::vector<program::ChannelId> pull_channel_;
  std::vector<program::ChannelId> push_channel_;
  std::vector<ActivityId> aggregate_;  // per transfer; shared updates only
  std::vector<ActivityId> update_;
  // All-reduce.
  struct Bucket {
    std::uint32_t leader = 0;  // its first transfer
    Bytes bytes;
    ActivityId ready;                        // all ranks have its gradients
    std::vector<ActivityId> done;            // per simulated rank: its parameters are there
    ActivityId turn, gather_turn, finished;  // of its collectives
  };
  std::vector<Bucket> buckets_;
  program::ChannelId turns_;
  program::ChannelId gather_turns_;
  std::vector<program::ChannelId> rank_streams_;  // per simulated rank
  std::array<OfAll, 2> of_all_;                   // between hosts, inside
  std::map<std::pair<std::uint32_t, std::uint32_t>, program::ChannelId> rank_channels_;
  std::vector<ActivityId> worker_done_;
  ActivityId step_end_;
};

}  // namespace stretto::training
