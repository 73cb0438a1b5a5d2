// SPDX-License-Identifier: Apache-2.0
#include "experiment/bounds/collective_bounds.hpp"

#include <algorithm>
#include <map>

#include "models/cluster/topology.hpp"
#include "models/plan/fusion.hpp"
#include "schedulers/bounds/collective.hpp"
#include "schedulers/bounds/stages.hpp"

namespace stretto::experiment {

namespace {

using bounds::CollectiveResource;
using training::Part;

using cluster::LinkKind;
using cluster::LinkRef;
using Traffic = std::map<LinkRef, std::int64_t>;  // bytes

// Every link that the collective crosses.
Traffic traffic(const cluster::Cluster& cluster, const training::AllReduce& o, Part part, Bytes bytes) {
  const training::Collective c = collective(cluster, o, part);
  training::RankRoutes routes(cluster);
  Traffic t;
  if (!training::why_no_aggregate(cluster, o).empty()) {
    std::vector<std::int64_t> sent;
    for (const training::Round& round : rounds(c, bytes))
      for (const training::Send& s : round)
        for (const std::uint32_t link : routes.of(s.from, s.to).links) {
          sent.resize(std::max(sent.size(), routes.links()), 0);
          sent[link] += s.bytes.count();
        }
    for (std::size_t link = 0; link < sent.size(); ++link) t.emplace(routes.ref(link), sent[link]);
    return t;
  }
  std::map<LinkKind, std::int64_t> each;
  for (const training::EqualRound& r : equal_rounds(c, bytes))
    for (const std::uint32_t link : routes.of_all(r.inside).links) each[routes.ref(link).kind] += r.bytes.count();
  for (const auto& [kind, sent] : each) {
    const std::uint32_t ranks = routes.ranks_on(kind);
    for (std::uint32_t w = 0; w < c.ranks; w += ranks) t[{kind, w}] = sent * ranks;
  }
  return t;
}

class Resources {
 public:
  Resources(const Setup& setup, const cluster::Cluster& cluster) : setup_(setup), cluster_(cluster) {
    // A byte of each rank crosses all links that any collective does.
    for (const auto& [link, bytes] : traffic(cluster, setup.training.all_reduce, Part::Whole, Bytes(1))) {
      if (cluster::link_rate(cluster, link).is_unlimited()) continue;
      links_.push_back(link);
      list_.push_back({cluster::link_name(cluster, link), link.kind == LinkKind::Fabric ? 0 : link.of, {}, {}});
    }
    const training::AllReduce& o = setup.training.all_reduce;
    streams_ = o.streams == 1 && training::why_no_aggregate(cluster, o).empty();
    // Equal workers' streams differ by what their devices take for the ops.
    for (std::size_t w = 0; w < cluster.workers.size() && streams_; ++w)
      list_.push_back({cluster.workers[w].name + " stream", w, {}, {}});
  }

  void add(Part part, Bytes bytes) {
    const training::AllReduce& o = setup_.training.all_reduce;
    const Traffic t = traffic(cluster_, o, part, bytes);
    Duration held;
    if (streams_) {
      const auto rounding =
          Duration::ps(static_cast<std::int64_t>(equal_rounds(collective(cluster_, o, part), bytes).size()));
      held = std::max(collective_time(cluster_, o, part, bytes) - rounding, Duration());
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      Duration time = held;
      if (i < links_.size()) {
        const auto sent = t.find(links_[i]);
        time =
            bounds::least_duration(Bytes(sent == t.end() ? 0 : sent->second), cluster::link_rate(cluster_, links_[i]));
      }
      (part == Part::Gather ? list_[i].gather : list_[i].reduce).push_back(time);
    }
  }

  const std::vector<CollectiveResource>& list() const { return list_; }

 private:
  const Setup& setup_;
  const cluster::Cluster& cluster_;
  bool streams_ = false;
  std::vector<LinkRef> links_;  // of the first resources
  std::vector<CollectiveResource> list_;
};

}  // namespace

bounds::Bound all_reduce_bound(const Setup& setup, const graph::Graph& graph, const cluster::Cluster& cluster,
                               const plan::Layout& layout) {
  Resources resources(setup, cluster);
  for (const Bytes bytes : plan::bucket_bytes(layout)) {
    resources.add(layout.split ? Part::Reduce : Part::Whole, bytes);
    if (layout.split) resources.add(Part::Gather, bytes);
  }
  return bounds::collective_lower_bound(graph, cluster, layout, resources.list(), setup.training.barrier);
}

bounds::Bound any_all_reduce_bound(const Setup& setup, const graph::Graph& graph, const cluster::Cluster& cluster) {
  if (!training::why_no_aggregate(cluster, setup.training.all_reduce).empty())
    return {{}, "", "no bound for any fusion is known where workers differ"};
  plan::Layout layout = setup.layout;
  plan::fuse(graph, layout, Bytes());
  layout.split = false;
  const auto ranks = static_cast<std::int64_t>(cluster.workers.size());
  const std::int64_t hosts = ranks / cluster::workers_per_host(cluster);
  std::vector<CollectiveResource> nics{{"each host's NIC up", 0, {}, {}}, {"each host's NIC down", 0, {}, {}}};
  const double efficiency = cluster.network.efficiency;
  for (const Bytes bytes : plan::bucket_bytes(layout)) {
    const Bytes sent(bytes.count() / hosts * 2 * (hosts - 1));
    nics[0].reduce.push_back(bounds::least_duration(sent, cluster.workers[0].nic.up.scaled(efficiency)));
    nics[1].reduce.push_back(bounds::least_duration(sent, cluster.workers[0].nic.down.scaled(efficiency)));
  }
  // Heads and tails of single gradients hold for any bucket that they are in.
  return bounds::collective_lower_bound(graph, cluster, layout, nics, setup.training.barrier);
}

}  // namespace stretto::experiment
