// SPDX-License-Identifier: Apache-2.0
// Horovod timelines and text workloads of ASTRA-sim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "tests/support/import_checks.hpp"

namespace stretto::io {
namespace {

using test::contains;
using test::error_of;
using test::has_note;
using test::replaced;

std::vector<std::string> described(const graph::Graph& g) { return test::described(g, 1'000'000); }

// One all-reduce: asked for at `us`, ready on ranks 0 and 1, reduced until `end`.
std::string reduction(int process, const std::string& shape, int us, int rank0, int rank1, int begin, int end) {
  std::string t;
  const auto line = [&](const std::string& rest, int at) {
    t += fmt::format("{{\"ph\": {}, \"ts\": {}, \"pid\": {}}},\n", rest, at, process);
  };
  line("\"B\", \"name\": \"NEGOTIATE_ALLREDUCE\"", us);
  line("\"X\", \"name\": \"0\", \"dur\": 0", rank0);
  line("\"X\", \"name\": \"1\", \"dur\": 0", rank1);
  line("\"E\"", rank1);
  line("\"B\", \"name\": \"ALLREDUCE\"", begin);
  line("\"B\", \"name\": \"NCCL_ALLREDUCE\"", begin + 1);
  line("\"E\"", end - 1);
  line(fmt::format("\"E\", \"args\": {{\"dtype\": \"float32\", \"shape\": \"{}\"}}", shape), end);
  return t;
}

std::string named(int process, const std::string& name) {
  return fmt::format("{{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": {}, \"args\": {{\"name\": \"{}\"}}}},\n",
                     process, name);
}

// Three steps; the second is the one of the median duration of those after the first.
std::string horovod(const std::string& more = "") {
  std::string t = "[\n" + named(0, "grads/w1") + named(1, "grads/w0") + named(2, "metric");
  t += "{\"ph\": \"i\", \"name\": \"CYCLE_START\", \"ts\": 90, \"s\": \"g\"},\n";
  int at = 0;
  for (const int pause : {0, 100, 400}) {  // of the forward pass
    t += reduction(0, "[10, 100]", at + pause + 50, at + pause + 50, at + pause + 58, at + pause + 60, at + pause + 90);
    t += reduction(1, "[5]", at + pause + 70, at + pause + 75, at + pause + 70, at + pause + 95, at + pause + 110);
    at += pause + 110;
  }
  return t + more;
}

TEST(Horovod, ReadinessAndBytesOfGradients) {
  ASSERT_TRUE(horovod().ends_with(",\n"));  // Horovod never closes its array
  const ImportResult r = import_text(horovod(), "hvd.json");
  EXPECT_EQ(r.format, "horovod");
  EXPECT_EQ(described(r.graph), (std::vector<std::string>{"forward f 150 <", "backward of grads/w1 b 0 < 0",
                                                          "backward of grads/w0 b 25 < 1"}));
  ASSERT_EQ(r.graph.parameters.size(), 2U);
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 4000);
  EXPECT_EQ(r.graph.parameters[1].bytes.count(), 20);
  EXPECT_EQ(r.graph.parameters[1].gradient, graph::OpId(2));
  EXPECT_EQ(r.graph.ops[0].reads.size(), 2U);
  EXPECT_TRUE(has_note(r.report.read, "step 1 of 3: 0.210 ms"));
  EXPECT_TRUE(has_note(r.report.read, "2 gradients of 4020 bytes"));
  // Rank 1 is 8 us late with w1, rank 0 5 us with w0.
  EXPECT_TRUE(has_note(r.report.read, "readiness of 2 ranks; the latest is rank 1, 0.004 ms after the first"));
  EXPECT_TRUE(has_note(r.report.dropped, "0.045 ms of all-reduces"));
  EXPECT_TRUE(has_note(r.report.repaired, "not closed"));
}

TEST(Horovod, OneStepHasNoForwardPass) {
  const std::string text = "[\n" + named(0, "w") + reduction(0, "[]", 10, 10, 11, 12, 13);
  const ImportResult r = import_text(text, "f");
  EXPECT_EQ(described(r.graph), (std::vector<std::string>{"forward f 0 <", "backward of w b 0 < 0"}));
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 4);
  EXPECT_TRUE(has_note(r.report.guessed, "the timeline holds one step"));
}

