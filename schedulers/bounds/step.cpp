// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/graph/reduce.hpp"
#include "schedulers/bounds/stages.hpp"

namespace stretto::bounds {

namespace {

// The largest of the bounds offered.
class Best {
 public:
  void offer(const Part& part, const char* kind) { offer(part.value, fmt::format("{} of {}", kind, part.resource)); }
  void offer(Duration value, std::string name) {
    if (!bound_.value || value > *bound_.value) bound_ = {value, std::move(name), ""};
  }
  Bound take() { return std::move(bound_); }

 private:
  Bound bound_;
};

void offer_sum(Best& best, const Part& forward, const Part& backward) {
  best.offer(forward.value + backward.value,
             fmt::format("tail bounds of {} and {}", forward.resource, backward.resource));
}

const Part& least(const std::vector<Part>& parts) {
  return *std::min_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.value < b.value; });
}

void add_loads(Best& best, const Stage& stage, std::size_t servers) {
  for (std::size_t k = 0; k < stage.kinds().size(); ++k) best.offer(stage.load_of_worker(k), "load bound");
  for (std::size_t s = 0; s < servers; ++s) best.offer(stage.load_of_server(s), "load bound");
  for (const SharedLink& link : stage.shared()) best.offer(stage.load_of_link(link), "load bound");
}

// All workers start together: every resource by itself, then forward + backward.
void add_barrier(Best& best, const Stage& stage, std::size_t servers) {
  const auto kinds = stage.kinds().size();
  for (std::size_t k = 0; k < kinds; ++k) best.offer(stage.pulls_of_worker(k, false), "tail bound");
  for (std::size_t s = 0; s < servers; ++s) best.offer(stage.pulls_of_server(s, false), "tail bound");
  for (const SharedLink& link : stage.shared()) best.offer(stage.pulls_of_link(link, false), "tail bound");
  if (!stage.training()) return;
  for (std::size_t k = 0; k < kinds; ++k) best.offer(stage.pushes_of_worker(k, false), "tail bound");
  for (std::size_t s = 0; s < servers; ++s) best.offer(stage.pushes_of_server(s, false), "tail bound");
  for (const SharedLink& link : stage.shared()) best.offer(stage.pushes_of_link(link, false), "tail bound");
  if (!stage.split().holds) return;
  std::vector<Part> forward;
  std::vector<Part> backward;
  for (std::size_t k = 0; k < kinds; ++k) {
    forward.push_back(stage.pulls_of_worker(k, true));
    backward.push_back(stage.pushes_of_worker(k, true));
    offer_sum(best, forward.back(), backward.back());
  }
  for (std::size_t s = 0; s < servers; ++s) {
    offer_sum(best, stage.pulls_of_server(s, true), least(backward));
    offer_sum(best, least(forward), stage.pushes_of_server(s, true));
  }
  for (const SharedLink& link : stage.shared()) {
    offer_sum(best, stage.pulls_of_link(link, true), least(backward));
    offer_sum(best, least(forward), stage.pushes_of_link(link, true));
  }
}

// Several losses, each worker's in an order that is not known: what the least of all pairs of a first and a last loss
// leaves. All pulls that a loss needs are in at the last one, and no push has begun at the first one, so that
//   step >= all pulls until the last loss + pushes behind that loss,   step >= pulls until the first loss + all pushes.
void add_losses(Best& best, const Stage& whole, const Losses& losses, const graph::Graph& graph,
                const cluster::Cluster& cluster, const plan::Layout& layout, bool sliced) {
  const auto n = losses.each.size();
  const auto name = [n](const Part& forward, const Part& backward) {
    return fmt::format("tail bounds of {} and {}, with {} losses", forward.resource, backward.resource, n);
  };
  const Stage last(graph, cluster, layout, true, sliced, &losses.last);
  const Stage first(graph, cluster, layout, true, sliced, &losses.first);
  std::vector<Part> forward;   // until each loss, of the worker that needs least
  std::vector<Part> backward;  // behind each loss
  for (std::size_t i = 0; i < n; ++i) {
    const Stage stage(graph, cluster, layout, true, sliced, &losses.each[i]);
    forward.push_back(stage.pulls_of_worker(0, true));
    backward.push_back(stage.pushes_of_worker(0, true));
    for (std::size_t k = 1; k < stage.kinds().size(); ++k) {
      const Part parts[] = {stage.pulls_of_worker(k, true), stage.pushes_of_worker(k, true)};
      if (parts[0].value < forward.back().value) forward.back() = parts[0];
      if (parts[1].value < backward.back().value) backward.back() = parts[1];
    }
  }
  const auto offer = [&](const Part& all_forward, const Part& all_backward) {
    std::optional<Part> least;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        Part pair{all_forward.value + backward[j].value, name(all_forward, backward[j])};
        pair.offer(forward[i].value + all_backward.value, name(forward[i], all_backward));
        if (!least || pair.value < least->value) least = pair;
      }
    best.offer(least->value, least->resource);
  };
  for (std::size_t k = 0; k < whole.kinds().size(); ++k)
    offer(last.pulls_of_worker(k, true), first.pushes_of_worker(k, true));
  for (std::size_t s = 0; s < cluster.servers.size(); ++s)
    offer(last.pulls_of_server(s, true), first.pushes_of_server(s, true));
}

