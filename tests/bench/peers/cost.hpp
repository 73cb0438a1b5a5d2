// SPDX-License-Identifier: Apache-2.0
// Time and memory of the process, told the same way by both programs.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace peers {

// Peak of the resident memory ("VmHWM") or the present one ("VmRSS"), bytes. Not ru_maxrss, which a child takes over
// from its parent.
inline double resident_bytes(const char* what) {
  double kib = 0;
  if (std::FILE* f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr)
      if (std::strncmp(line, what, std::strlen(what)) == 0) kib = std::strtod(line + std::strlen(what) + 1, nullptr);
    std::fclose(f);
  }
  return kib * 1024;
}

inline double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

// What a case has cost since it began, as one line of JSON.
struct Cost {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  double cpu = cpu_seconds();
  double bytes = resident_bytes("VmRSS");
  void print(double makespan_s, std::size_t count) const {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
    std::printf("{\"makespan_s\": %.12f, \"count\": %zu, \"wall_s\": %.6f, \"cpu_s\": %.6f, \"bytes\": %.0f}\n",
                makespan_s, count, passed, cpu_seconds() - cpu, resident_bytes("VmHWM") - bytes);
  }
};

}  // namespace peers