TEST(Horovod, WhatIsNotReducedInEveryStep) {
  const ImportResult r = import_text(horovod(reduction(2, "[1]", 900, 900, 900, 901, 902)), "f");
  EXPECT_EQ(r.graph.parameters.size(), 2U);
  EXPECT_TRUE(has_note(r.report.dropped, "1 tensors that are not reduced in every step"));
  const std::string broadcast =
      "{\"ph\": \"B\", \"name\": \"BROADCAST\", \"ts\": 1, \"pid\": 5},\n"
      "{\"ph\": \"E\", \"ts\": 2, \"pid\": 5},\n{\"ph\": \"E\", \"ts\": 3, \"pid\": 5},\n";
  const ImportResult s = import_text(horovod(broadcast), "f");
  EXPECT_TRUE(has_note(s.report.dropped, "1 broadcasts or barriers"));
  EXPECT_TRUE(has_note(s.report.dropped, "1 ends without a begin"));
}

TEST(Horovod, ATimelineThatBeginsWithinAStepIsRefused) {
  std::string text = "[\n" + named(0, "a") + named(1, "b") + reduction(1, "[5]", 70, 75, 70, 95, 110);
  for (const int at : {200, 400}) {
    text += reduction(0, "[10]", at, at, at + 8, at + 10, at + 40);
    text += reduction(1, "[5]", at + 20, at + 25, at + 20, at + 45, at + 60);
  }
  EXPECT_TRUE(contains(error_of(text), "1 tensors are not reduced in the first step")) << error_of(text);
}

TEST(Horovod, TimeThatRunsBackwardIsRefused) {
  const auto one = [](int rank0, int begin, int end) {
    return error_of("[\n" + named(0, "w") + reduction(0, "[1]", 10, rank0, 11, begin, end));
  };
  EXPECT_EQ(one(10, 12, 15), "no error");
  const char* const kBackward = "time runs backward at 1 event, first of tensor \"w\"";
  EXPECT_TRUE(contains(one(10, 9, 15), kBackward)) << one(10, 9, 15);
  EXPECT_TRUE(contains(one(10, 12, 5), kBackward)) << one(10, 12, 5);
  EXPECT_TRUE(contains(one(9, 12, 15), kBackward)) << one(9, 12, 15);
  // The second step of a tensor before its first.
  const std::string twice =
      "[\n" + named(0, "w") + reduction(0, "[1]", 100, 100, 100, 102, 105) + reduction(0, "[1]", 50, 50, 50, 52, 55);
  EXPECT_TRUE(contains(error_of(twice), kBackward)) << error_of(twice);
}

TEST(Horovod, AGradientBeforeTheEndOfTheStepBeforeIsSaid) {
  std::string text = "[\n" + named(0, "a") + named(1, "b");
  for (const int at : {0, 1000, 2000}) {
    text += reduction(0, "[1]", at + 100, at + 100, at + 100, at + 110, at + 120);
    text += reduction(1, "[1]", at + 200, at + 200, at + 200, at + 210, at + 1140);
  }
  const ImportResult r = import_text(text, "f");
  EXPECT_EQ(r.graph.ops[0].time, Duration());
  EXPECT_TRUE(has_note(r.report.guessed, "the first gradient was ready 0.040 ms before the step before it ended"));
}

TEST(Horovod, WhatAWorkloadCannotHoldIsRefused) {
  const std::string gather = "{\"ph\": \"B\", \"name\": \"ALLGATHER\", \"ts\": 1, \"pid\": 5},\n";
  EXPECT_TRUE(contains(error_of(horovod(gather)), "1 collectives are of kind ALLGATHER")) << error_of(horovod(gather));
  EXPECT_TRUE(contains(error_of(std::string("[") + named(0, "w") +
                                "{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"pid\": 0, "
                                "\"ts\": 3}]"),
                       "no all-reduce ends"));
  EXPECT_TRUE(contains(error_of("[\n" + named(0, "w") + reduction(0, "[a]", 10, 10, 11, 12, 13)), "are not known"));
  EXPECT_TRUE(contains(error_of("[\n" + named(0, "w") + reduction(0, "[1]", 10, 10, 11, 12, 13) + "7]"),
                       "an event is no object"));
}

constexpr const char* kAstraSim =
    "DATA\n"
    "3\n"
    "conv1\t-1\t1000\tNONE\t0\t2000\tNONE\t0\t3000\tALLREDUCE\t37632\t10\n"
    "pool   -1 500 NONE 0 600 NONE 0 0 NONE 0 0\n"
    "fc     -1 4000 NONE 0 5000 NONE 0 0 ALLREDUCE 4096 20\n";

