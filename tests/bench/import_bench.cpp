// SPDX-License-Identifier: Apache-2.0
// Speed and memory of importing a Kineto trace that is made up for it (tests/support/kineto_generator.hpp).
//
// usage: bench_import [MEGABYTES [FOLDER]], default 1000 and the folder of temporary files
//
// The trace is written, read once so that it lies in the page cache, and imported three times, each in a process of its
// own. Prints seconds, MB/s (10^6 bytes) and the peak memory of the process. What is imported is checked; exit code 1
// if it is wrong.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/import/import.hpp"
#include "tests/support/kineto_generator.hpp"

namespace {

using stretto::test::GeneratedKineto;

// What is wrong; "" if nothing.
std::string fault(const stretto::io::ImportResult& r, const GeneratedKineto& made) {
  std::int64_t bytes = 0;
  for (const stretto::graph::Parameter& p : r.graph.parameters) bytes += p.bytes.count();
  if (r.format != "kineto") return "format " + r.format;
  if (r.graph.ops.size() != made.kernels_of_step + made.reductions_of_step)
    return fmt::format("{} ops, not {}", r.graph.ops.size(), made.kernels_of_step + made.reductions_of_step);
  if (bytes != static_cast<std::int64_t>(made.reductions_of_step) * 4'000'000) return fmt::format("{} bytes", bytes);
  const std::string read = fmt::format("{} events, {} of them on the device", made.events, made.device_events);
  return r.report.read.front() == read ? "" : r.report.read.front() + ", not " + read;
}

int import_once(const std::string& path, const GeneratedKineto& made) {
  const auto begin = std::chrono::steady_clock::now();
  const stretto::io::ImportResult result = stretto::io::import_any(path);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
  const auto size = static_cast<double>(made.bytes);
  fmt::print("{:.3f} s, {:.0f} MB/s, peak memory {:.0f} MB = {:.3f} x file\n", seconds, size / seconds * 1e-6,
             peak * 1e-6, peak / size);
  const std::string wrong = fault(result, made);
  if (!wrong.empty()) fmt::print(stderr, "wrong: {}\n", wrong);
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto megabytes = static_cast<std::size_t>(argc > 1 ? std::atoll(argv[1]) : 1000);
  const std::filesystem::path folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  const std::string path = (folder / fmt::format("stretto_bench_{}.json", ::getpid())).string();
  const GeneratedKineto made = stretto::test::generate_kineto(path, megabytes * 1'000'000);
  fmt::print("{} bytes, {} events ({} on the device), {} steps\n", made.bytes, made.events, made.device_events,
             made.steps);
  std::fflush(stdout);
  int code = 0;
  for (int run = 0; run < 3 && code == 0; ++run) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int wrong = import_once(path, made);
      std::fflush(stdout);
      ::_exit(wrong);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status))
      code = 1;
    else
      code = WEXITSTATUS(status);
  }
  std::filesystem::remove(path);
  return code;
}
