// SPDX-License-Identifier: Apache-2.0
// What the recorder saw, as a trace in the form of PyTorch's profiler (Chrome trace JSON, object form), which `stretto
// import` reads. Plain C++: nothing here needs CUDA.
//
// Times are ns of one clock; the file has us after `base_ns`. Names are escaped; bytes that are no ASCII are kept.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace stretto_cuda {

enum class What : std::uint8_t { Kernel, Copy, Fill, Call };

struct Record {
  What what = What::Kernel;
  std::string name;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;  // joins a call of the host to what it started
  std::uint32_t device = 0;       // of a call: its process
  std::uint32_t stream = 0;       // of a call: its thread
  std::uint64_t bytes = 0;        // of a copy or fill
};

inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out;
}

inline std::string microseconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03llu", static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned long long>(ns % 1000));
  return text;
}

inline std::string event(const Record& r, std::uint64_t base_ns) {
  static constexpr const char* kCategories[] = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime"};
  const std::uint64_t start = r.start_ns > base_ns ? r.start_ns - base_ns : 0;
  std::string out;
  out.append("{\"ph\":\"X\",\"cat\":\"").append(kCategories[static_cast<int>(r.what)]);
  out.append("\",\"name\":\"").append(escaped(r.name)).append("\"");
  const auto number = [&](const char* key, const std::string& value) { out.append(key).append(value); };
  number(",\"pid\":", std::to_string(r.device));
  number(",\"tid\":", std::to_string(r.stream));
  number(",\"ts\":", microseconds(start));
  number(",\"dur\":", microseconds(r.end_ns > r.start_ns ? r.end_ns - r.start_ns : 0));
  number(",\"args\":{\"correlation\":", std::to_string(r.correlation));
  if (r.what != What::Call) {
    number(",\"device\":", std::to_string(r.device));
    number(",\"stream\":", std::to_string(r.stream));
  }
  if (r.what == What::Copy || r.what == What::Fill) number(",\"bytes\":", std::to_string(r.bytes));
  return out.append("}}");
}

inline std::string trace(const std::vector<Record>& records, std::uint64_t base_ns, std::uint64_t dropped) {
  std::string out = "{\"schemaVersion\":1,\"recorder\":\"stretto\"";
  out.append(",\"baseTimeNanoseconds\":").append(std::to_string(base_ns));
  out.append(",\"droppedRecords\":").append(std::to_string(dropped));
  out.append(",\n\"traceEvents\":[\n");
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i > 0) out += ",\n";
    out += event(records[i], base_ns);
  }
  return out.append("\n]}\n");
}

}  // namespace stretto_cuda
