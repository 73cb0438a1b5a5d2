// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/what_if.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "experiment/setup/order_options.hpp"
#include "models/cluster/topology.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

namespace {

using analysis::ChangeKind;

// What several changes at once gain over the best of them is worth a line from here on.
constexpr double kWorthSaying = 0.01;

struct Change {
  std::string text;
  ChangeKind kind;
  std::function<void(Setup&)> apply;
  std::optional<PolicySpec> policy = {};  // in place of the one asked about
  std::vector<std::string> parts = {};    // changes before it that it makes at once
};

ChangedTime time_of(const Setup& setup, const Change& change, const PolicySpec& policy,
                    const SimulateOptions& options) {
  Setup changed = setup;
  try {
    change.apply(changed);
    const Measured m = simulate(changed, make_plan(changed, policy, options.seed), options);
    if (m.deadlock) return {std::nullopt, "the step would end in a deadlock"};
    return {m.mean(), ""};
  } catch (const UserError& error) {
    return {std::nullopt, error.diagnostics().front().message};
  }
}

bool has_limited_nic(const auto& hosts) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const auto& host) { return !host.nic.up.is_unlimited() || !host.nic.down.is_unlimited(); });
}

// Where what one rank does is what all do, and nothing of the setup is about servers.
bool all_reduce_instead(const Setup& setup) {
  const training::Options& o = setup.training;
  if (o.exchange != training::Exchange::ParameterServer || o.mode != training::Mode::Training ||
      o.synchronization != training::Synchronization::Sync || setup.cluster.workers.size() < 2 ||
      setup.cluster.network.fabric.kind != cluster::FabricKind::Star || !setup.variation.none())
    return false;
  cluster::Cluster alone = setup.cluster;
  alone.servers.clear();
  return training::why_no_aggregate(alone, o.all_reduce).empty();
}

// Each kind of link between hosts by itself, and all of them.
void add_faster_links(const Setup& setup, std::vector<Change>& list) {
  const auto faster_nics = [](auto& hosts) {
    for (auto& host : hosts) host.nic = {host.nic.up.scaled(2), host.nic.down.scaled(2)};
  };
  std::string links;
  Change all{"", ChangeKind::Hardware, {}};
  std::vector<std::function<void(Setup&)>> each;
  const auto add = [&](const std::string& kind, const std::function<void(Setup&)>& apply) {
    list.push_back({kind + " 2x faster", ChangeKind::Hardware, apply});
    links += (links.empty() ? "" : ", ") + kind;
    all.parts.push_back(list.back().text);
    each.push_back(apply);
  };
  if (has_limited_nic(setup.cluster.workers)) add("worker NICs", [=](Setup& s) { faster_nics(s.cluster.workers); });
  if (has_limited_nic(setup.cluster.servers)) add("server NICs", [=](Setup& s) { faster_nics(s.cluster.servers); });
  const auto& fabric = setup.cluster.network.fabric.links;
  if (std::any_of(fabric.begin(), fabric.end(), [](const auto& link) { return !link.rate.is_unlimited(); }))
    add("links between switches", [](Setup& s) {
      for (auto& link : s.cluster.network.fabric.links) link.rate = link.rate.scaled(2);
    });
  if (each.size() < 2) return;
  all.text = "the whole network 2x faster (" + links + ")";
  all.apply = [each](Setup& s) {
    for (const auto& apply : each) apply(s);
  };
  list.push_back(std::move(all));
}

// Would policy staggered have workers start one after the other?
bool can_stagger(const Setup& setup, std::uint64_t seed) {
  const training::Options& o = setup.training;
  if (o.exchange != training::Exchange::ParameterServer || o.mode != training::Mode::Training || !o.barrier ||
      o.synchronization != training::Synchronization::Sync)
    return false;
  const std::optional<plan::Plan> plan = try_staggered(setup, seed);
  return plan && std::any_of(plan->order.start_offsets.begin(), plan->order.start_offsets.end(),
                             [](Duration offset) { return offset > Duration(); });
}

