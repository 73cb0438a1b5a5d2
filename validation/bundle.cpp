// SPDX-License-Identifier: Apache-2.0
#include "validation/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "io/import/workload.hpp"
#include "io/json/writer.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::validation {

namespace {

constexpr std::array<std::string_view, 10> kRealNetworks{
    "alexnet_v2",    "inception_v1", "inception_v2",  "inception_v3", "resnet_50_v1",
    "resnet_101_v1", "resnet_50_v2", "resnet_101_v2", "vgg_16",       "vgg_19"};

using Style = json::Writer::Style;
using plan::Discipline;

void make_enforceable(plan::DirectionOrder& order, std::uint32_t window, const std::string& policy) {
  if (plan::has_credit(order.discipline))
    throw UserError(fmt::format("policy {}: TensorFlow cannot be held to a credit", policy),
                    "give the policy the option `discipline: window` or `chain_window`");
  if (!order.alternatives.empty())
    throw UserError(fmt::format("policy {}: TensorFlow cannot be made to draw one of several orders", policy));
  if (order.discipline != Discipline::Strict && order.discipline != Discipline::Priority) return;
  order.discipline = Discipline::Window;
  order.window = window;
}

bool same(const cluster::Nic& a, const cluster::Nic& b) { return a.up == b.up && a.down == b.down; }

void check(const experiment::Setup& setup, bool emulated) {
  std::vector<Diagnostic> findings;
  const auto refuse = [&](const char* what) {
    findings.push_back({Severity::Error, {}, "", std::string("the harness cannot do this: ") + what, ""});
  };
  if (setup.training.exchange == training::Exchange::AllReduce) {
    refuse("all-reduce");
    throw UserError(findings);
  }
  const auto& workers = setup.cluster.workers;
  const auto& servers = setup.cluster.servers;
  if (std::any_of(workers.begin(), workers.end(), [&](const cluster::Worker& w) {
        return !same(w.nic, workers[0].nic) || w.device.speed != workers[0].device.speed;
      }))
    refuse("workers that differ");
  if (std::any_of(servers.begin(), servers.end(),
                  [&](const cluster::Server& s) { return !same(s.nic, servers[0].nic); }))
    refuse("servers that differ");
  if (workers[0].nic.up != workers[0].nic.down || servers[0].nic.up != servers[0].nic.down)
    refuse("NICs whose two directions have different rates");
  if (emulated && workers[0].device.cores != 1) refuse("a device with several cores");
  if (setup.cluster.network.fabric.kind != cluster::FabricKind::Star) refuse("a topology other than the star");
  if (std::any_of(workers.begin(), workers.end(),
                  [](const cluster::Worker& w) { return w.with_worker || !w.pcie.is_unlimited(); }))
    refuse("workers that share a host, or a PCIe rate");
  if (workers[0].device.copies_in() || workers[0].device.copies_out()) refuse("copies to and from a device");
  if (!setup.cluster.network.reserved.empty() || !setup.variation.bursts.empty()) refuse("background traffic");
  if (!setup.variation.noiseless()) refuse("noise");
  if (setup.training.input_time > Duration()) refuse("an input pipeline");
  if (!findings.empty()) throw UserError(findings);
}

graph::Graph with_speed(const experiment::Setup& setup) {
  graph::Graph graph = *setup.graph;
  const double speed = setup.cluster.workers[0].device.speed;
  if (speed != 1.0)
    for (graph::Op& op : graph.ops) op.time = op.time.scaled(1.0 / speed);
  return graph;
}

void write_rate(json::Writer& w, const char* key, Bandwidth rate) {
  if (!rate.is_unlimited()) w.member(key, rate.bits_per_second());
}

void write_transfers(json::Writer& w, const graph::Graph& graph, const plan::Layout& layout) {
  w.begin_array();
  for (const plan::Transfer& t : layout.transfers) {
    w.begin_object(Style::Inline).member("parameter", graph.parameters[t.parameter.index()].name);
    w.member("slice", t.slice).member("bytes", t.bytes.count()).member("server", t.server).end_object();
  }
  w.end_array();
}

void write_direction(json::Writer& w, const plan::DirectionOrder& order) {
  w.begin_object(Style::Inline);
  const bool enforced = plan::has_window(order.discipline);
  w.member("mode", !enforced ? "none" : order.discipline == Discipline::ChainWindow ? "chain_window" : "window");
  if (enforced) w.member("window", std::min<std::uint32_t>(order.window, 1U << 20));
  std::vector<std::uint32_t> ranked;
  for (std::uint32_t t = 0; t < order.rank.size(); ++t)
    if (order.rank[t] != plan::kUnranked) ranked.push_back(t);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return order.rank[a] < order.rank[b]; });
  w.key("order").begin_array();
  for (const std::uint32_t t : ranked) w.value(t);
  w.end_array().end_object();
}

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::span<const std::string_view> real_networks() { return kRealNetworks; }

plan::Plan enforceable(plan::Plan plan, std::uint32_t window) {
  STRETTO_ASSERT(window > 0, "window {}", window);
  if (!plan.order.start_offsets.empty())
    throw UserError(fmt::format("policy {}: the harness cannot make workers start at different times", plan.policy));
  make_enforceable(plan.order.pull, window, plan.policy);
  make_enforceable(plan.order.push, window, plan.policy);
  return plan;
}

std::string write_bundle(const experiment::Setup& setup, const std::string& name, const std::vector<NamedPlan>& plans,
                         const BundleOptions& options) {
  check(setup, options.model.empty());
  json::Writer w;
  w.begin_object();
  w.member("format", "stretto-bundle").member("version", 1).member("name", name);
  w.key("cluster").begin_object(Style::Inline);
  w.member("servers", setup.cluster.servers.size()).member("workers", setup.cluster.workers.size());
  write_rate(w, "server_bps", setup.cluster.servers[0].nic.up);
  write_rate(w, "worker_bps", setup.cluster.workers[0].nic.up);
  w.member("network", options.network).end_object();
  w.member("sync", setup.training.barrier);
  w.member("steps", options.steps).member("warm_up", options.warm_up).member("time_limit_s", options.time_limit_s);
  w.key("transfers");
  write_transfers(w, *setup.graph, setup.layout);
  w.key("policies").begin_array();
  for (const NamedPlan& p : plans) {
    w.begin_object().member("name", p.name);
    w.key("pull");
    write_direction(w, p.plan.order.pull);
    w.key("push");
    write_direction(w, p.plan.order.push);
    w.key("transfers");
    write_transfers(w, *setup.graph, p.plan.layout);
    w.end_object();
  }
  w.end_array();
  if (!options.model.empty()) {
    w.key("model").begin_object(Style::Inline);
    w.member("name", options.model).member("batch", setup.graph->batch).end_object();
    w.end_object();
    return w.finish();
  }
  w.end_object();
  // The workload is a whole file of its own and goes in as its text.
  std::string text = without_newline(w.finish());
  STRETTO_ASSERT(text.back() == '}', "a bundle that ends with {}", text.back());
  text.pop_back();
  return fmt::format("{},\n  \"workload\": {}\n}}\n", without_newline(std::move(text)),
                     without_newline(io::write_workload(with_speed(setup))));
}

}  // namespace stretto::validation
