// SPDX-License-Identifier: Apache-2.0
// The checker's model of all-reduce training (docs/model.md, section 8): what it is told of a job, the messages of a
// collective, an audit of timelines, and the steps as tasks for the replay. It shares no code with models/training.
//
// Every message of every worker is checked, so that what an engine leaves out by symmetry has to be simulated for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/check/job.hpp"
#include "schedulers/check/tasks.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

enum class Algorithm : std::uint8_t { Ring, HalvingDoubling, Tree, Hierarchical };

// `layout` has buckets, and one nominal server. The order of pushes is that of the collectives that reduce (all there
// are where the layout is not split), that of pulls the order of those that gather.
struct CollectiveJob : AnyJob {
  std::vector<Channel> channels;  // [from * workers + to]; of a worker to itself unused
  std::vector<Bandwidth> caps;    // of one message, as channels
  Algorithm algorithm = Algorithm::Ring;
  std::uint32_t per_host = 1;  // neighbours on one host
  std::uint32_t streams = 1;   // collectives that a worker does at a time
  bool barrier = true;

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(workers.size()); }
  const plan::DirectionOrder& direction(bool gather) const { return gather ? order.pull : order.push; }
};

struct Send {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Bytes bytes;
};

// The messages of one collective, round by round: all of them, or only those up to the middle or from there on.
std::vector<std::vector<Send>> rounds(const CollectiveJob& job, Bytes bytes, bool reduces, bool gathers);

struct Bucket {
  std::uint32_t leader = 0;  // first transfer, which names it
  Bytes bytes;
  std::vector<std::uint32_t> parameters;
  // Least rank of its transfers in the order of collectives that reduce and of those that gather; kUnranked: none.
  std::uint32_t rank[2] = {plan::kUnranked, plan::kUnranked};
};
std::vector<Bucket> buckets(const CollectiveJob& job);
// Per parameter the buckets that it is in, lowest first.
std::vector<std::vector<std::uint32_t>> buckets_of(const CollectiveJob& job, const std::vector<Bucket>& buckets);

// Buckets by rank, of those that have one; equal ranks by leader.
std::vector<std::uint32_t> ranked_buckets(const std::vector<Bucket>& buckets, bool gather);

// What is recorded. Op: worker, item, pass, ready, begin, end. Turn: item is a bucket; ready, handed, batch. Enter: the
// worker has a stream for the collective since `begin`. Message: `worker` sends, to `to`, in `round`; all stages.
struct CollectiveEvent : Happening {
  enum class What : std::uint8_t { Op, Turn, Enter, Message };
  What what = What::Op;
  bool gather = false;  // of the later half, where the layout is split
  std::uint32_t round = 0;
  std::uint32_t to = 0;
  Bytes bytes;
};

// Ends: one list with a barrier, else one per worker.
using CollectiveTimeline = TimelineOf<CollectiveEvent>;

// The first violation, in the order of these rules (docs/verify.md says what each means): once, duration, dependency,
// end, order, streams, wire, device, threads, capacity. O(events log events); by priority or credit, times the
// collectives that wait.
std::optional<Violation> audit(const CollectiveJob& job, const CollectiveTimeline& timeline);

// Why a job cannot be replayed, or nothing.
std::string why_no_replay(const CollectiveJob& job);

// Messages of a step.
double message_count(const CollectiveJob& job);

// For replay(); wires point into `job`. Ends as in Tasks.
Tasks unroll(const CollectiveJob& job, std::uint32_t steps);

}  // namespace stretto::check