TEST(AstraSim, LayersInTheOrderOfTraining) {
  const ImportResult r = import_text(kAstraSim, "resnet.txt");
  EXPECT_EQ(r.format, "astra-sim");
  EXPECT_EQ(
      described(r.graph),
      (std::vector<std::string>{"conv1 f 1 <", "pool f 0 < 0", "fc f 4 < 1", "fc/weights b 0 < 2", "fc/inputs b 5 < 3",
                                "pool/inputs b 0 < 4", "conv1/weights b 3 < 5", "conv1/inputs b 2 < 6"}));
  EXPECT_EQ(r.graph.ops[1].time, Duration::ns(500));
  ASSERT_EQ(r.graph.parameters.size(), 2U);
  EXPECT_EQ(r.graph.parameters[0].name, "conv1");
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 37632);
  EXPECT_EQ(r.graph.parameters[0].gradient, graph::OpId(6));
  EXPECT_EQ(r.graph.parameters[1].gradient, graph::OpId(3));
  EXPECT_EQ(r.graph.ops[2].reads, (std::vector<graph::ParameterId>{graph::ParameterId(1)}));
  EXPECT_TRUE(has_note(r.report.read, "3 layers: 8 ops of 0.016 ms, 2 all-reduces of 41728 bytes"));
  EXPECT_TRUE(has_note(r.report.dropped, "1 ops of no time"));
  EXPECT_TRUE(has_note(r.report.dropped, "0.000 ms of updates"));
  EXPECT_EQ(r.graph.source, "ASTRA-sim text workload resnet.txt; without 0.000 ms of updates");
}

TEST(AstraSim, WrongLinesAreNamed) {
  const auto refused = [](const std::string& what, const std::string& by) {
    return error_of(replaced(kAstraSim, what, by));
  };
  EXPECT_TRUE(
      contains(refused("4000 NONE 0", "4000 ALLGATHER 8"), "f:5:16: error: a collective ALLGATHER in the forward"))
      << refused("4000 NONE 0", "4000 ALLGATHER 8");
  EXPECT_TRUE(contains(refused("5000 NONE 0", "5000 ALLREDUCE 8"), "in the input gradient"));
  EXPECT_TRUE(contains(refused("ALLREDUCE 4096", "REDUCESCATTER 4096"), "REDUCESCATTER in the weight gradient"));
  EXPECT_TRUE(contains(refused("500 NONE", "5e2 NONE"), "f:4:11: error: a compute time (ns) must be"))
      << refused("500 NONE", "5e2 NONE");
  EXPECT_TRUE(contains(refused("\n3\n", "\n4\n"), "f:2:1: error: 4 layers are announced, 3 lines follow"));
  EXPECT_TRUE(contains(refused(" 0 0\nfc", "\nfc"), "a layer has 12 fields, this line 10"));
  EXPECT_TRUE(contains(refused(" 0 0\nfc", " 0 0 DATA\nfc"), "f:4:44: error: a layer has 12 fields, this line 13"))
      << refused(" 0 0\nfc", " 0 0 DATA\nfc");
  ImportOptions named;
  named.format = "astra-sim";
  EXPECT_TRUE(contains(error_of(replaced(kAstraSim, "\n3\n", "\n3 4\n"), named),
                       "f:2:3: error: the second line holds more than the number of layers"));
  EXPECT_TRUE(
      contains(refused("ALLREDUCE 4096", "ALLREDUCE 99999999999999999999"), "the bytes of a collective must be"));
}

TEST(AstraSim, LayersOfTheirOwnParallelisation) {
  const std::string custom = replaced(kAstraSim, "DATA", "HYBRID_CUSTOMIZED");
  const std::string one = replaced(custom, " 0 0\nfc", " 0 0 DATA\nfc");
  const ImportResult r = import_text(one, "f");
  EXPECT_EQ(described(r.graph), described(import_text(kAstraSim, "f").graph));
  EXPECT_TRUE(has_note(r.report.dropped, "1 layers name a parallelisation of their own"));
  EXPECT_TRUE(
      contains(error_of(replaced(one, " DATA\nfc", " DATA 7\nfc")), "error: a layer has 13 fields, this line 14"));
}

TEST(AstraSim, ManyHugeLayersAreRefusedByTheirSum) {
  std::string text = "DATA 1\n2000\n";
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("l{} -1 100000000000000 NONE 0 0 NONE 0 0 ALLREDUCE 1125899906842624 0\n", i);
  EXPECT_TRUE(contains(error_of(text), "error")) << error_of(text);
}

}  // namespace
}  // namespace stretto::io
