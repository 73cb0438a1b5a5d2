// SPDX-License-Identifier: Apache-2.0
// A kernel that occupies a stream of a GPU for a given time, timed with cudaEvent. Free of TensorFlow's headers, which
// need some of CUDA's that a CPU wheel does not have; spin.hpp is what both sides see.
#include "harness/ops/spin.hpp"

#include <cuda_runtime.h>

namespace {

__device__ unsigned long long clock_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// One thread. The global timer may advance in steps of a microsecond.
__global__ void spin(unsigned long long ns) {
  const unsigned long long begin = clock_ns();
  while (clock_ns() - begin < ns) {
  }
}

const char* text_of(cudaError_t result) { return result == cudaSuccess ? nullptr : cudaGetErrorString(result); }

}  // namespace

const char* stretto_spin_begin(void* stream, std::int64_t ns, StrettoSpin* spin_out) {
  auto* const on = static_cast<cudaStream_t>(stream);
  cudaEvent_t begin{};
  cudaEvent_t end{};
  if (const char* error = text_of(cudaEventCreate(&begin))) return error;
  if (const char* error = text_of(cudaEventCreate(&end))) {
    cudaEventDestroy(begin);
    return error;
  }
  *spin_out = {begin, end};
  cudaEventRecord(begin, on);
  spin<<<1, 1, 0, on>>>(static_cast<unsigned long long>(ns));
  cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) result = cudaEventRecord(end, on);
  if (const char* error = text_of(result)) {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return error;
  }
  return nullptr;
}

const char* stretto_spin_end(StrettoSpin spin_in, double* ns) {
  const auto begin = static_cast<cudaEvent_t>(spin_in.begin);
  const auto end = static_cast<cudaEvent_t>(spin_in.end);
  float ms = 0;
  cudaError_t result = cudaEventSynchronize(end);
  if (result == cudaSuccess) result = cudaEventElapsedTime(&ms, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  *ns = 1e6 * static_cast<double>(ms);
  return text_of(result);
}
