// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/kineto_calls.hpp"
#include "sim/base/random.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"

namespace stretto::io {
namespace {

using test::contains;
using test::described;
using test::error_of;
using test::has_note;

std::string fixture() { return file::read(source_path("tests/fixtures/kineto_ddp.json")); }

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_TRUE(contains(error_of(text), part)) << error_of(text);
}

TEST(Kineto, OneStepOfADistributedJob) {
  const ImportResult r = import_text(fixture(), "kineto_ddp.json");
  EXPECT_EQ(r.format, "kineto");
  EXPECT_EQ(r.device, "gpu");
  // The second of the steps 5 and 6 after the first is longer; what had ended on the other stream is waited for.
  EXPECT_EQ(described(r.graph),
            (std::vector<std::string>{"0 gemm f 100125000 <", "1 side(float*) f 30000000 < 0",
                                      "2 relu(float*) f 50000000 < 0 1", "3 gemm_backward(float*) b 200000000 < 2 1",
                                      "4 gemm_backward(float*) b 100000000 < 3 1", "all-reduce 0 b 0 < 3 1",
                                      "all-reduce 1 b 0 < 4 1", "7 adam(float*) b 20000000 < 4 1"}));
  ASSERT_EQ(r.graph.parameters.size(), 2U);
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 1048576);
  EXPECT_EQ(r.graph.parameters[1].bytes.count(), 2000);
  EXPECT_EQ(r.graph.ops[0].reads.size(), 2U);
  EXPECT_TRUE(has_note(r.report.read, "ProfilerStep#5 of 3 steps"));
  // No part of a simulated step, which must be told from the file.
  const std::string idle = " ms in which the device was idle";
  ASSERT_TRUE(has_note(r.report.dropped, idle));
  const auto said = std::find_if(r.report.dropped.begin(), r.report.dropped.end(),
                                 [&](const std::string& note) { return note.ends_with(idle); });
  EXPECT_EQ(r.graph.source, "PyTorch Kineto trace kineto_ddp.json; without " + *said);
  EXPECT_TRUE(has_note(r.report.dropped, "1 exact copies of kernels"));
  EXPECT_TRUE(has_note(r.report.dropped, "1 NCCL broadcasts"));
  EXPECT_TRUE(r.report.repaired.empty());
}

TEST(Kineto, BrokenFilesAreRepairedWhereTheMeaningIsCertain) {
  const std::vector<std::string> sound = described(import_text(fixture(), "f").graph);
  const auto repaired = [&](const std::string& text, const std::string& note) {
    const ImportResult r = import_text(text, "f");
    EXPECT_EQ(r.graph.ops.size(), sound.size()) << note;
    EXPECT_TRUE(has_note(r.report.repaired, note)) << note;
    return r.graph;
  };
  EXPECT_EQ(described(repaired(test::replaced_all(fixture(), "\"ts\": 4458676010100.0", "\"ts\": \"4458676010100.0\""),
                               "times written as text")),
            sound);
  EXPECT_EQ(described(repaired(test::replaced_all(fixture(), "\"device\": 0", "\"device\": NaN"), "values nan or inf")),
            sound);
  EXPECT_EQ(described(repaired(test::replaced_all(fixture(), "cudaLaunchKernel", "cudaLaunch\nKernel"),
                               "control characters")),
            sound);
  EXPECT_EQ(described(repaired(test::replaced_all(fixture(), "cudaLaunchKernel", "cudaLaunch\"<x>\"Kernel"),
                               "unescaped quotes")),
            sound);
}

TEST(Kineto, WhatAWorkloadCannotHoldIsRefused) {
  expect_refused(test::replaced_all(fixture(), "\"In msg nelems\"", "\"x\""),
                 "2 NCCL all-reduces do not say their size");
  expect_refused(test::replaced_all(fixture(), "\"Float\"", "\"Quaternion\""),
                 "1 NCCL all-reduces do not say their size");
  expect_refused(test::replaced_all(fixture(), "\"allreduce\"", "\"all_to_all\""), "cannot hold: 2 all_to_all");
  expect_refused(test::replaced_all(fixture(), "\"kernel\"", "\"other\""), "no event on a device");
  expect_refused(test::replaced_all(fixture(), "\"cuda_runtime\"", "\"cuda_sync\"").substr(0, 5000), "f:");
  expect_refused(fixture().substr(0, 9000), "f:");
  const std::string bare = R"({"schemaVersion": 1, "distributedInfo": {}, "traceEvents": )";
  expect_refused(bare + "[]}", "no event on a device");
  expect_refused(bare + "[7]}", "an event is no object");
}

TEST(Kineto, WorksWithoutUsableTimesAreCounted) {
  const std::string bare = R"({"schemaVersion": 1, "distributedInfo": {}, "traceEvents": )";
  const auto refused = [&](const std::string& begin) {
    const std::string text = bare + R"([{"ph": "X", "cat": "kernel", "name": "k", "dur": 1, "ts": )" + begin +
                             R"(}, )" + R"({"ph": "X", "cat": "gpu_memcpy", "name": "c", "dur": "x", "ts": 1}]})";
    expect_refused(text, "2 events on a device, and none has a usable begin and duration (ts, dur)");
    ImportReport report;
    EXPECT_THROW(read_kineto_calls(text, "f", report), UserError);
  };
  refused("99999999999999999999");
  refused("nan");
  refused("\"soon\"");
  refused("-1");
}

TEST(Kineto, ATraceWithoutStepsIsOne) {
  const ImportResult r = import_text(test::replaced_all(fixture(), "ProfilerStep", "step"), "f");
  EXPECT_EQ(r.graph.ops.size(), 24U);
  EXPECT_TRUE(has_note(r.report.guessed, "the whole trace is one step"));
}

TEST(Kineto, DamageIsReadOrRefused) {
  RandomStream random(41, "kineto");
  const std::string text = fixture();
  const auto survives = [](const std::string& damaged) {
    ImportOptions options;
    options.format = "kineto";
    EXPECT_NO_THROW(test::accepted(damaged, options)) << damaged;
  };
  for (int i = 0; i < 20; ++i) survives(text.substr(0, random.below(text.size())));
  for (int trial = 0; trial < 60; ++trial) {
    std::string damaged = text;
    for (int i = 0; i < 200; ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      if (i < 5 || i == 199) survives(damaged);
    }
  }
}

}  // namespace
}  // namespace stretto::io
