// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's microbenchmarks, one collective of 1 MiB on four ranks, against closed forms. With b bytes, n ranks, NICs
// of r and latency l:
//   all-reduce on a ring   2 (n - 1) rounds of b / n:   2 (n - 1) (l + b / (n r))
//   all-to-all             each rank sends b / n to each of the others, all at once:   l + (n - 1) b / (n r)
// Each comes on top of one op of 10 us, since an experiment computes something. An all-reduce is imported and run as
// training by all-reduce. An all-to-all has the traffic of pulls from servers on the workers' hosts: with variables of
// b / n, one on each server, every host sends b / n to each other one. Pulls are asked for, which takes l once more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "experiment/run/runner.hpp"
#include "experiment/spec/spec.hpp"
#include "io/file/file.hpp"
#include "io/import/chakra_nodes.hpp"
#include "io/import/import.hpp"
#include "io/import/workload.hpp"
#include "tests/support/paths.hpp"

namespace stretto {
namespace {

constexpr int kRanks = 4;
constexpr double kBytesPerSecond = 10e9 / 8;
constexpr double kLatency = 5e-6;
constexpr double kOp = 10e-6;

std::string trace_file(const std::string& kind, int rank) {
  return data_path(fmt::format("traces/chakra-microbench/{}_4npus.{}.et", kind, rank));
}

// What the files of all ranks say, which must be the same.
io::ChakraNode collective_of_all_ranks(const std::string& kind) {
  io::ChakraNode first;
  for (int rank = 0; rank < kRanks; ++rank) {
    const io::ChakraTrace trace = io::read_chakra(file::read(trace_file(kind, rank)), trace_file(kind, rank));
    EXPECT_EQ(trace.nodes.size(), 1U) << kind << rank;
    const io::ChakraNode& node = trace.nodes.at(0);
    EXPECT_EQ(node.kind, io::ChakraKind::Collective);
    EXPECT_EQ(node.id, static_cast<std::uint64_t>(rank));
    if (rank == 0) first = node;
    EXPECT_EQ(node.collective, first.collective);
    EXPECT_EQ(node.bytes, first.bytes);
  }
  return first;
}

double step_time(const graph::Graph& g, const std::string& more) {
  const std::string path = ::testing::TempDir() + "/chakra_forms.workload.json";
  std::ofstream(path) << io::write_workload(g);
  const std::string text = fmt::format("stretto: 1\nworkload: {{file: {}{}", path, more);
  experiment::Options options;
  options.shipped = source_path("configs");
  const auto out = experiment::run(experiment::read_experiment(text, "forms.yaml", {}, options), {}, {});
  return out.result.results.at(0).step_time.estimate.mean;
}

TEST(ChakraForms, AllReduce) {
  if (!std::filesystem::exists(trace_file("all_reduce", 0))) GTEST_SKIP() << "no chakra-microbench";
  const io::ChakraNode node = collective_of_all_ranks("all_reduce");
  ASSERT_EQ(node.collective, io::ChakraCollective::AllReduce);
  ASSERT_EQ(node.bytes, 1 << 20);
  const double b = 1 << 20;
  for (int rank = 0; rank < kRanks; ++rank) {
    graph::Graph g = io::import_any(trace_file("all_reduce", rank)).graph;
    g.ops[0].time = Duration::us(10);
    const double time =
        step_time(g,
                  "}\ncluster: {workers: {count: 4, nic: 10 Gbit/s}, network: {latency: 5 us}}\n"
                  "training: {exchange: all_reduce}\nall_reduce: {algorithm: ring}\npolicies: [wfbp]\n");
    EXPECT_NEAR(time, kOp + 2 * (kRanks - 1) * (kLatency + b / kRanks / kBytesPerSecond), 1e-9);
  }
}

TEST(ChakraForms, AllToAll) {
  if (!std::filesystem::exists(trace_file("all_to_all", 0))) GTEST_SKIP() << "no chakra-microbench";
  const io::ChakraNode node = collective_of_all_ranks("all_to_all");
  ASSERT_EQ(node.collective, io::ChakraCollective::AllToAll);
  ASSERT_EQ(node.bytes, 1 << 20);
  const auto b = static_cast<double>(*node.bytes);
  graph::Graph g;
  g.name = "all to all";
  g.ops.push_back({"after", graph::Phase::Forward, Duration::us(10), {}, {}});
  for (int rank = 0; rank < kRanks; ++rank) {
    g.ops[0].reads.emplace_back(g.parameters.size());
    g.parameters.push_back({fmt::format("part {}", rank), Bytes(*node.bytes / kRanks), true, {}});
  }
  const double time = step_time(g,
                                ", mode: inference}\ncluster: {workers: {count: 4, nic: 10 Gbit/s}, "
                                "servers: {count: 4, colocated: true}, network: {latency: 5 us}}\n"
                                "policies: [fifo]\n");
  EXPECT_NEAR(time, kOp + 2 * kLatency + (kRanks - 1) * b / kRanks / kBytesPerSecond, 1e-9);
}

}  // namespace
}  // namespace stretto
