// SPDX-License-Identifier: Apache-2.0
// Times matrix products, elementwise kernels, empty kernels and copies of a GPU with cudaEvent, and writes a device file.
//
//   probe [-o DEVICE.yaml] [--device N]
//
// Each figure is the least of several runs after a warm-up; short operations are timed many at a time. Exit code 0 done,
// 1 without a GPU or after a failure, 2 wrong usage.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "harness/cuda/device.hpp"

namespace {

using stretto_cuda::Probe;
using stretto_cuda::Sample;

constexpr int kRuns = 7;
constexpr double kLeast = 2e-3;  // s: what one timing takes at least
constexpr int kMostRepeats = 4096;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "probe: error: %s\n", what.c_str());
  std::exit(1);
}

void must(cudaError_t result, const char* what) {
  if (result != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(result));
}

__global__ void nothing() {}

__global__ void scale(const float* from, float* to, size_t n) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    to[i] = 1.5f * from[i];
}

class Timer {
 public:
  Timer() {
    must(cudaEventCreate(&begin_), "making an event");
    must(cudaEventCreate(&end_), "making an event");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Seconds of one `work`.
  double time(const std::function<void()>& work) {
    run(work, 1);
    int repeats = 1;
    while (repeats < kMostRepeats && run(work, repeats) < kLeast) repeats *= 2;
    double least = run(work, repeats);
    for (int i = 1; i < kRuns; ++i) least = std::min(least, run(work, repeats));
    return least / repeats;
  }

 private:
  double run(const std::function<void()>& work, int repeats) {
    must(cudaEventRecord(begin_), "recording an event");
    for (int i = 0; i < repeats; ++i) work();
    must(cudaEventRecord(end_), "recording an event");
    must(cudaEventSynchronize(end_), "waiting for the GPU");
    must(cudaGetLastError(), "running a kernel");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin_, end_), "reading an event");
    return 1e-3 * ms;
  }
  cudaEvent_t begin_{};
  cudaEvent_t end_{};
};

std::vector<Sample> products(Timer& timer) {
  cublasHandle_t handle{};
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) fail("cuBLAS cannot be started");
  // Products of 32-bit floats as they are: no TF32.
  cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);
  std::vector<Sample> samples;
  for (const int n : {256, 512, 1024, 2048, 4096}) {
    float *a = nullptr, *b = nullptr, *c = nullptr;
    const size_t bytes = size_t{4} * n * n;
    must(cudaMalloc(&a, bytes), "memory");
    must(cudaMalloc(&b, bytes), "memory");
    must(cudaMalloc(&c, bytes), "memory");
    must(cudaMemset(a, 0, bytes), "filling");
    must(cudaMemset(b, 0, bytes), "filling");
    const float one = 1, zero = 0;
    const double seconds = timer.time([&] {
      if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n) !=
          CUBLAS_STATUS_SUCCESS)
        fail("a matrix product failed");
    });
    samples.push_back({2.0 * n * n * n, seconds});
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
  }
  cublasDestroy(handle);
  return samples;
}

std::vector<Sample> elementwise(Timer& timer) {
  std::vector<Sample> samples;
  for (const size_t mebibytes : {1, 16, 64, 256}) {
    const size_t n = mebibytes * (size_t{1} << 20) / sizeof(float);
    float *from = nullptr, *to = nullptr;
    must(cudaMalloc(&from, n * sizeof(float)), "memory");
    must(cudaMalloc(&to, n * sizeof(float)), "memory");
    must(cudaMemset(from, 0, n * sizeof(float)), "filling");
    const int blocks = static_cast<int>(std::min<size_t>((n + 255) / 256, 65535));
    samples.push_back({2.0 * sizeof(float) * static_cast<double>(n),
                       timer.time([&] { scale<<<blocks, 256>>>(from, to, n); })});
    cudaFree(from);
    cudaFree(to);
  }
  return samples;
}

std::vector<Sample> copies(Timer& timer, cudaMemcpyKind kind) {
  std::vector<Sample> samples;
  for (const size_t kibibytes : {4, 64, 1024, 16384, 65536}) {
    const size_t bytes = kibibytes << 10;
    void *host = nullptr, *device = nullptr;
    must(cudaMallocHost(&host, bytes), "pinned memory");
    must(cudaMalloc(&device, bytes), "memory");
    std::memset(host, 0, bytes);
    void* const to = kind == cudaMemcpyHostToDevice ? device : host;
    void* const from = kind == cudaMemcpyHostToDevice ? host : device;
    samples.push_back({static_cast<double>(bytes),
                       timer.time([&] { must(cudaMemcpyAsync(to, from, bytes, kind), "copying"); })});
    cudaFreeHost(host);
    cudaFree(device);
  }
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  std::string output;
  int device = 0;
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (more && std::strcmp(argv[i], "-o") == 0) {
      output = argv[++i];
    } else if (more && std::strcmp(argv[i], "--device") == 0) {
      char* end = nullptr;
      device = static_cast<int>(std::strtol(argv[++i], &end, 10));
      if (*end != '\0' || device < 0) {
        std::fprintf(stderr, "probe: error: --device: '%s' is no number of a GPU\n", argv[i]);
        return 2;
      }
    } else {
      std::fprintf(stderr, "probe: error: unknown word '%s'\nusage: probe [-o DEVICE.yaml] [--device N]\n", argv[i]);
      return 2;
    }
  }
  int count = 0;
  if (const cudaError_t result = cudaGetDeviceCount(&count); result != cudaSuccess || count == 0)
    fail(std::string("no GPU: ") + (result != cudaSuccess ? cudaGetErrorString(result) : "the driver knows none"));
  if (device >= count) fail("there are " + std::to_string(count) + " GPUs, numbered from 0");
  must(cudaSetDevice(device), "choosing the GPU");
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, device), "asking for the GPU's name");
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);

  Timer timer;
  Probe probe;
  probe.name = properties.name;
  probe.source = "Driver " + std::to_string(driver) + ", runtime " + std::to_string(runtime) + ".";
  probe.products = products(timer);
  probe.elementwise = elementwise(timer);
  probe.to_device = copies(timer, cudaMemcpyHostToDevice);
  probe.from_device = copies(timer, cudaMemcpyDeviceToHost);
  probe.launch_s = timer.time([] { nothing<<<1, 1>>>(); });
  const std::string text = stretto_cuda::device_yaml(probe);
  std::FILE* const file = output.empty() ? stdout : std::fopen(output.c_str(), "wb");
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size() ||
      (file != stdout && std::fclose(file) != 0))
    fail("cannot write " + output);
  return 0;
}
