// SPDX-License-Identifier: Apache-2.0
// VGG-16 on eight workers and two servers, greedy and partitioned: bytes per server, utilisation, bound and verdict
// against figures worked out here from the layers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "experiment/run/runner.hpp"
#include "experiment/spec/spec.hpp"
#include "io/import/import.hpp"
#include "tests/support/paths.hpp"

namespace stretto {
namespace {

constexpr double kRate = 10e9 / 8;  // bytes/s of every NIC
constexpr int kWorkers = 8;

struct Layer {
  double forward = 0;   // s, everything from its own op to the next layer's
  double backward = 0;  // s
  double bytes = 0;     // 0: the ops before the first layer
};

// VGG-16 is a chain: its ops in order, cut where a parameter is read.
std::vector<Layer> layers() {
  const graph::Graph g = io::import_any(source_path("configs/workloads/vgg_16.workload.json")).graph;
  std::vector<Layer> result(1);
  std::vector<std::size_t> layer_of(g.parameters.size());
  for (const graph::Op& op : g.ops) {
    if (op.phase != graph::Phase::Forward) continue;
    if (!op.reads.empty()) {
      layer_of[op.reads[0].index()] = result.size();
      result.push_back({0, 0, static_cast<double>(g.parameters[op.reads[0].index()].bytes.count())});
    }
    result.back().forward += op.time.seconds();
  }
  // Backward ops come last layer first; the op that completes a layer's gradient is the first layer's last op.
  std::size_t at = result.size() - 1;
  for (const graph::Op& op : g.ops) {
    if (op.phase != graph::Phase::Backward) continue;
    result[at].backward += op.time.seconds();
    if (!op.reads.empty() && at > 0) {
      EXPECT_EQ(layer_of[op.reads[0].index()], at);
      --at;
    }
  }
  return result;
}

// Pulls in the order of first use: everything up to layer k must be there before the work from layer k on.
double forward_tail(const std::vector<Layer>& all, const std::vector<double>& bytes) {
  double sent = 0;
  double best = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    sent += bytes[k] / kRate;
    double rest = 0;
    for (std::size_t j = k; j < all.size(); ++j) rest += all[j].forward;
    if (bytes[k] > 0 || k == 0) best = std::max(best, sent + rest);
  }
  return best;
}

double backward_tail(const std::vector<Layer>& all, const std::vector<double>& bytes) {
  double sent = 0;
  double best = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    sent += bytes[k] / kRate;
    double work = 0;
    for (std::size_t j = k; j < all.size(); ++j) work += all[j].backward;
    if (bytes[k] > 0 || k == 0) best = std::max(best, sent + work);
  }
  return best;
}

analysis::PolicyResult run_fifo(const std::string& placement) {
  experiment::Options options;
  options.shipped = source_path("configs");
  const auto experiment = experiment::read_experiment(
      "stretto: 1\nname: eight\nworkload: {model: vgg_16}\n"
      "cluster:\n"
      "  workers: {count: 8, nic: 10 Gbit/s}\n"
      "  servers: {count: 2, nic: 10 Gbit/s, placement: " +
          placement +
          "}\n"
          "policies: [fifo]\nruns: {iterations: 3, warm_up: 1}\n",
      "eight.yaml", {}, options);
  for (const analysis::PolicyResult& r : experiment::run(experiment, {}, {}).result.results)
    if (r.policy == "fifo") return r;
  ADD_FAILURE() << "fifo did not run";
  return {};
}

double utilisation(const analysis::PolicyResult& r, const std::string& name) {
  for (const analysis::ResourceUse& use : r.resources)
    if (use.name == name) return use.utilisation;
  ADD_FAILURE() << "no resource " << name;
  return 0;
}