// Nothing is pushed, so workers go on by themselves, each measured over a time of its own: the mean over workers of
// each one's own bound. A server's load holds for a time that all share, so not here.
void add_independent(Best& best, const Stage& stage) {
  std::vector<Part> parts;
  for (std::size_t k = 0; k < stage.kinds().size(); ++k) parts.push_back(stage.pulls_of_worker(k, false));
  Duration sum;
  for (std::size_t w = 0; w < stage.workers(); ++w) sum += parts[stage.kind_of(w)].value;
  const auto mean = Duration::ps(sum.ps() / static_cast<std::int64_t>(stage.workers()));
  best.offer(mean, parts.size() == 1 ? fmt::format("tail bound of {}", parts.front().resource)
                                     : "mean of the workers' tail bounds");
}

Bound bound_of(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout, bool training,
               bool barrier, bool sliced, const Facts& facts) {
  if (cluster.workers.empty() || cluster.servers.empty()) return {{}, "", "no workers or no servers"};
  const Stage stage(graph, cluster, layout, training, sliced, nullptr, facts);
  const auto servers = cluster.servers.size();
  Best best;
  if (barrier || (!stage.updates() && stage.workers() == 1)) {
    add_loads(best, stage, servers);
    add_barrier(best, stage, servers);
    if (training && !stage.split().holds)
      if (const Losses losses = stage.several_losses(); !losses.each.empty())
        add_losses(best, stage, losses, graph, cluster, layout, sliced);
  } else if (!stage.updates()) {
    add_independent(best, stage);
  } else {
    add_loads(best, stage, servers);
    if (stage.split().holds) {
      for (std::size_t k = 0; k < stage.kinds().size(); ++k) best.offer(stage.period_of_worker(k), "steady bound");
      for (std::size_t s = 0; s < servers; ++s) best.offer(stage.period_of_server(s), "steady bound");
      for (const SharedLink& link : stage.shared()) best.offer(stage.period_of_link(link), "steady bound");
    }
  }
  return best.take();
}

Bandwidth added(Bandwidth a, Bandwidth b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.bits_per_second(), b.bits_per_second(), &sum)) return Bandwidth::unlimited();
  return Bandwidth(sum);
}

cluster::ServiceCost least(const cluster::ServiceCost& a, const cluster::ServiceCost& b) {
  return {std::min(a.per_message, b.per_message), std::min(a.per_byte_ps, b.per_byte_ps)};
}

// One server that can do whatever the servers can do together, however the variables lie on them. Which links of the
// fabric a byte crosses is up to the layout, so that none of them limits.
cluster::Cluster with_one_server(const cluster::Cluster& cluster) {
  cluster::Cluster result = cluster;
  result.servers.resize(1);
  result.network.fabric = {};
  cluster::Server& all = result.servers.front();
  for (std::size_t s = 1; s < cluster.servers.size(); ++s) {
    const cluster::Server& server = cluster.servers[s];
    all.nic.up = added(all.nic.up, server.nic.up);
    all.nic.down = added(all.nic.down, server.nic.down);
    all.threads = all.threads == 0 || server.threads == 0 ? 0 : all.threads + server.threads;
    all.send = least(all.send, server.send);
    all.receive = least(all.receive, server.receive);
    all.update_rate = std::max(all.update_rate, server.update_rate);
    result.network.rate_cap = added(result.network.rate_cap, cluster.network.rate_cap);
  }
  return result;
}

plan::Layout whole_layout(const graph::Graph& graph) {
  plan::Layout layout;
  layout.first.push_back(0);
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, graph.parameters[p].bytes, 0});
    layout.first.push_back(static_cast<std::uint32_t>(p + 1));
  }
  return layout;
}

}  // namespace

Bound step_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                       bool training, bool barrier, const Facts& facts) {
  return training ? bound_of(graph, cluster, layout, true, barrier, false, facts)
                  : bound_of(graph::forward_only(graph), cluster, layout, false, barrier, false, {});
}

Bound any_layout_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, bool training, bool barrier,
                             const Facts& facts) {
  if (cluster.servers.empty()) return {{}, "", "no workers or no servers"};
  const auto one = with_one_server(cluster);
  const auto layout = whole_layout(graph);
  return training ? bound_of(graph, one, layout, true, barrier, true, facts)
                  : bound_of(graph::forward_only(graph), one, layout, false, barrier, true, {});
}

}  // namespace stretto::bounds
