// SPDX-License-Identifier: Apache-2.0
// Who waits for whom in one step of a job with data and pipeline parallelism: the dependency model of what-if analysis
// (Lin et al., Understanding Stragglers in Large Model Training Using What-if Analysis, OSDI 2025, section 4), read off
// the timeline itself. The model is that of one data-parallel rank in one step; all ranks and steps share it.
//
// On one stage: computations follow each other in the order of their begins; so do the ops of each of the four kinds
// of pipeline messages, and the all-gathers and reduce-scatters. A receive is followed by its computation and follows
// the one before that of the same direction; a send follows its computation. The first backward messages of a stage
// follow the last but one forward computation before the first backward one. The first forward computation of a model
// chunk follows the all-gather of its parameters. After the last computation: gc, layernorm and embedding all-reduces,
// reduce-scatters, gradient clipping, optimizer. Where the trace has separate all-reduces, gradients overlap: a
// reduce-scatter follows the last backward computation of its chunk, and the last one precedes the all-reduces.
//
// Groups transfer once all members have begun: a send and its receive (the n-th of a kind meets the n-th of the peer),
// the embedding all-reduce of first and last stage, clipping across all stages. All-gathers, reduce-scatters, separate
// all-reduces and clipping also wait for the same op of all data-parallel ranks.
//
// Not in the trace, so not in the model: the host, data loading. Messages that were recorded but never sent (at the
// ends of the pipeline) have no partner. Cost: O(ops log ops) for one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/timeline/timeline.hpp"

namespace stretto::analysis {

struct StragglerGraph {
  struct Node {
    timeline::OpKind kind;
    std::int32_t stage;
    std::int32_t sequence;
  };
  struct Group {
    std::vector<std::uint32_t> members;
    bool across_dp = false;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<Node> nodes;
  std::vector<std::vector<std::uint32_t>> needs;  // per node: nodes that must end before it begins
  std::vector<std::uint32_t> group;               // per node: its group, or kNone (it takes its own duration)
  std::vector<Group> groups;
  std::vector<std::uint32_t> order;  // all nodes, each after those that it needs and after all groups that these need
};

// The model of the ops of one data-parallel rank in one step; nodes stand in the order of `step`. UserError if the
// ops do not fit it (a computation without message in the middle of the pipeline, a circle).
StragglerGraph straggler_graph(const std::vector<timeline::Op>& step, std::int32_t stages);

// "forward-compute 3 of stage 2"
std::string node_name(const StragglerGraph::Node& node);

}  // namespace stretto::analysis
