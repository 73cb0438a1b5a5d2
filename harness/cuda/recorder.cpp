// SPDX-License-Identifier: Apache-2.0
// Records every kernel, copy and fill of a CUDA program, with stream and correlation, and the calls that started them.
//
//   CUDA_INJECTION64_PATH=.../libstretto_recorder.so STRETTO_CUDA_TRACE=trace.json python train.py
//   stretto import trace.json
//
// The CUDA driver loads the library when the program first uses it and calls InitializeInjection. CUPTI's activity
// records are collected in memory and written when the program ends. Without STRETTO_CUDA_TRACE the file is
// stretto_cuda_PID.json in the current directory; {pid} in the name becomes the process id. What is missing is said on
// stderr, and the program runs on unrecorded.
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/cuda/trace.hpp"

namespace {

using stretto_cuda::Record;
using stretto_cuda::What;

// Layouts grow at their end; what is read here has kept its place since these.
#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;
#else
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy5;
#endif
using Fill = CUpti_ActivityMemset4;
using PeerCopy = CUpti_ActivityMemcpyPtoP4;

constexpr std::size_t kBufferBytes = 4u << 20;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMostRecords = 50'000'000;

// Lives as long as the process: CUPTI's own thread may come late.
struct State {
  std::mutex mutex;
  std::vector<Record> records;
  std::uint64_t base_ns = 0;
  std::uint64_t dropped = 0;
};

State& state() {
  static State* const all = new State;
  return *all;
}

void say(const std::string& text) { std::fprintf(stderr, "stretto recorder: %s\n", text.c_str()); }

// True if it worked.
bool must(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* reason = nullptr;
  if (cuptiGetResultString(result, &reason) != CUPTI_SUCCESS || reason == nullptr) reason = "unknown error";
  say(std::string("nothing is recorded: ") + what + ": " + reason);
  return false;
}

const char* direction(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "Memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "Memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "Memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "Memcpy HtoH";
    default:
      return "Memcpy";
  }
}

void add_record(CUpti_Activity* activity) {
  Record r;
  const auto device = [&](const auto* from, What what) {
    r.what = what;
    r.start_ns = from->start;
    r.end_ns = from->end;
    r.correlation = from->correlationId;
    r.device = from->deviceId;
    r.stream = from->streamId;
  };
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* k = reinterpret_cast<const Kernel*>(activity);
      device(k, What::Kernel);
      r.name = k->name != nullptr ? k->name : "kernel";
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* c = reinterpret_cast<const Copy*>(activity);
      device(c, What::Copy);
      r.name = direction(c->copyKind);
      r.bytes = c->bytes;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto* c = reinterpret_cast<const PeerCopy*>(activity);
      device(c, What::Copy);
      r.name = "Memcpy PtoP";
      r.bytes = c->bytes;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* m = reinterpret_cast<const Fill*>(activity);
      device(m, What::Fill);
      r.name = "Memset";
      r.bytes = m->bytes;
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto* call = reinterpret_cast<const CUpti_ActivityAPI*>(activity);
      r.what = What::Call;
      r.start_ns = call->start;
      r.end_ns = call->end;
      r.correlation = call->correlationId;
      r.device = call->processId;
      r.stream = call->threadId;
      const char* name = nullptr;
      if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call->cbid, &name) != CUPTI_SUCCESS || name == nullptr)
        name = "call";
      r.name = name;
      break;
    }
    default:
      return;
  }
  State& s = state();
  if (s.records.size() >= kMostRecords)
    ++s.dropped;
  else
    s.records.push_back(std::move(r));
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard lock(state().mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) add_record(record);
  size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &lost) == CUPTI_SUCCESS) state().dropped += lost;
  std::free(buffer);
}

std::string output_path() {
  const char* asked = std::getenv("STRETTO_CUDA_TRACE");
  const std::string pid = std::to_string(getpid());
  if (asked == nullptr || *asked == '\0') return "stretto_cuda_" + pid + ".json";
  std::string path = asked;
  if (const std::size_t at = path.find("{pid}"); at != std::string::npos) path.replace(at, 5, pid);
  return path;
}

void write_trace() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::stable_sort(s.records.begin(), s.records.end(),
                   [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; });
  const std::string path = output_path();
  const std::string part = path + ".part";
  const std::string text = stretto_cuda::trace(s.records, s.base_ns, s.dropped);
  std::FILE* const file = std::fopen(part.c_str(), "wb");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (!good || std::rename(part.c_str(), path.c_str()) != 0) {
    say("the trace could not be written to " + path);
    return;
  }
  say(std::to_string(s.records.size()) + " records written to " + path +
      (s.dropped > 0 ? ", " + std::to_string(s.dropped) + " lost" : ""));
}

}  // namespace

// 1: recording, 0: not.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static bool begun = false;
  if (begun) return 1;
  if (dlopen("libcuda.so.1", RTLD_LAZY) == nullptr) {
    say("nothing is recorded: there is no CUDA driver (libcuda.so.1)");
    return 0;
  }
  if (!must(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "registering with CUPTI")) return 0;
  const std::pair<CUpti_ActivityKind, const char*> kinds[] = {
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "recording kernels"},
      {CUPTI_ACTIVITY_KIND_MEMCPY, "recording copies"},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, "recording copies between devices"},
      {CUPTI_ACTIVITY_KIND_MEMSET, "recording fills"},
      {CUPTI_ACTIVITY_KIND_RUNTIME, "recording calls"}};
  for (const auto& [kind, what] : kinds)
    if (!must(cuptiActivityEnable(kind), what)) return 0;
  if (!must(cuptiGetTimestamp(&state().base_ns), "reading the clock")) return 0;
  begun = true;
  std::atexit(write_trace);
  return 1;
}
