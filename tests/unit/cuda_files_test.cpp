// SPDX-License-Identifier: Apache-2.0
// What the CUDA parts of the harness write, held against what reads it. The samples are made up, in the form that the
// probe and the recorder collect them; no GPU was measured.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "experiment/spec/spec.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/trace.hpp"
#include "io/import/import.hpp"

namespace stretto_cuda {
namespace {

std::vector<Record> records() {
  const std::uint64_t t = 1'753'000'000'000'000'000;
  return {{What::Call, "cudaMemcpyAsync_v3020", t + 1000, t + 4000, 7, 4242, 4243, 0},
          {What::Copy, "Memcpy HtoD", t + 5000, t + 25'250, 7, 0, 13, 1 << 20},
          {What::Call, "cudaLaunchKernel_v7000", t + 4500, t + 6000, 8, 4242, 4243, 0},
          {What::Kernel, "gemm<float, \"a\\b\">\n", t + 26'000, t + 126'001, 8, 0, 7, 0},
          {What::Fill, "Memset", t + 127'000, t + 128'000, 9, 0, 7, 4096}};
}

TEST(Recorder, ItsTraceIsImported) {
  const stretto::io::ImportResult r =
      stretto::io::import_text(trace(records(), 1'753'000'000'000'000'000, 0), "recorded.json");
  EXPECT_EQ(r.format, "kineto");
  EXPECT_EQ(r.device, "gpu");
  ASSERT_EQ(r.graph.ops.size(), 3U);
  EXPECT_EQ(r.graph.ops[0].time.ps(), 20'250'000);
  EXPECT_EQ(r.graph.ops[1].time.ps(), 100'001'000);
  EXPECT_NE(r.graph.ops[1].name.find("gemm"), std::string::npos);
  // Another stream: the kernel follows the copy that had ended before it began.
  ASSERT_EQ(r.graph.ops[1].inputs.size(), 1U);
  EXPECT_EQ(r.graph.ops[1].inputs[0].index(), 0U);
  EXPECT_EQ(r.graph.ops[2].inputs.back().index(), 1U);
}

TEST(Recorder, WritesTimesAndNamesAsTheyAre) {
  const std::string text = trace(records(), 1'753'000'000'000'000'000, 3);
  EXPECT_NE(text.find(R"("ts":5.000,"dur":20.250,"args":{"correlation":7,"device":0,"stream":13,"bytes":1048576})"),
            std::string::npos);
  EXPECT_NE(text.find(R"(gemm<float, \"a\\b\">\u000a)"), std::string::npos);
  EXPECT_NE(text.find("\"droppedRecords\":3"), std::string::npos);
  // A record without an end, as CUPTI gives for what still runs, has no length rather than a huge one.
  EXPECT_NE(event({What::Kernel, "k", 50, 0, 1, 0, 7, 0}, 100).find("\"ts\":0.000,\"dur\":0.000"), std::string::npos);
}

TEST(Probe, FitsCopies) {
  // 10 us and 12 GB/s.
  std::vector<Sample> samples;
  for (const double bytes : {4e3, 1e5, 1e6, 1e7}) samples.push_back({bytes, 10e-6 + bytes / 12e9});
  const Line line = fit_line(samples);
  EXPECT_NEAR(line.start, 10e-6, 1e-10);
  EXPECT_NEAR(1 / line.slope, 12e9, 1e5);
  // A negative start is none.
  const Line through = fit_line({{1e6, 0.9e-4}, {1e7, 1e-3}, {1e8, 1e-2}});
  EXPECT_EQ(through.start, 0);
  EXPECT_NEAR(1 / through.slope, 1e10, 5e8);
  EXPECT_EQ(fit_line({}).slope, 0);
  EXPECT_EQ(best_rate({{8, 2}, {9, 1}, {5, 0}}), 9);
}

TEST(Probe, ItsDeviceFileIsADevice) {
  Probe probe;
  probe.name = "Some GPU\n: [x]";
  probe.source = "Driver 13000, runtime 13000.";
  probe.products = {{3e7, 1e-4}, {1.4e11, 7e-3}};
  probe.elementwise = {{2e6, 1e-5}, {5e8, 6.25e-4}};
  probe.to_device = {{4e3, 10.4e-6}, {1e7, 1.01e-3}};
  probe.from_device = {{4e3, 10.4e-6}, {1e7, 1.01e-3}};
  probe.launch_s = 3.5e-6;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("stretto-device-{}.yaml", getpid());
  std::ofstream(file) << device_yaml(probe);
  const auto experiment = stretto::experiment::read_experiment(
      "stretto: 1\nworkload: {model: mixed_12}\n", "x.yaml", {"cluster.workers.device.include=" + file.string()},
      {std::string(std::getenv("STRETTO_SOURCE")) + "/configs"});
  std::filesystem::remove(file);
  const stretto::experiment::DeviceSpec& d = experiment.points.front().spec.cluster.workers.device;
  EXPECT_EQ(d.name, "Some_GPU____x_");
  EXPECT_EQ(d.peak_gflops, 20'000);
  EXPECT_EQ(d.memory_gbytes, 800);
  EXPECT_EQ(d.launch.ps(), 3'500'000);
  EXPECT_NEAR(static_cast<double>(d.copy_in.bits_per_second()), 8e10, 1e7);
  EXPECT_NEAR(d.copy_launch.seconds(), 10e-6, 1e-8);
}

}  // namespace
}  // namespace stretto_cuda
