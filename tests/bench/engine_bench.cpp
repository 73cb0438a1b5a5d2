// SPDX-License-Identifier: Apache-2.0
// Speed and memory of the engine on the parameter-server step of tests/support/ps_step.hpp, one iteration. Every row
// checks its answer before it is timed; a wrong one is an error, and the exit code is 1.
//
// Names: step/WxS/variant. Variants: symmetric, jitter, balanced (jitter with workers' NICs of a quarter of the rate,
// so that both ends of a route matter). "whole" builds the program and the simulation; "run" resets one and runs it.
// Counters: items_per_second = activities/s, bytes_per_activity = growth of the peak memory of a process of its own.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "sim/program/simulation.hpp"
#include "tests/support/ps_step.hpp"

namespace stretto::testing {
namespace {

struct Row {
  std::uint32_t workers;
  std::uint32_t servers;
  const char* variant;
  double makespan_s;  // 0: no other program has told; the traffic alone is checked
};

constexpr Row kRows[] = {
    {4, 1, "symmetric", 2.151886400},    {4, 1, "jitter", 2.151886400},    {4, 1, "balanced", 0},
    {16, 4, "symmetric", 2.211384800},   {16, 4, "jitter", 2.211428680},   {16, 4, "balanced", 0},
    {64, 16, "symmetric", 2.455992800},  {64, 16, "jitter", 2.455994124},  {64, 16, "balanced", 0},
    {256, 64, "symmetric", 3.318754400}, {256, 64, "jitter", 3.318754400}, {256, 64, "balanced", 0},
};

const program::OrderTable kFree;
bool failed = false;

PsStep step_of(const Row& row) {
  PsStep step;
  step.workers = row.workers;
  step.servers = row.servers;
  step.jitter = std::string(row.variant) != "symmetric";
  step.worker_nic = std::string(row.variant) == "balanced" ? 0.25 : 1.0;
  return step;
}

// What is wrong with a finished simulation; "" if nothing.
std::string fault(const Row& row, const program::StepProgram& p, const program::Simulation& s) {
  if (s.finished() != p.size()) return fmt::format("{} of {} activities have run", s.finished(), p.size());
  if (row.makespan_s > 0 && std::abs(s.now().seconds() - row.makespan_s) > 1e-9)
    return fmt::format("makespan {} s, not {} s", s.now().seconds(), row.makespan_s);
  std::int64_t expected = 0, carried = 0;
  for (std::uint32_t a = 0; a < p.size(); ++a)
    if (p.activities[a].kind == program::Kind::Message) expected += 2 * p.activities[a].amount;
  for (std::size_t l = 0; l < p.wires.links.size(); ++l) carried += s.bytes_carried(network::LinkId(l));
  if (carried != expected) return fmt::format("{} bytes carried, not {}", carried, expected);
  return "";
}

double resident_bytes() {
  long total = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

constexpr const char* kMemoryOf = "--memory-of=";

// In a process of its own: prints (peak - start) / activities of a row.
int print_memory(const Row& row) {
  const double start = resident_bytes();
  const program::StepProgram p = step_of(row).compile();
  program::Simulation s(p, kFree, 1);
  s.run();
  std::printf("%.1f\n", (std::max(peak_bytes(), start) - start) / p.size());
  return 0;
}

double bytes_per_activity(const Row& row) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const std::string argument = kMemoryOf + std::to_string(&row - kRows);
    execl(self.c_str(), self.c_str(), argument.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char text[64] = {};
  if (read(ends[0], text, sizeof text - 1) <= 0) text[0] = 0;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return std::atof(text);
}

bool answer_is_right(benchmark::State& state, const Row& row, const program::StepProgram& p,
                     const program::Simulation& s) {
  const std::string wrong = fault(row, p, s);
  if (wrong.empty()) return true;
  failed = true;
  state.SkipWithError(wrong.c_str());
  return false;
}

void whole(benchmark::State& state, const Row& row) {
  static std::map<const Row*, double> memory;
  if (!memory.contains(&row)) memory[&row] = bytes_per_activity(row);
  const PsStep step = step_of(row);
  std::int64_t activities = 0;
  {
    const program::StepProgram p = step.compile();
    program::Simulation s(p, kFree, 1);
    s.run();
    if (!answer_is_right(state, row, p, s)) return;
  }
  for (auto _ : state) {
    const program::StepProgram p = step.compile();
    program::Simulation s(p, kFree, 1);
    s.run();
    benchmark::DoNotOptimize(s.now());
    activities += p.size();
  }
  state.SetItemsProcessed(activities);
  state.counters["bytes_per_activity"] = memory[&row];
}

void run(benchmark::State& state, const Row& row) {
  const program::StepProgram p = step_of(row).compile();
  program::Simulation s(p, kFree, 1);
  s.run();
  if (!answer_is_right(state, row, p, s)) return;
  std::int64_t activities = 0;
  for (auto _ : state) {
    s.reset(kFree, 1);
    s.run();
    benchmark::DoNotOptimize(s.now());
    activities += p.size();
  }
  state.SetItemsProcessed(activities);
}

}  // namespace
}  // namespace stretto::testing

int main(int argc, char** argv) {
  using namespace stretto::testing;
  if (argc == 2 && std::string(argv[1]).starts_with(kMemoryOf)) {
    const std::size_t row = std::stoul(argv[1] + std::strlen(kMemoryOf));
    return row < std::size(kRows) ? print_memory(kRows[row]) : 2;
  }
  for (const Row& row : kRows) {
    const std::string name = fmt::format("step/{}x{}/{}", row.workers, row.servers, row.variant);
    benchmark::RegisterBenchmark((name + "/whole").c_str(), [&row](benchmark::State& s) {
      whole(s, row);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((name + "/run").c_str(), [&row](benchmark::State& s) {
      run(s, row);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return failed ? 1 : 0;
}
