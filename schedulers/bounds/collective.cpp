// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedulers/bounds/stages.hpp"

namespace stretto::bounds {

namespace {

struct Bucket {
  Duration head;
  Duration tail;
  bool read = false;
};

// Heads and tails of the buckets as one worker kind sees them.
std::vector<Bucket> buckets_of(const graph::Graph& graph, const plan::Layout& layout, const Work& work, bool barrier,
                               const std::vector<bool>& read) {
  std::vector<Bucket> buckets;
  for (std::size_t t = 0; t < layout.transfers.size(); ++t) {
    const std::uint32_t b = layout.bucket[t];
    if (b == plan::kUnranked) continue;
    if (buckets.size() <= b) buckets.resize(b + 1);
    const std::size_t p = layout.transfers[t].parameter.index();
    STRETTO_ASSERT(graph.parameters[p].gradient.valid(), "parameter {} has no gradient", p);
    buckets[b].head = std::max(buckets[b].head, barrier ? work.head[p] : work.head_from_loss[p]);
    if (!barrier) buckets[b].tail = std::max(buckets[b].tail, work.tail_to_loss[p]);
    buckets[b].read = buckets[b].read || read[p];
  }
  return buckets;
}

Duration machine(const CollectiveResource& resource, const std::vector<Bucket>& buckets, bool all) {
  std::vector<Job> jobs;
  Duration last;
  for (const Bucket& b : buckets) last = std::max(last, b.head);
  const bool split = !resource.gather.empty();
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (!all && !buckets[b].read) continue;
    jobs.push_back({buckets[b].head, resource.reduce[b], split ? Duration() : buckets[b].tail});
    if (split) jobs.push_back({last, resource.gather[b], buckets[b].tail});
  }
  return one_machine_bound(std::move(jobs));
}

Duration load(const CollectiveResource& resource) {
  Duration sum;
  for (const Duration d : resource.reduce) sum += d;
  for (const Duration d : resource.gather) sum += d;
  return sum;
}

}  // namespace

Bound collective_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const std::vector<CollectiveResource>& resources, bool barrier) {
  cluster::Cluster with_server = cluster;
  with_server.servers.assign(1, cluster::Server());
  const Stage stage(graph, with_server, layout, true, false);
  std::vector<bool> read(graph.parameters.size(), false);
  for (const graph::Op& op : graph.ops)
    for (const graph::ParameterId p : op.reads) read[p.index()] = true;
  Bound best;
  const auto offer = [&](Duration value, std::string name) {
    if (!best.value || value > *best.value) best = {value, std::move(name), ""};
  };
  std::vector<std::vector<Bucket>> seen;  // by kind
  for (std::size_t k = 0; k < stage.kinds().size(); ++k) {
    offer(cluster.step_overhead + stage.work(k).all,
          fmt::format("load bound of {} device", cluster.workers[stage.kinds()[k]].name));
    seen.push_back(buckets_of(graph, layout, stage.work(k), barrier, read));
  }
  if (barrier)
    for (auto& buckets : seen)
      for (std::size_t b = 0; b < buckets.size(); ++b)
        for (const auto& other : seen) buckets[b].head = std::max(buckets[b].head, other[b].head);
  for (const CollectiveResource& r : resources) {
    offer(load(r), fmt::format("load bound of {}", r.name));
    const std::vector<Bucket>& buckets = seen[stage.kind_of(r.worker)];
    if (barrier)
      offer(cluster.step_overhead + machine(r, buckets, true), fmt::format("head bound of {}", r.name));
    else if (stage.split().holds)
      offer(machine(r, buckets, false), fmt::format("loss-to-loss bound of {}", r.name));
  }
  return best;
}

}  // namespace stretto::bounds
