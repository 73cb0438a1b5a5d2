// SPDX-License-Identifier: Apache-2.0
// Events of a PyTorch Kineto trace (Chrome trace JSON, object form): what the device ran, who launched it, and the
// steps of the profiler. Times are nanoseconds as the file has them (with baseTimeNanoseconds they are offsets from
// it), read by decimal digits: a double cannot hold 1.7e15 us with fractions.
//
// Read: complete events (ph X) of the categories kernel, gpu_memcpy, gpu_memset (device), cuda_runtime, cuda_driver
// (launches), cpu_op named autograd::engine::evaluate_function (backward pass) and user_annotation ProfilerStep#N, in
// any case. Flow events, metadata and the rest are passed over. Exact copies (same times, name, thread) count once. A
// time written as text is read. If the text is no JSON, io/json/repair.hpp puts right what is certain, and what that
// was is said. A regular file that is sound is read piece by piece (io/json/records.hpp); any other text as a whole.
// Names are kept once. Cost: O(text + events log events); memory: some 100 bytes for each event that is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/import/import.hpp"

namespace stretto::io {

// NCCL's metadata; of old traces only the name of the kernel.
struct KinetoCollective {
  std::string_view kind;  // "allreduce", "broadcast", ...; from the kernel's name where there is no metadata
  std::optional<std::int64_t> bytes;
};

// Texts are views of those that the trace holds.
struct KinetoKernel {
  std::string_view name;
  std::string_view stream;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> correlation;  // with its launch
  std::optional<KinetoCollective> collective;
  std::optional<std::int64_t> transfer_ns;  // of a collective: its least duration over the ranks (kineto_ranks.hpp)
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

// On a thread of the host, [start, end).
struct KinetoSpan {
  std::string_view name;  // of a step; else empty
  std::string_view thread;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = 0;  // of a launch
};

struct KinetoTrace {
  KinetoTrace() = default;
  KinetoTrace(KinetoTrace&&) = default;
  KinetoTrace& operator=(KinetoTrace&&) = default;
  KinetoTrace(const KinetoTrace&) = delete;
  KinetoTrace& operator=(const KinetoTrace&) = delete;
  // The same text, once and for as long as the trace lives.
  std::string_view keep(std::string_view text);

  std::vector<KinetoKernel> kernels;  // by begin; then stream, end, name
  std::vector<KinetoSpan> launches;   // by correlation
  std::vector<KinetoSpan> backward;   // by thread, begin
  std::vector<KinetoSpan> steps;      // by begin
  std::size_t timeless_works = 0;     // events of the device that have no usable times

 private:
  std::unordered_set<std::string> texts_;  // whose elements never move
  std::string scratch_;
};

bool is_kineto(std::string_view text);
// Throws UserError with place; what was dropped and repaired goes into `report`.
KinetoTrace read_kineto(const std::string& text, const std::string& path, ImportReport& report);
// The same of a file. A regular one may be larger than what is read as a whole.
KinetoTrace read_kineto_file(const std::string& path, ImportReport& report);

}  // namespace stretto::io
