// SPDX-License-Identifier: Apache-2.0
// The tiny problems with proven optima of schedules/cases.json in the reference data, as graphs. A unit of time is
// 1 us, in which 1000 bytes cross a NIC of 8 Gbit/s.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"

namespace stretto::test {

inline Duration units(double n) { return Duration::us(1).scaled(n); }

// One worker, one server.
inline cluster::Cluster one_to_one() {
  cluster::Cluster c;
  const cluster::Nic nic{Bandwidth(8'000'000'000), Bandwidth(8'000'000'000)};
  c.workers.push_back({"worker 0", {}, nic, 0, {}, {}});
  c.servers.push_back({"server 0", nic, 0, {}, {}, Bandwidth::unlimited()});
  return c;
}

struct ForwardCase {
  graph::Graph graph;
  std::vector<Duration> times;  // of the transfers
};

inline ForwardCase read_forward(simdjson::dom::element source) {
  ForwardCase c;
  std::map<std::string_view, std::size_t> transfer;
  std::map<std::string_view, std::size_t> op;
  for (const auto t : source["transfers"].get_array()) {
    const std::string_view name = t["name"].get_string().value();
    const double time = t["time"].get_double().value();
    transfer.emplace(name, c.times.size());
    c.times.push_back(units(time));
    c.graph.parameters.push_back({std::string(name), Bytes(static_cast<std::int64_t>(1000 * time)), true, {}});
  }
  for (const auto o : source["ops"].get_array()) {
    const std::string_view name = o["name"].get_string().value();
    op.emplace(name, c.graph.ops.size());
    graph::Op made{std::string(name), graph::Phase::Forward, units(o["time"].get_double().value()), {}, {}};
    for (const auto a : o["after"].get_array()) made.inputs.emplace_back(op.at(a.get_string().value()));
    for (const auto r : o["needs"].get_array()) made.reads.emplace_back(transfer.at(r.get_string().value()));
    c.graph.ops.push_back(std::move(made));
  }
  return c;
}

struct Layer {
  double forward;
  double backward;
  std::int64_t tensor;
};

inline std::vector<Layer> read_layers(simdjson::dom::element source) {
  std::vector<Layer> layers;
  for (const auto l : source["layers"].get_array())
    layers.push_back({l["fwd"].get_double().value(), l["bwd"].get_double().value(), l["tensor"].get_int64().value()});
  return layers;
}

// Forward through the layers and back.
inline graph::Graph chain(const std::vector<Layer>& layers) {
  graph::Graph g;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    g.ops.push_back(
        {fmt::format("f{}", i), graph::Phase::Forward, units(layers[i].forward), {}, {graph::ParameterId(i)}});
    if (i > 0) g.ops.back().inputs.emplace_back(i - 1);
    g.parameters.push_back(
        {fmt::format("w{}", i), Bytes(1000 * layers[i].tensor), true, graph::OpId(2 * layers.size() - 1 - i)});
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    g.ops.push_back({fmt::format("b{}", i), graph::Phase::Backward, units(layers[i].backward), {}, {}});
    g.ops.back().inputs.emplace_back(g.ops.size() - 2);
  }
  return g;
}

// Hands each problem of the file over; returns how many there are.
template <class Forward, class Steady>
std::size_t read_cases(const std::string& path, Forward&& forward, Steady&& steady) {
  simdjson::dom::parser parser;
  const simdjson::dom::element cases = parser.load(path);
  std::size_t count = 0;
  for (const auto c : cases["forward"].get_array()) {
    forward(c);
    ++count;
  }
  for (const auto c : cases["steady"].get_array()) {
    steady(c);
    ++count;
  }
  return count;
}

}  // namespace stretto::test
