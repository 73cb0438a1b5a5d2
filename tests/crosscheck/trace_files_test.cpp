// SPDX-License-Identifier: Apache-2.0
// Every file of the reference traces: what it becomes, or why it is refused, which the SOURCE.txt beside it confirms.
// Files that are not in the table fail the test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/support/paths.hpp"

namespace stretto::io {
namespace {

struct Row {
  const char* file;
  const char* with = "";     // a GraphDef beside it, or a table of variables
  const char* refusal = "";  // a part of the message; else what the workload holds:
  const char* format = "";
  std::size_t ops = 0;
  std::size_t transfers = 0;  // parameters
  std::int64_t bytes = 0;     // of them
  const char* note = "";      // a part of what is said
};

constexpr const char* kTable = "a table of variables";
constexpr const char* kAllToAll = "is a collective of kind all-to-all, which a workload cannot hold";
constexpr const char* kSizes = "a timeline does not say how large its 6 variables are: ";

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"chakra-ddp-rank0/chakra.0.et.gz", "", "", "chakra", 1214, 5, 102228128, "1209 computations of 292.828 ms"},
      {"chakra-microbench/all_reduce_4npus.0.et", "", "", "chakra", 1, 1, 1048576, "1 node"},
      {"chakra-microbench/all_reduce_4npus.1.et", "", "", "chakra", 1, 1, 1048576, "1 node"},
      {"chakra-microbench/all_reduce_4npus.2.et", "", "", "chakra", 1, 1, 1048576, "1 node"},
      {"chakra-microbench/all_reduce_4npus.3.et", "", "", "chakra", 1, 1, 1048576, "1 node"},
      {"chakra-microbench/all_to_all_4npus.0.et", "", kAllToAll},
      {"chakra-microbench/all_to_all_4npus.1.et", "", kAllToAll},
      {"chakra-microbench/all_to_all_4npus.2.et", "", kAllToAll},
      {"chakra-microbench/all_to_all_4npus.3.et", "", kAllToAll},
      {"kineto-128ranks-sampled/rank0.json.gz", "", "cannot hold: 5 sendrecv"},
      {"kineto-128ranks-sampled/rank1.json.gz", "", "cannot hold: 5 sendrecv"},
      {"kineto-2ranks-nccl-meta/rank0.json.gz", "", "", "kineto", 1256, 5, 102228128, "40573 events, 3774 of them"},
      {"kineto-amd-rocm/mi250.json.gz", "", "", "kineto", 16, 0, 0, "220 events, 16 of them"},
      {"kineto-and-et-resnet-1gpu/et_1.0.3.json.gz", "", "", "pytorch-et", 741, 5, 102228128,
       "1984 ops that only give"},
      {"kineto-and-et-resnet-1gpu/kineto.json.gz", "", "", "kineto", 10113, 0, 0, "111631 events, 10113 of them"},
      {"tf-mnist-mlp-gpu/cpu_step0.json", kTable, "", "tensorflow-timeline", 38, 6, 24240, "67 records of 1 devices"},
      {"tf-mnist-mlp-gpu/step0.json", kTable, "", "tensorflow-timeline", 46, 6, 24240, "171 records of 8 devices"},
      {"tf-mnist-mlp-gpu/step1.json", kTable, "", "tensorflow-timeline", 46, 6, 24240, "169 records of 7 devices"},
      {"tf-mnist-mlp-gpu/step2.json", kTable, "", "tensorflow-timeline", 46, 6, 24240, "169 records of 7 devices"},
      {"tf-mnist-mlp-gpu/merged_5_runs.json", kTable, "the file is merged of several runs"},
      {"tf-mnist-mlp-gpu/cpu_step0.json", "", kSizes},
      {"tf-mnist-mlp-gpu/step0.json", "", kSizes},
      {"tf-mnist-mlp-gpu/step1.json", "", kSizes},
      {"tf-mnist-mlp-gpu/step2.json", "", kSizes},
      {"tf-ps-2workers-scoped/graph.tfevents", "", "", "tensorboard", 2, 2, 60, "a GraphDef in an event file"},
      {"tf-ps-2workers-scoped/timeline.json", "tf-ps-2workers-scoped/graph.tfevents", "", "tensorflow-timeline", 1, 1,
       12, "7 RecvTensor records without"},
      {"tf-ps-2workers-scoped/timeline.json", "", "does not say how large its 2 variables are: w, input_data"},
      {"tf-run-metadata-binary/graph.pbtxt", "", "", "tensorflow", 2, 2, 1800, "2 trainable parameters"},
      {"tf-run-metadata-binary/run_meta.pb", "tf-run-metadata-binary/graph.pbtxt", "", "tensorflow", 2, 2, 1800,
       "0.000404 s in sum"},
      {"tf-run-metadata-binary/run_meta.pb", "", "does not say what its ops depend on"},
  };
  return table;
}

std::string folder() { return data_path("traces"); }

ImportOptions options_of(const Row& row) {
  ImportOptions options;
  const std::string with = row.with;
  if (with == kTable) {
    options.variables_path = ::testing::TempDir() + "/trace_files.variables.txt";
    std::ofstream out(options.variables_path);
    for (int layer = 1; layer <= 3; ++layer)  // sizes of our own: the traces do not say them
      out << fmt::format("layer_{0}/fully_connected/weights {1}\nlayer_{0}/fully_connected/biases {2}\n", layer,
                         4000 * layer, 40 * layer);
  } else if (!with.empty()) {
    options.graph_path = folder() + "/" + with;
  }
  return options;
}

bool says(const ImportReport& report, const std::string& part) {
  for (const auto* list : {&report.read, &report.dropped, &report.guessed, &report.repaired})
    for (const std::string& note : *list)
      if (note.find(part) != std::string::npos) return true;
  return false;
}

TEST(TraceFiles, WhatBecomesOfEach) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << "no " << folder();
  for (const Row& row : rows()) {
    const std::string path = folder() + "/" + row.file;
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    try {
      const ImportResult r = import_any(path, options_of(row));
      EXPECT_STREQ(row.refusal, "") << row.file;
      EXPECT_EQ(r.format, row.format) << row.file;
      EXPECT_EQ(r.graph.ops.size(), row.ops) << row.file;
      EXPECT_EQ(r.graph.parameters.size(), row.transfers) << row.file;
      std::int64_t bytes = 0;
      for (const graph::Parameter& p : r.graph.parameters) bytes += p.bytes.count();
      EXPECT_EQ(bytes, row.bytes) << row.file;
      EXPECT_TRUE(says(r.report, row.note)) << row.file << ": " << row.note;
    } catch (const UserError& e) {
      EXPECT_STRNE(row.refusal, "") << row.file << ": " << render(e.diagnostics());
      EXPECT_NE(render(e.diagnostics()).find(row.refusal), std::string::npos)
          << row.file << ": " << render(e.diagnostics());
    }
  }
}

TEST(TraceFiles, NoneIsLeftOut) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << "no " << folder();
  std::set<std::string> known;
  for (const Row& row : rows()) known.insert(row.file);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
    if (!entry.is_regular_file() || entry.path().extension() == ".txt") continue;
    EXPECT_TRUE(known.contains(std::filesystem::relative(entry.path(), folder()).string())) << entry.path();
  }
}

}  // namespace
}  // namespace stretto::io
