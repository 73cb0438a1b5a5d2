// SPDX-License-Identifier: Apache-2.0
// A made-up Kineto trace of any size, laid out as the PyTorch profiler writes it: steps of layers, each with nested
// host ops, launches, flow events, kernels of long template names and, every 20 layers, an NCCL all-reduce with
// metadata.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace stretto::test {

struct GeneratedKineto {
  std::size_t bytes = 0;
  std::size_t steps = 0;
  std::size_t events = 0;
  std::size_t device_events = 0;
  std::size_t kernels_of_step = 0;     // without all-reduces
  std::size_t reductions_of_step = 0;  // of 4 MB each
};

// Writes whole steps to `path` until it has `least` bytes or more.
inline GeneratedKineto generate_kineto(const std::string& path, std::size_t least) {
  constexpr std::size_t kLayers = 400;
  constexpr const char* kKernel =
      "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
      "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int, "
      "at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, "
      "at::detail::Array<char*, 2>)";
  std::ofstream out(path, std::ios::binary);
  GeneratedKineto made;
  std::string block =
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"made up\"\n    }\n  "
      "],\n"
      "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 2},\n"
      "  \"baseTimeNanoseconds\": 1709276516000000000,\n  \"traceEvents\": [\n";
  std::int64_t ns = 4'458'676'000'000'000;  // of a clock as the file has it
  std::int64_t id = 0;
  const auto us = [](std::int64_t t) { return fmt::format("{}.{:03}", t / 1000, t % 1000); };
  const auto event = [&](const char* category, const std::string& name, int process, int thread, std::int64_t from,
                         std::int64_t length, const std::string& arguments) {
    if (made.events++ > 0) block += ",\n";
    block += fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n"
        "    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      {}\n    }}\n  }}",
        category, name, process, thread, us(from), us(length), arguments);
  };
  const auto flow = [&](char phase, int process, int thread, std::int64_t at) {
    block += fmt::format(
        ",\n  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n"
        "    \"cat\": \"ac2g\", \"name\": \"ac2g\"{}\n  }}",
        phase, id, process, thread, us(at), phase == 'f' ? ", \"bp\": \"e\"" : "");
    ++made.events;
  };
  while (made.bytes + block.size() < least) {
    const std::int64_t begin = ns;
    made.kernels_of_step = made.reductions_of_step = 0;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const bool backward = layer >= kLayers / 2;
      for (int depth = 0; depth < 3; ++depth)
        event(
            "cpu_op", depth == 0 && backward ? "autograd::engine::evaluate_function: AddmmBackward0" : "aten::addmm",
            4242, backward ? 4300 : 4242, ns + depth * 100, 20'000 - depth * 300,
            fmt::format("\"External id\": {},\"Record function id\": 0, \"Sequence number\": {}, \"Fwd thread id\": 1, "
                        "\"Ev Idx\": {}",
                        id + depth, layer, id + depth));
      ++id;
      event("cuda_runtime", "cudaLaunchKernel", 4242, backward ? 4300 : 4242, ns + 5'000, 4'000,
            fmt::format("\"External id\": {}, \"cbid\": 211, \"correlation\": {}", id, id));
      flow('s', 4242, backward ? 4300 : 4242, ns + 5'000);
      event(
          "kernel", kKernel, 0, 7, ns + 12'000, 9'000 + static_cast<std::int64_t>(layer),
          fmt::format("\"External id\": {},      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": 7, "
                      "\"correlation\": {},      \"registers per thread\": 16,      \"shared memory\": 0,      "
                      "\"blocks per SM\": 4.740741,      \"warps per SM\": 75.851852,      \"grid\": [512, 1, 1],      "
                      "\"block\": [128, 1, 1],      \"est. achieved occupancy %\": 75",
                      id, id));
      flow('f', 0, 7, ns + 12'000);
      ++made.kernels_of_step;
      ++made.device_events;
      if (backward && layer % 20 == 19) {
        ++id;
        event("cuda_runtime", "cudaLaunchKernelExC", 4242, 4300, ns + 22'000, 2'000,
              fmt::format("\"External id\": {}, \"cbid\": 430, \"correlation\": {}", id, id));
        event(
            "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 0, 20,
            ns + 26'000, 50'000,
            fmt::format("\"External id\": {}, \"device\": 0, \"stream\": 20, \"correlation\": {}, \"Collective name\": "
                        "\"allreduce\", \"In msg nelems\": 1000000, \"Out msg nelems\": 1000000, \"Group size\": 2, "
                        "\"dtype\": \"Float\", \"Process Group Ranks\": \"[0, 1]\"",
                        id, id));
        ++made.reductions_of_step;
        ++made.device_events;
      }
      ns += 24'000;
    }
    ns += 60'000;
    event("user_annotation", fmt::format("ProfilerStep#{}", made.steps++), 4242, 4242, begin, ns - begin,
          "\"Ev Idx\": 0");
    made.bytes += block.size();
    out << block;
    block.clear();
  }
  block += "\n  ],\n  \"traceName\": \"made up\"\n}\n";
  made.bytes += block.size();
  out << block;
  return made;
}

}  // namespace stretto::test
