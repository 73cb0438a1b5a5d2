// SPDX-License-Identifier: Apache-2.0
// Topologies end to end: closed forms of single steps, and experiments from their text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "experiment/run/runner.hpp"
#include "experiment/setup/setup.hpp"
#include "models/cluster/topology.hpp"
#include "models/training/compile.hpp"
#include "sim/network/fluid.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::PolicyResult;
using analysis::ResourceUse;

std::string text(const std::string& more) {
  const std::string policies = more.find("policies:") == std::string::npos ? "policies: [fifo]\n" : "";
  return "stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") + "}\n" + policies +
         "runs: {iterations: 6, warm_up: 2, replications: 1}\n" + more;
}

Experiment read(const std::string& more) {
  return read_experiment(text(more), "topology.yaml", {}, {source_path("configs")});
}

cluster::Cluster cluster_of(const std::string& more) {
  Workloads workloads;
  return make_setup(read(more).points.at(0).spec, workloads).cluster;
}

std::string findings(const std::string& more) {
  try {
    read(more);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "";
}

// One variable of 1000 bytes on server 0, read by an op that takes next to no time; NICs of 1 byte/us.
constexpr std::int64_t kBytes = 1000;
const std::string kSlow = "8 Mbit/s";

// Time of a step in us: all pulls, then with `training` all pushes.
double step_us(const cluster::Cluster& c, bool training) {
  graph::Graph g;
  g.name = "one variable";
  graph::Parameter v;
  v.name = "v";
  v.bytes = Bytes(kBytes);
  v.trainable = training;
  if (training) v.gradient = graph::OpId(1);
  g.parameters.push_back(v);
  graph::Op forward;
  forward.name = "forward";
  forward.time = Duration::ps(1);
  forward.reads.emplace_back(0);
  g.ops.push_back(forward);
  graph::Op backward;
  backward.name = "backward";
  backward.phase = graph::Phase::Backward;
  backward.time = Duration::ps(1);
  backward.inputs.emplace_back(0);
  if (training) g.ops.push_back(backward);
  plan::Layout layout;
  layout.first = {0, 1};
  layout.servers = static_cast<std::uint32_t>(c.servers.size());
  layout.transfers.push_back({graph::ParameterId(0), 0, Bytes(kBytes), 0});
  const auto compiled =
      training::compile(g, c, layout, {training ? training::Mode::Training : training::Mode::Inference, true});
  const auto table = training::compile_order(compiled, layout, {}, 1);
  program::Simulation sim(compiled.program, table, 2);
  EXPECT_EQ(sim.run_until(2), program::Status::Reached);
  return (sim.marker_times(0)[1] - sim.marker_times(0)[0]).seconds() * 1e6;
}

std::string cluster(const std::string& workers, const std::string& network) {
  return fmt::format("cluster: {{workers: {{{}}}, servers: {{nic: unlimited}}, network: {{{}}}}}\n", workers, network);
}

TEST(TopologyRun, FanOutAndIncastOfOneServer) {
  const auto c = cluster_of("cluster: {workers: {count: 5, nic: 80 Mbit/s}, servers: {nic: " + kSlow + "}}\n");
  EXPECT_NEAR(step_us(c, false), 5 * kBytes, 0.1);
  EXPECT_NEAR(step_us(c, true), 2 * 5 * kBytes, 0.1);
}

TEST(TopologyRun, ARackSharesItsUplink) {
  // Rack 0 holds the server and two workers, rack 1 four workers behind 2 bytes/us; NICs carry 8 bytes/us.
  const auto c = cluster_of(cluster("count: 6, nic: 64 Mbit/s",
                                    "topology: racks, racks: {uplink: 16 Mbit/s}, hop_latency: 5 us, "
                                    "workers_at: [0, 0, 1, 1, 1, 1], latency: 10 us"));
  // Two latencies: of the request and of the pull; each crosses two links between switches.
  EXPECT_NEAR(step_us(c, false), 2 * 20 + 4 * kBytes / 2.0, 0.1);
  EXPECT_NEAR(step_us(c, true), 3 * 20 + 2 * 4 * kBytes / 2.0, 0.1);
}

TEST(TopologyRun, OversubscriptionIsTheRatioToNics) {
  const auto c = cluster_of(
      "cluster: {workers: {count: 8, nic: 10 Gbit/s}, servers: {count: 2, nic: 20 Gbit/s}, "
      "network: {topology: racks, racks: {count: 2, oversubscription: 3}}}\n");
  ASSERT_EQ(c.network.fabric.links.size(), 4U);
  EXPECT_EQ(c.network.fabric.links[0].rate, Bandwidth(20'000'000'000));
  EXPECT_EQ(c.workers[3].port, 0U);
  EXPECT_EQ(c.workers[4].port, 1U);
  EXPECT_EQ(c.servers[1].port, 1U);
  const auto ratio = cluster_of(
      "cluster: {workers: {count: 2}, network: {topology: racks, racks: {oversubscription: 2}, "
      "comm_compute_ratio: 1, servers_at: [1]}}\n");
  EXPECT_EQ(ratio.network.fabric.links[0].rate, ratio.workers[0].nic.up.scaled(0.5));
  EXPECT_EQ(ratio.network.fabric.links[2].rate, ratio.workers[0].nic.up);
}

TEST(TopologyRun, WorkersOfAHostShareItsNic) {
  for (const int per_host : {1, 2, 4, 3}) {
    const auto c = cluster_of(cluster(fmt::format("count: 4, per_host: {}, nic: {}", per_host, kSlow), ""));
    EXPECT_NEAR(step_us(c, false), per_host * kBytes, 0.1) << per_host;
    EXPECT_NEAR(step_us(c, true), 2 * per_host * kBytes, 0.1) << per_host;
  }
}

TEST(TopologyRun, PcieIsOfEachDevice) {
  const auto c = cluster_of(cluster("count: 4, per_host: 4, nic: 80 Mbit/s, pcie: " + kSlow, ""));
  EXPECT_NEAR(step_us(c, false), kBytes, 0.1);
}

TEST(TopologyRun, TrafficInsideAHostLeavesTheNicAlone) {
  const auto c = cluster_of("cluster: {workers: {count: 4, per_host: 2, nic: " + kSlow +
                            "}, servers: {colocated: true}, network: {latency: 1 ms}}\n");
  // Workers 2 and 3 share the NIC of their host; 0 and 1 have the server beside them.
  EXPECT_NEAR(step_us(c, false), 2000 + 2 * kBytes, 0.1);
  const auto local = cluster_of("cluster: {workers: {count: 2, per_host: 2, nic: " + kSlow +
                                "}, servers: {colocated: true}, network: {latency: 1 ms, loopback: 16 Mbit/s}}\n");
  EXPECT_NEAR(step_us(local, false), 2 * kBytes / 2.0, 0.1);
}

TEST(TopologyRun, GroupsOverrideTheDefaults) {
  const auto c = cluster_of(
      "cluster: {workers: {nic: 10 Gbit/s, per_host: 2, device: {speed: 2}, groups: [{count: 3}, {count: 2, device: "
      "{speed: 0.5, name: old}, nic: {up: 1 Gbit/s, down: 2 Gbit/s}, pcie: 4 GB/s, per_host: 1}]}, servers: {nic: 10 "
      "Gbit/s}}\n");
  ASSERT_EQ(c.workers.size(), 5U);
  EXPECT_EQ(c.workers[1].with_worker, 0U);
  EXPECT_FALSE(c.workers[2].with_worker);
  EXPECT_FALSE(c.workers[3].with_worker);
  EXPECT_FALSE(c.workers[4].with_worker);
  EXPECT_EQ(c.workers[2].device.speed, 2);
  EXPECT_EQ(c.workers[3].device.speed, 0.5);
  EXPECT_EQ(c.workers[4].device.name, "old");
  EXPECT_EQ(c.workers[4].nic.down, Bandwidth(2'000'000'000));
  EXPECT_EQ(c.workers[4].pcie, Bandwidth(32'000'000'000));
}

// All workers of a full fat tree send to a worker of another pod at once: each at the rate of its NIC.
TEST(TopologyRun, APermutationOfAFatTreeRunsAtLineRate) {
  const auto c = cluster_of(
      "cluster: {workers: {count: 15, nic: 10 Gbit/s}, servers: {nic: 10 Gbit/s}, network: {topology: fat_tree}}\n");
  ASSERT_EQ(c.network.fabric.links.at(0).rate, Bandwidth(10'000'000'000));
  network::Wires wires;
  std::vector<std::pair<cluster::LinkRef, network::LinkId>> known;
  const auto link = [&](cluster::LinkRef ref) {
    const auto at = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == ref; });
    if (at != known.end()) return at->second;
    known.emplace_back(ref, wires.add_link(cluster::link_name(c, ref), cluster::link_rate(c, ref)));
    return known.back().second;
  };
  const auto end = [](std::uint32_t slot) { return slot == 15 ? cluster::End{true, 0} : cluster::End{false, slot}; };
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::vector<network::LinkId> links;
    for (const cluster::LinkRef ref : cluster::route(c, end(i), end((i + 5) % 16)).links) links.push_back(link(ref));
    wires.add_route(links);
  }
  network::FluidNetwork net(wires);
  for (std::uint32_t i = 0; i < 16; ++i) net.start(Time(), network::RouteId(i), Bytes(1'000'000), i);
  net.solve(Time());
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_DOUBLE_EQ(net.rate(network::RouteId(i)) * 8e12, 10e9) << i;
}

TEST(TopologyRun, ListedLinksAreRoutes) {
  const auto c = cluster_of(cluster("count: 2, nic: 80 Mbit/s",
                                    "topology: links, latency: 1 us, hop_latency: 2 us, links: ["
                                    "{between: [worker 0, leaf], rate: 80 Mbit/s}, {between: [leaf, server 0], rate: " +
                                        kSlow + ", latency: 4 us}, {between: [worker 1, leaf], rate: 40 Mbit/s}]"));
  EXPECT_EQ(cluster::latency(c, 0, 0), Duration::us(7));
  EXPECT_EQ(cluster::pull_rate(c, 0, 0), Bandwidth(8'000'000));
  EXPECT_NEAR(step_us(c, false), 2 * 7 + 2 * kBytes, 0.1);
}

TEST(TopologyRun, BackgroundTakesItsRateFromItsRoute) {
  const std::string head = "cluster: {workers: {count: 2, nic: 16 Mbit/s}, servers: {nic: 16 Mbit/s}, network: {";
  EXPECT_NEAR(step_us(cluster_of(head + "latency: 0 us}}\n"), false), 2 * kBytes / 2.0, 0.1);
  // A quarter of the server's NIC is left, each way.
  const auto c = cluster_of(head +
                            "background: [{from: server 0, to: worker 0, rate: 4 Mbit/s}, {from: server 0, to: "
                            "worker 1, rate: 8 Mbit/s}, {from: worker 1, to: server 0, rate: 12 Mbit/s}]}}\n");
  EXPECT_EQ(cluster::pull_rate(c, 0, 0), Bandwidth(4'000'000));
  EXPECT_NEAR(step_us(c, false), 2 * kBytes / 0.5, 0.1);
  EXPECT_NEAR(step_us(c, true), 4 * kBytes / 0.5, 0.1);
}

TEST(TopologyRun, BoundsHoldUnderBackground) {
  const RunOutput out =
      run(read("cluster: {workers: {count: 3, per_host: 2, nic: 1 Gbit/s}, servers: {nic: 2 Gbit/s}, network: "
               "{background: [{from: server 0, to: worker 2, rate: 900 Mbit/s}]}}\n"),
          {}, {});
  const PolicyResult& r = out.result.results.back();
  ASSERT_TRUE(r.lower_bound_s.value);
  EXPECT_GE(r.step_time.estimate.mean, *r.lower_bound_s.value * (1 - 1e-9));
  EXPECT_GE(r.step_time.estimate.mean, *r.lower_bound_any_layout_s.value * (1 - 1e-9));
}

// Ring of four over two racks: 6 rounds of a quarter. Dealt in blocks, one message of a round leaves each rack; spread,
// all of them do and share the uplinks.
TEST(TopologyRun, AnAllReduceCrossesTheFabric) {
  const auto time = [](const std::string& deal) {
    Workloads workloads;
    const experiment::Setup setup = make_setup(
        read("cluster: {workers: {count: 4, nic: 80 Mbit/s}, network: {topology: racks, latency: 1 us, hop_latency: 2 "
             "us, workers_at: " +
             deal + ", racks: {uplink: " + kSlow + "}}}\ntraining: {exchange: all_reduce}\npolicies: [wfbp]\n")
            .points.at(0)
            .spec,
        workloads);
    return training::collective_time(setup.cluster, setup.training.all_reduce, training::Part::Whole, Bytes(4000))
               .seconds() *
           1e6;
  };
  EXPECT_NEAR(time("blocks"), 6 * (5 + 1000), 0.1);
  EXPECT_NEAR(time("spread"), 6 * (5 + 2000), 0.1);
}

const ResourceUse* find(const PolicyResult& r, const std::string& name) {
  const auto at =
      std::find_if(r.resources.begin(), r.resources.end(), [&](const ResourceUse& u) { return u.name == name; });
  return at == r.resources.end() ? nullptr : &*at;
}

TEST(TopologyRun, EveryTopologyRunsAndNamesItsLinks) {
  const std::string head = "cluster: {workers: {count: 4, nic: 10 Gbit/s}, servers: {nic: 10 Gbit/s}, network: {";
  const std::string slow = "rate: 100 Mbit/s}";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"topology: star", ""},
      {"topology: racks, racks: {uplink: 100 Mbit/s}, workers_at: [1, 1, 1, 1], servers_at: [0]", "rack 0 uplink"},
      {"topology: fat_tree, fat_tree: {" + slow + ", servers_at: [15]", "pod 3 aggregation 1 to edge 1"},
      {"topology: links, workers_at: [a, a, a, a], servers_at: [b], links: [{between: [a, b], " + slow + "]", "b to a"},
  };
  for (const auto& [network, bottleneck] : cases) {
    const RunOutput out = run(read(head + network + "}}\n"), {}, {});
    const PolicyResult& r = out.result.results.back();
    ASSERT_FALSE(r.deadlock) << network;
    ASSERT_TRUE(r.lower_bound_s.value) << network;
    EXPECT_GE(r.step_time.estimate.mean, *r.lower_bound_s.value * (1 - 1e-9)) << network;
    if (bottleneck.empty()) continue;
    const ResourceUse* use = find(r, bottleneck);
    ASSERT_NE(use, nullptr) << network;
    EXPECT_GT(use->utilisation, 0.4) << network;
    EXPECT_NE(r.verdict.find(bottleneck), std::string::npos) << r.verdict;
    EXPECT_TRUE(std::any_of(r.what_if.begin(), r.what_if.end(),
                            [](const auto& w) { return w.change == "links between switches 2x faster"; }));
  }
}

TEST(TopologyRun, WrongTopologiesAreRefusedWithNames) {
  const auto network = [](const std::string& more, const std::string& workers = "count: 4") {
    return findings("cluster: {workers: {" + workers + "}, network: {" + more + "}}\n");
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {network("racks: {count: 2}"), "means nothing with topology: star"},
      {network("topology: racks, racks: {oversubscription: 2}"), "the NIC of worker 0 has no limit"},
      {network("topology: racks, racks: {oversubscription: 2, uplink: 1 Gbit/s}"), "leave one of them out"},
      {network("topology: racks, workers_at: [0, 1]"), "2 places for 4 hosts of workers"},
      {network("topology: racks, workers_at: [0, 1, 2, 0]"), "there is no place '2'"},
      {network("topology: fat_tree, fat_tree: {k: 3}"), "even k"},
      {network("topology: fat_tree, fat_tree: {k: 2}"), "5 hosts do not fit in 2 slots"},
      {network("topology: fat_tree, workers_at: [0, 1, 1, 2]"), "slot 1 is taken twice"},
      {network("topology: links"), "no links are listed"},
      {network("topology: links, links: [{between: [worker 0, x], rate: 1 Gbit/s}]"), "no link ends at 'worker 1'"},
      {network("topology: links, workers_at: [a, a, a, a], servers_at: [b], links: [{from: a, to: b, rate: 1 Gbit/s}]"),
       "no links lead from server 0 to worker 0"},
      {network("topology: links, workers_at: spread, links: [{from: a, to: b, rate: 1 Gbit/s}]"), "have names"},
      {network("topology: links, links: [{between: [a, a], rate: 1 Gbit/s}]"), "joins 'a' with itself"},
      {network("topology: links, links: [{from: a, rate: 1 Gbit/s}]"), "a link has two ends"},
      {network("topology: links, links: [{between: [a, b]}]"), "'rate' is missing"},
      {network("comm_compute_ratio: 1", "groups: [{count: 2}]"), "workers.groups may differ"},
      {network("streams: 1", "count: 3, groups: [{count: 2}]"), "the groups have 2 workers"},
      {network("streams: 1", "groups: [{count: 2, device: {speed: 0}}]"), "out of range"},
      {network("streams: 1", "groups: [{nic: 1 Gbit/s}]"), "'count' is missing"},
      {network("streams: 1", "groups: [{count: 2, nic: {up: 1 Gbit/s}}]"), "'down' is missing"},
      {network("streams: 1", "groups: [{count: 2, device: {cores: 3}}]"), "a gpu has no cores"},
      {findings(
           "cluster: {workers: {groups: [{count: 2, per_host: 2}, {count: 1}]}}\ntraining: {exchange: all_reduce}\n"
           "all_reduce: {algorithm: hierarchical}\n"),
       "hierarchical needs hosts of equally many workers"},
      {findings(
           "cluster: {workers: {count: 2}, network: {topology: links, workers_at: [a, b], links: [{from: a, to: b, "
           "rate: 1 Gbit/s}]}}\ntraining: {exchange: all_reduce}\n"),
       "no links lead from worker 1 to worker 0"},
      {network("background: [{from: server 0, to: worker 9, rate: 1 Gbit/s}]"), "there is no 'worker 9'"},
      {network("background: [{from: server 0, to: server 0, rate: 1 Gbit/s}]"), "sends to itself"},
      {network("background: [{from: server 0, to: worker 0}]"), "neither rate nor burst is given"},
      {network("background: [{from: server 0, to: worker 0, rate: 1 Gbit/s}]", "nic: 1 Gbit/s"),
       "1 Gbit/s of 1 Gbit/s leave nothing of worker 0 NIC down"},
      {network("streams: 1", "groups: [{count: 4000}, {count: 97}]"), "4097 workers"},
  };
  for (const auto& [found, expected] : cases) EXPECT_NE(found.find(expected), std::string::npos) << expected << found;
}

TEST(TopologyRun, EffectiveConfigurationGivesTheSameTopology) {
  const std::vector<std::string> clusters{
      "{workers: {count: 4}, network: {topology: racks, racks: {count: 3, uplink: 1 Gbit/s}, workers_at: spread}}",
      "{workers: {count: 2, nic: 1 Gbit/s}, servers: {nic: 1 Gbit/s}, network: {topology: racks, hop_latency: 1 us, "
      "racks: {oversubscription: 2.5}, servers_at: [1]}}",
      "{workers: {count: 4}, network: {topology: fat_tree, fat_tree: {k: 6, rate: 1 Gbit/s}, servers_at: blocks}}",
      "{workers: {per_host: 2, pcie: 1 GB/s, groups: [{count: 2, device: {name: \"a: b\", speed: 0.3}, nic: {up: 1 "
      "Gbit/s, down: 2 Gbit/s}}, {count: 1, per_host: 3, pcie: 2 GB/s, nvlink: 4 GB/s, nic: 1 Gbit/s}]}}",
      "{workers: {count: 2}, network: {background: [{from: worker 0, to: \"worker 1\", rate: 3 Gbit/s}]}}",
      "{workers: {count: 2, nic: 1 Gbit/s}, network: {background: [{from: worker 0, to: worker 1, burst: 3 MB, pause: "
      "2 "
      "ms, times: exponential}, {from: worker 1, to: worker 0, burst: 3 MiB, pause: 0 us}]}}",
      "{network: {topology: links, workers_at: [\"a, b\"], servers_at: [c], links: [{between: [\"a, b\", c], rate: 1 "
      "Gbit/s, latency: 1 us}, {from: c, to: d, rate: unlimited}]}}",
  };
  for (const std::string& c : clusters) {
    const Experiment first = read("cluster: " + c + "\n");
    const std::string yaml = effective_yaml(first);
    const Experiment again = read_experiment(yaml, "again.yaml", {}, {source_path("configs")});
    EXPECT_TRUE(again.points.at(0).spec == first.points.at(0).spec) << yaml;
    EXPECT_EQ(effective_yaml(again), yaml);
  }
}

}  // namespace
}  // namespace stretto::experiment
