// SPDX-License-Identifier: Apache-2.0
// All-reduce at the size of ResNet-50 on a large cluster: 161 ring all-reduces, 25.6 M parameters, one step, with one
// worker's messages for all. Compiling and running count. The answer is checked before it is timed: every NIC carries
// 2 (n - 1) pieces of every gradient.
//
// Counters: items_per_second = activities/s; all_reduces.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>

#include "models/plan/fusion.hpp"
#include "models/training/compile.hpp"
#include "sim/program/simulation.hpp"

namespace stretto {
namespace {

constexpr std::uint32_t kLayers = 161;
constexpr std::int64_t kBytes = 4 * 25'600'000;
bool failed = false;

graph::Graph chain() {
  graph::Graph g;
  for (std::uint32_t i = 0; i < 2 * kLayers; ++i) {
    const bool forward = i < kLayers;
    graph::Op op{fmt::format("op{}", i),
                 forward ? graph::Phase::Forward : graph::Phase::Backward,
                 Duration::us(forward ? 200 : 400),
                 {},
                 {}};
    if (i > 0) op.inputs = {graph::OpId(i - 1)};
    if (forward) op.reads = {graph::ParameterId(i)};
    g.ops.push_back(op);
  }
  for (std::uint32_t p = 0; p < kLayers; ++p)  // sizes grow with the layer
    g.parameters.push_back({fmt::format("v{}", p), Bytes(2 * kBytes * (p + 1) / (kLayers * (kLayers + 1))), true,
                            graph::OpId(2 * kLayers - 1 - p)});
  return g;
}

void ring(benchmark::State& state) {
  const graph::Graph graph = chain();
  cluster::Cluster cluster;
  const Bandwidth rate = Bandwidth::bytes_per_second(1'250'000'000);
  for (std::int64_t w = 0; w < state.range(0); ++w) {
    cluster::Worker worker;
    worker.name = fmt::format("worker {}", w);
    worker.nic = {rate, rate};
    cluster.workers.push_back(worker);
  }
  cluster.network.latency = Duration::us(20);
  plan::Layout layout;
  layout.first = {0};
  for (std::uint32_t p = 0; p < kLayers; ++p) {
    layout.transfers.push_back({graph::ParameterId(p), 0, graph.parameters[p].bytes, 0});
    layout.first.push_back(p + 1);
  }
  plan::fuse(graph, layout, Bytes());
  training::Options options;
  options.exchange = training::Exchange::AllReduce;
  options.all_reduce.aggregate = true;
  std::int64_t activities = 0;
  for (auto _ : state) {
    const training::Compiled compiled = compile(graph, cluster, layout, options);
    const program::OrderTable order = compile_order(compiled, layout, {}, 1);
    program::Simulation sim(compiled.program, order, 1);
    const bool done = sim.run() == program::Status::Reached;
    activities += compiled.program.size();
    std::int64_t expected = 0;
    for (const graph::Parameter& p : graph.parameters)
      expected += 2 * (state.range(0) - 1) * ((p.bytes.count() + state.range(0) - 1) / state.range(0));
    if (done && sim.bytes_carried(compiled.worker_links[0].up) == expected) continue;
    failed = true;
    state.SkipWithError("wrong answer");
    break;
  }
  state.SetItemsProcessed(activities);
  state.counters["all_reduces"] = kLayers;
}

BENCHMARK(ring)->Name("all_reduce/ring")->Arg(4)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return stretto::failed ? 1 : 0;
}