// The bound of bounds.md for a barrier: a server's W-fold pulls before the least backward part of a worker, or the
// least forward part of a worker before a server's W-fold pushes, or both of a worker's own.
double bound(const std::vector<Layer>& all, const std::vector<std::vector<double>>& server_bytes) {
  std::vector<double> own(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) own[k] = all[k].bytes;
  double best = forward_tail(all, own) + backward_tail(all, own);
  for (std::vector<double> bytes : server_bytes) {
    for (double& b : bytes) b *= kWorkers;
    best = std::max(
        {best, forward_tail(all, bytes) + backward_tail(all, own), forward_tail(all, own) + backward_tail(all, bytes)});
  }
  return best;
}

TEST(EightWorkers, GreedyPutsTheLargestLayerOnOneServer) {
  const std::vector<Layer> all = layers();
  std::vector<std::vector<double>> bytes(2, std::vector<double>(all.size()));
  std::vector<double> load(2);
  for (std::size_t k = 1; k < all.size(); ++k) {
    const std::size_t s = load[0] <= load[1] ? 0 : 1;
    load[s] += all[k].bytes;
    bytes[s][k] = all[k].bytes;
  }
  const analysis::PolicyResult r = run_fifo("greedy");
  ASSERT_EQ(r.servers.size(), 2U);
  EXPECT_EQ(static_cast<double>(r.servers[0].bytes), load[0]);
  EXPECT_EQ(static_cast<double>(r.servers[1].bytes), load[1]);
  const std::size_t heavy = load[0] > load[1] ? 0 : 1;
  EXPECT_NEAR(*r.lower_bound_s.value, bound(all, bytes), 1e-9);
  const double step = r.step_time.estimate.mean;
  EXPECT_GE(step, *r.lower_bound_s.value);
  for (std::size_t s = 0; s < 2; ++s)
    for (const char* direction : {" NIC up", " NIC down"})
      EXPECT_NEAR(utilisation(r, "server " + std::to_string(s) + direction), kWorkers * load[s] / kRate / step, 1e-9);
  EXPECT_NEAR(utilisation(r, "worker 3 NIC down"), (load[0] + load[1]) / kRate / step, 1e-9);
  const std::string name = "server " + std::to_string(heavy);
  EXPECT_NE(r.verdict.find(name + " NIC"), std::string::npos) << r.verdict;
  EXPECT_NE(r.verdict.find(name + " is the heaviest"), std::string::npos) << r.verdict;
  EXPECT_NE(r.verdict.find("node35/Linear"), std::string::npos) << r.verdict;
  EXPECT_NE(r.verdict.find("placement: partitioned"), std::string::npos) << r.verdict;
}

TEST(EightWorkers, PartitionedSharesEveryLayer) {
  const std::vector<Layer> all = layers();
  std::vector<std::vector<double>> bytes(2, std::vector<double>(all.size()));
  double total = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    bytes[0][k] = bytes[1][k] = all[k].bytes / 2;
    total += all[k].bytes;
  }
  const analysis::PolicyResult r = run_fifo("partitioned");
  ASSERT_EQ(r.servers.size(), 2U);
  // Halves of whole floats: a layer with an odd number of them differs by one.
  EXPECT_NEAR(static_cast<double>(r.servers[0].bytes), total / 2, 4.0 * static_cast<double>(all.size()));
  EXPECT_EQ(static_cast<double>(r.servers[0].bytes + r.servers[1].bytes), total);
  EXPECT_NEAR(*r.lower_bound_s.value, bound(all, bytes), 1e-6);
  const double step = r.step_time.estimate.mean;
  EXPECT_NEAR(utilisation(r, "server 0 NIC up"), kWorkers * total / 2 / kRate / step, 1e-6);
  EXPECT_NEAR(utilisation(r, "server 1 NIC down"), kWorkers * total / 2 / kRate / step, 1e-6);
  EXPECT_NE(r.verdict.find("server NICs"), std::string::npos) << r.verdict;
  EXPECT_EQ(r.verdict.find("is the heaviest"), std::string::npos) << r.verdict;
  EXPECT_LT(step, run_fifo("greedy").step_time.estimate.mean);
}

}  // namespace
}  // namespace stretto
