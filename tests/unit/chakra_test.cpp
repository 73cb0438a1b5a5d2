// SPDX-License-Identifier: Apache-2.0
#include "io/import/chakra.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "io/file/file.hpp"
#include "sim/base/random.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/wire_writer.hpp"

namespace stretto::io {
namespace {

using test::bytes;
using test::contains;
using test::described;
using test::error_of;
using test::has_note;
using test::number;
using test::varint;

std::string fixture(const std::string& leaf) { return file::read(source_path("tests/fixtures/" + leaf)); }

std::string attribute(const std::string& name, const std::string& value) { return bytes(10, bytes(1, name) + value); }
std::string file_of(const std::vector<std::string>& nodes) {
  const std::string metadata = bytes(1, "0.0.4");
  std::string out = varint(metadata.size()) + metadata;
  for (const std::string& n : nodes) out += varint(n.size()) + n;
  return out;
}
// An all-reduce with `size` as its attribute comm_size.
std::string collective(std::uint64_t type, const std::string& size) {
  return file_of({bytes(2, "c") + number(3, 7) + attribute("is_cpu_op", number(27, 0)) +
                  attribute("comm_type", number(9, type)) + attribute("comm_size", size)});
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_TRUE(contains(error_of(text), part)) << error_of(text);
}

TEST(Chakra, PyTorchStep) {
  const ImportResult r = import_text(fixture("chakra_ddp.et"), "chakra_ddp.et");
  EXPECT_EQ(r.format, "chakra");
  EXPECT_EQ(r.device, "gpu");
  const graph::Graph& g = r.graph;
  EXPECT_EQ(g.name, "chakra_ddp");
  std::vector<std::string> ops;
  for (const graph::Op& op : g.ops)
    ops.push_back(op.name + (op.phase == graph::Phase::Forward ? " f " : " b ") +
                  std::to_string(op.time.ps() / 1000000));
  EXPECT_EQ(
      ops, (std::vector<std::string>{"4 gemm f 100", "6 relu_kernel f 0", "11 gemm_backward b 200", "all-reduce 13 b 0",
                                     "15 gemm_backward b 50", "all-reduce 17 b 0", "19 sgd b 10"}));
  ASSERT_EQ(g.parameters.size(), 2U);
  EXPECT_EQ(g.parameters[0].bytes.count(), 1048576);
  EXPECT_EQ(g.ops[g.parameters[0].gradient.index()].name, "all-reduce 13");
  EXPECT_EQ(g.ops[3].inputs, std::vector<graph::OpId>{graph::OpId(2)});
  EXPECT_EQ(g.ops[4].inputs, std::vector<graph::OpId>{graph::OpId(2)});  // the next kernel does not wait for it
  EXPECT_EQ(g.ops[0].reads.size(), 2U);
}

TEST(Chakra, JsonByDependencies) {
  const ImportResult r = import_text(fixture("chakra_step.json"), "chakra_step.json");
  EXPECT_EQ(r.format, "chakra");
  const graph::Graph& g = r.graph;
  ASSERT_EQ(g.ops.size(), 4U);
  EXPECT_EQ(g.ops[0].phase, graph::Phase::Forward);
  EXPECT_EQ(g.ops[1].phase, graph::Phase::Backward);
  EXPECT_EQ(g.ops[3].phase, graph::Phase::Backward);
  ASSERT_EQ(g.parameters.size(), 1U);
  EXPECT_EQ(g.parameters[0].bytes.count(), 1048576);
  ASSERT_FALSE(r.report.dropped.empty());
  EXPECT_EQ(r.report.dropped[0], "1 dependency on nodes that are not in the file");
}

// The same as protobuf prints it: one object after the other, numbers as text, types by name.
TEST(Chakra, JsonOfProtobuf) {
  const ImportResult r = import_text(R"({"version": "0.0.4"}
{"name": "a", "type": "COMP_NODE", "durationMicros": "7", "attr": [{"name": "is_cpu_op", "boolVal": false}]}
{"id": "1", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "attr": [{"name": "comm_type", "int64Val": "0"},
 {"int64Val": "64", "name": "comm_size"}]})",
                                     "f");
  ASSERT_EQ(r.graph.ops.size(), 2U);
  EXPECT_EQ(r.graph.ops[0].time.ps(), 7'000'000);
  EXPECT_EQ(r.graph.parameters.at(0).bytes.count(), 64);
}

TEST(Chakra, ASizeOfAnyIntegerTypeIsRead) {
  const auto size = [](const std::string& value) {
    return import_text(collective(0, value), "f").graph.parameters.at(0).bytes.count();
  };
  for (const unsigned field : {7U, 9U, 11U, 13U}) EXPECT_EQ(size(number(field, 1048576)), 1048576) << field;
  EXPECT_EQ(size(number(15, 2 * 1048576)), 1048576);
  EXPECT_EQ(size(varint(19 << 3 | 5) + std::string("\0\0\x10\0", 4)), 1048576);
  EXPECT_EQ(size(varint(3 << 3 | 1) + std::string("\0\0\0\0\0\0\x30\x41", 8)), 1048576);
}

TEST(Chakra, WhatAWorkloadCannotHoldIsRefused) {
  expect_refused(collective(6, number(9, 1048576)), "collective of kind all-to-all");
  expect_refused(collective(2, number(9, 1048576)), "collective of kind all-gather");
  expect_refused(collective(0, number(9, 0)), "without comm_size");
  expect_refused(collective(0, bytes(29, "1048576")), "comm_size of a node is no whole number");
  expect_refused(collective(77, number(9, 1)), "comm_type 77 is unknown");
  expect_refused(file_of({bytes(2, "s") + number(3, 5)}), "sends or receives");
  expect_refused(file_of({bytes(2, "c") + number(3, 7)}), "without comm_type");
  expect_refused(file_of({bytes(2, "h") + number(3, 4) + attribute("is_cpu_op", number(27, 1))}), "ops of the host");
  const std::string node = bytes(2, "a") + number(3, 4);
  expect_refused(file_of({node, node}), "two nodes have the id 0");
  const std::string whole = file_of({node, number(1, 1) + node});
  expect_refused(whole.substr(0, whole.size() - 1), "message 2 at byte 14 of 21 is damaged or cut");
  expect_refused(file_of({node + number(5, 1), number(1, 1) + node + number(5, 0)}), "cycle");
}

TEST(Chakra, CtrlDepsThatFormACircleAreDropped) {
  const std::string node = bytes(2, "a") + number(3, 4);
  const ImportResult r = import_text(file_of({node + number(4, 1), number(1, 1) + node + number(5, 0)}), "f");
  EXPECT_TRUE(r.graph.ops[0].inputs.empty());
  EXPECT_EQ(r.graph.ops[1].inputs.size(), 1U);
  EXPECT_NE(r.report.dropped.at(0).find("circle"), std::string::npos);
}

TEST(Chakra, DependenciesOnMissingNodesAreCounted) {
  const std::string node = bytes(2, "a") + number(3, 4);
  const ImportResult r = import_text(file_of({node + number(5, 7) + number(5, 8)}), "f");
  EXPECT_EQ(r.report.dropped.at(0), "2 dependencies on nodes that are not in the file");
}

// One rank of a job with host ops: a kernel of 50 us, a collective, a kernel, an all-reduce of 1,000 bytes, a kernel on
// another stream. Durations in us.
std::string rank_of(std::uint64_t kind, std::uint64_t moved, std::uint64_t reduced, std::uint64_t kernel = 50,
                    std::uint64_t size = 1000) {
  std::uint64_t id = 0;
  const auto node = [&](const std::string& name, std::uint64_t type, std::uint64_t us, bool host,
                        std::uint64_t stream) {
    return number(1, id++) + bytes(2, name) + number(3, type) + number(7, us) +
           attribute("is_cpu_op", number(27, host ? 1 : 0)) + attribute("tid", number(9, stream));
  };
  const auto exchange = [&](const std::string& name, std::uint64_t us, std::uint64_t type, std::uint64_t bytes_moved) {
    return node(name, 7, us, false, 20) + attribute("comm_type", number(9, type)) +
           attribute("comm_size", number(9, bytes_moved));
  };
  std::vector<std::string> nodes;
  nodes.push_back(node("aten::mm", 4, 90, true, 1));
  nodes.push_back(node("gemm", 4, kernel, false, 7));
  nodes.push_back(exchange("exchange", moved, kind, 4000));
  nodes.push_back(node("gemm", 4, kernel, false, 7));
  nodes.push_back(exchange("reduce", reduced, 0, size));
  nodes.push_back(node("side", 4, kernel, false, 8));
  return file_of(nodes);
}

class ChakraRanks : public testing::Test {
 protected:
  ImportOptions beside(const std::vector<std::string>& others) {
    ImportOptions options;
    for (std::size_t i = 0; i < others.size(); ++i) {
      options.rank_paths.push_back(::testing::TempDir() + "/chakra_rank" + std::to_string(i + 1) + ".et");
      std::ofstream(options.rank_paths.back(), std::ios::binary) << others[i];
    }
    return options;
  }
};

constexpr std::uint64_t kAllToAll = 6;

TEST_F(ChakraRanks, CollectivesTakeTheirLeastTime) {
  const ImportOptions options = beside({rank_of(kAllToAll, 30, 500), rank_of(kAllToAll, 70, 10, 100)});
  const ImportResult r = import_text(rank_of(kAllToAll, 300, 20), "job/chakra_rank0.et", options);
  EXPECT_EQ(described(r.graph, 1'000'000),
            (std::vector<std::string>{"1 gemm f 50 <", "2 exchange f 30 < 0", "3 gemm b 50 < 1", "all-reduce 4 b 0 < 2",
                                      "5 side f 50 < 1"}));
  EXPECT_TRUE(has_note(r.report.read, "3 ranks; chakra_rank0.et computes 0.150 ms"));
  EXPECT_TRUE(has_note(r.report.read, "chakra_rank1.et: 2 collectives matched; computes 0.150 ms (+0.0 %)"));
  EXPECT_TRUE(has_note(r.report.read, "chakra_rank2.et: 2 collectives matched; computes 0.300 ms (+100.0 %)"));
  EXPECT_TRUE(
      has_note(r.report.read, "the all-reduces moved 1000 bytes in 0.010 ms (least over the ranks), 0.100 GB/s"));
  EXPECT_TRUE(has_note(r.report.guessed, "1 all-to-all kept as ops of their least time over the ranks, 0.030 ms"));
  expect_refused(rank_of(kAllToAll, 300, 20), "a collective of kind all-to-all, which a workload cannot hold");
}

TEST_F(ChakraRanks, RanksOfOtherJobsAreRefused) {
  const auto refused = [&](const std::string& other) { return error_of(rank_of(kAllToAll, 300, 20), beside({other})); };
  EXPECT_EQ(refused(rank_of(kAllToAll, 30, 20)), "no error");
  EXPECT_TRUE(contains(refused(rank_of(2, 30, 20)),
                       "do not match those of f: collective 0 is all-gather of 4000 bytes, "
                       "there all-to-all of 4000 bytes"))
      << refused(rank_of(2, 30, 20));
  EXPECT_TRUE(contains(refused(rank_of(kAllToAll, 30, 20, 50, 1004)), "collective 1 is all-reduce of 1004 bytes"));
  EXPECT_TRUE(contains(refused(collective(kAllToAll, number(9, 4000))), ": 1 collective, there 2"));
  EXPECT_TRUE(contains(refused(rank_of(kAllToAll, 0, 20)), "has no duration on one of the ranks"));
  EXPECT_TRUE(contains(refused("node1"), "this is no Chakra execution trace"));
  ImportOptions twice = beside({rank_of(kAllToAll, 30, 20)});
  twice.rank_paths.push_back(twice.rank_paths.front());
  EXPECT_TRUE(contains(error_of(rank_of(kAllToAll, 300, 20), twice), "the same file as"));
}

TEST(Chakra, DamageIsReadOrRefused) {
  RandomStream random(31, "chakra");
  const auto survives = [](const std::string& text) {
    ImportOptions options;
    options.format = "chakra";
    EXPECT_NO_THROW(test::accepted(text, options));
  };
  for (const char* leaf : {"chakra_ddp.et", "chakra_step.json"}) {
    const std::string text = fixture(leaf);
    for (int i = 0; i < 20; ++i) survives(text.substr(0, random.below(text.size())));
    for (int trial = 0; trial < 200; ++trial) {
      std::string damaged = text;
      for (int i = 0; i < 200; ++i) {
        damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        if (i < 5 || i == 199) survives(damaged);
      }
    }
  }
}

}  // namespace
}  // namespace stretto::io