// `own_layout`: the policy brings its layout; `own_placement`: at least the rule for it, so that another one changes
// nothing.
std::vector<Change> changes(const Setup& setup, bool own_layout, bool own_placement) {
  std::vector<Change> list;
  add_faster_links(setup, list);
  const auto& workers = setup.cluster.workers;
  if (setup.cluster.servers.empty() && std::any_of(workers.begin(), workers.end(), [](const cluster::Worker& w) {
        return w.with_worker && w.nvlink && !w.nvlink->is_unlimited();
      }))
    list.push_back({"NVLink 2x faster", ChangeKind::Hardware, [](Setup& s) {
                      for (auto& worker : s.cluster.workers)
                        if (worker.nvlink) worker.nvlink = worker.nvlink->scaled(2);
                    }});
  const bool servers = !setup.cluster.servers.empty();
  const auto with_servers = [&](std::size_t count, std::string text) {
    const auto more = cluster::with_servers(setup.cluster, static_cast<std::uint32_t>(count));
    if (more)
      list.push_back({std::move(text), ChangeKind::Hardware, [more](Setup& s) {
                        s.cluster = *more;
                        place(s);
                      }});
  };
  if (servers && setup.placement != "by_name" && setup.placement != "byteps" && !own_layout) {
    with_servers(setup.cluster.servers.size() + 1, "one more server");
    if (setup.cluster.servers.size() > 1) with_servers(2 * setup.cluster.servers.size(), "2x the servers");
  }
  if (setup.placement != "partitioned" && setup.cluster.servers.size() > 1 && !own_layout && !own_placement)
    list.push_back({"variables cut over the servers (placement: partitioned)", ChangeKind::Layout, [](Setup& s) {
                      s.placement = "partitioned";
                      s.placement_options = {};
                      place(s);
                    }});
  list.push_back({"devices 2x faster", ChangeKind::Hardware, [](Setup& s) {
                    for (auto& worker : s.cluster.workers) worker.device.speed *= 2;
                  }});
  if (std::any_of(setup.cluster.workers.begin(), setup.cluster.workers.end(), [](const cluster::Worker& worker) {
        return worker.device.copies_in() || worker.device.copies_out();
      }))
    list.push_back({"copies to and from devices 2x faster", ChangeKind::Hardware, [](Setup& s) {
                      for (auto& worker : s.cluster.workers) {
                        worker.device.copy_in = worker.device.copy_in.scaled(2);
                        worker.device.copy_out = worker.device.copy_out.scaled(2);
                      }
                    }});
  if (std::any_of(setup.cluster.servers.begin(), setup.cluster.servers.end(),
                  [](const cluster::Server& server) { return server.threads > 0 && server.cores == 0; }))
    list.push_back({"2x the servers' threads", ChangeKind::Hardware, [](Setup& s) {
                      for (auto& server : s.cluster.servers) server.threads *= 2;
                    }});
  if (setup.training.barrier && setup.training.mode == training::Mode::Training &&
      setup.training.synchronization != training::Synchronization::Backup)
    list.push_back({"no barrier between steps (training.barrier: false)", ChangeKind::Mode,
                    [](Setup& s) { s.training.barrier = false; }});
  if (servers && setup.training.mode == training::Mode::Training &&
      setup.training.synchronization == training::Synchronization::Sync)
    list.push_back(
        {"4 MiB slices over the servers (placement: {partitioned: {size: 4 MiB}}), barrier: false, policy "
         "layer_priority",
         ChangeKind::Mode,
         [](Setup& s) {
           s.training.barrier = false;
           s.placement = "partitioned";
           s.placement_options = {};
           s.placement_options.slice = Bytes(4 << 20);
           place(s);
         },
         PolicySpec{"layer_priority", {}, {}}});
  if (all_reduce_instead(setup))
    list.push_back({"all-reduce in place of servers (training.exchange: all_reduce)", ChangeKind::Mode,
                    [](Setup& s) {
                      s.cluster.servers.clear();
                      s.training.exchange = training::Exchange::AllReduce;
                      s.training.all_reduce.aggregate = true;
                      place(s);
                    },
                    PolicySpec{"wfbp", {}, {}}});
  return list;
}

bool more_than_parts(const Change& change, double gain, const analysis::PolicyResult& result) {
  return std::none_of(result.what_if.begin(), result.what_if.end(), [&](const analysis::WhatIf& w) {
    return std::find(change.parts.begin(), change.parts.end(), w.change) != change.parts.end() &&
           gain < w.gain + kWorthSaying;
  });
}

}  // namespace

void what_if(const Setup& setup, const PolicySpec& policy, double base_time, const SimulateOptions& options,
             OwnPolicyTimes& known, analysis::PolicyResult& result) {
  SimulateOptions few = options;
  few.warm_up = std::min<std::uint32_t>(options.warm_up, 2);
  few.iterations = std::min<std::uint32_t>(options.iterations, few.warm_up + 4);
  few.min_replications = few.max_replications = std::min<std::uint32_t>(options.max_replications, 4);
  const bool own_layout = policies::find_policy(policy.name).file == policies::FileKind::Schedule;
  const bool own_placement = !choose_policy(policy).placement.empty();
  std::vector<Change> list = changes(setup, own_layout, own_placement);
  if (policy.name != "staggered" && can_stagger(setup, options.seed))
    list.push_back({"workers that start one after the other (policy staggered)", ChangeKind::Order, [](Setup&) {},
                    PolicySpec{"staggered", {}, {}}});
  for (const Change& change : list) {
    if (change.policy && known.find(change.text) == known.end())
      known.emplace(change.text, time_of(setup, change, *change.policy, few));
    const ChangedTime time = change.policy ? known.at(change.text) : time_of(setup, change, policy, few);
    if (!time.mean_s)
      result.not_tried.push_back({change.text, time.reason});
    else if (const double gain = base_time / *time.mean_s - 1; more_than_parts(change, gain, result))
      result.what_if.push_back({change.text, gain, change.kind});
  }
  std::stable_sort(result.what_if.begin(), result.what_if.end(),
                   [](const analysis::WhatIf& a, const analysis::WhatIf& b) { return a.gain > b.gain; });
}

}  // namespace stretto::experiment
