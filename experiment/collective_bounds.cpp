// SPDX-License-Identifier: Apache-2.0
#include "experiment/collective_bounds.hpp"

#include <algorithm>

#include "models/plan/fusion.hpp"
#include "schedulers/bounds/collective.hpp"
#include "schedulers/bounds/stages.hpp"

namespace stretto::experiment {

namespace {

using bounds::CollectiveResource;
using training::Part;

// Bytes over each host's NIC.
struct Traffic {
  std::vector<std::int64_t> up;
  std::vector<std::int64_t> down;
};

Traffic traffic(const training::Collective& c, Bytes bytes) {
  const std::uint32_t g = std::min(c.host, c.ranks);
  const std::size_t hosts = (c.ranks + g - 1) / g;
  Traffic t{std::vector<std::int64_t>(hosts, 0), std::vector<std::int64_t>(hosts, 0)};
  if (symmetric(c)) {
    std::int64_t each = 0;
    for (const training::EqualRound& r : equal_rounds(c, bytes)) each += r.inside ? 0 : r.bytes.count() * g;
    std::fill(t.up.begin(), t.up.end(), each);
    std::fill(t.down.begin(), t.down.end(), each);
    return t;
  }
  for (const training::Round& round : rounds(c, bytes))
    for (const training::Send& s : round) {
      if (s.from / g == s.to / g) continue;
      t.up[s.from / g] += s.bytes.count();
      t.down[s.to / g] += s.bytes.count();
    }
  return t;
}

class Resources {
 public:
  Resources(const Setup& setup, const cluster::Cluster& cluster) : setup_(setup), cluster_(cluster) {
    const std::uint32_t g = setup.training.all_reduce.per_host;
    for (std::size_t w = 0; w < cluster.workers.size(); w += g) {
      const std::string name = g == 1 ? cluster.workers[w].name : "host " + std::to_string(w / g);
      list_.push_back({name + " NIC up", w, {}, {}});
      list_.push_back({name + " NIC down", w, {}, {}});
    }
    const training::AllReduce& o = setup.training.all_reduce;
    streams_ = o.streams == 1 && training::why_no_aggregate(cluster, o).empty();
    // Equal workers' streams differ by what their devices take for the ops.
    for (std::size_t w = 0; w < cluster.workers.size() && streams_; ++w)
      list_.push_back({cluster.workers[w].name + " stream", w, {}, {}});
  }

  void add(Part part, Bytes bytes) {
    const training::AllReduce& o = setup_.training.all_reduce;
    const training::Collective c = collective(cluster_, o, part);
    const Traffic t = traffic(c, bytes);
    const double efficiency = cluster_.network.efficiency;
    Duration held;
    if (streams_) {
      const auto rounding = Duration::ps(static_cast<std::int64_t>(equal_rounds(c, bytes).size()));
      held = std::max(collective_time(cluster_, o, part, bytes) - rounding, Duration());
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      Duration time = held;
      if (const std::size_t h = i / 2; h < t.up.size()) {
        const cluster::Nic& nic = cluster_.workers[list_[i].worker].nic;
        time = i % 2 == 0 ? bounds::least_duration(Bytes(t.up[h]), nic.up.scaled(efficiency))
                          : bounds::least_duration(Bytes(t.down[h]), nic.down.scaled(efficiency));
      }
      (part == Part::Gather ? list_[i].gather : list_[i].reduce).push_back(time);
    }
  }

  const std::vector<CollectiveResource>& list() const { return list_; }

 private:
  const Setup& setup_;
  const cluster::Cluster& cluster_;
  bool streams_ = false;
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
  const std::int64_t hosts = ranks / std::min<std::int64_t>(setup.training.all_reduce.per_host, ranks);
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
