// SPDX-License-Identifier: Apache-2.0
#include "validation/bundle.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "io/import/workload.hpp"
#include "io/json/reader.hpp"
#include "models/placement/placement.hpp"
#include "sim/base/diagnostic.hpp"
#include "validation/child.hpp"
#include "validation/compare.hpp"
#include "validation/measurement.hpp"
#include "validation/timeline.hpp"

namespace stretto::validation {
namespace {

// Two layers of 1 and 2 MB, one server and one worker over 1 Gbit/s.
experiment::Setup make_setup() {
  experiment::Setup setup;
  setup.graph = std::make_shared<graph::Graph>(io::parse_workload(R"({
    "format": "stretto-workload", "version": 1, "name": "two", "batch": 1,
    "ops": [
      {"name": "a", "phase": "forward", "time_ps": 4000000000, "reads": ["wa"]},
      {"name": "b", "phase": "forward", "time_ps": 4000000000, "inputs": ["a"], "reads": ["wb"]},
      {"name": "b'", "phase": "backward", "time_ps": 8000000000, "inputs": ["b"]},
      {"name": "a'", "phase": "backward", "time_ps": 8000000000, "inputs": ["b'"]}],
    "parameters": [
      {"name": "wa", "bytes": 1000000, "gradient": "a'"}, {"name": "wb", "bytes": 2000000, "gradient": "b'"}]
  })",
                                                                  "two.json"));
  const Bandwidth rate = Bandwidth(1'000'000'000);
  setup.cluster.workers.resize(1);
  setup.cluster.workers[0].name = "worker 0";
  setup.cluster.workers[0].nic = {rate, rate};
  setup.cluster.servers.resize(1);
  setup.cluster.servers[0].name = "server 0";
  setup.cluster.servers[0].nic = {rate, rate};
  setup.placement = "round_robin";
  experiment::place(setup);
  return setup;
}

plan::Plan make_plan(const experiment::Setup& setup, plan::Discipline discipline, std::vector<std::uint32_t> rank) {
  plan::Plan plan;
  plan.policy = "some";
  plan.layout = setup.layout;
  plan.order.pull.discipline = discipline;
  plan.order.pull.rank = std::move(rank);
  return plan;
}

// The text between two marks, to look at one part of a file.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find(end, from) - from);
}

TEST(Bundle, StrictOrdersAreHeldByAWindow) {
  const experiment::Setup setup = make_setup();
  const plan::Plan strict = make_plan(setup, plan::Discipline::Strict, {1, 0});
  const plan::Plan held = enforceable(strict, 3);
  EXPECT_EQ(held.order.pull.discipline, plan::Discipline::Window);
  EXPECT_EQ(held.order.pull.window, 3U);
  EXPECT_EQ(held.order.push.discipline, plan::Discipline::Free);
  plan::Plan chain = strict;
  chain.order.pull.discipline = plan::Discipline::ChainWindow;
  chain.order.pull.window = 4;
  EXPECT_EQ(enforceable(chain, 1).order.pull.window, 4U);
  chain.order.pull.discipline = plan::Discipline::Credit;
  EXPECT_THROW(enforceable(chain, 1), UserError);
}

TEST(Bundle, HoldsClusterLayoutOrdersAndTheWholeWorkload) {
  experiment::Setup setup = make_setup();
  setup.cluster.workers[0].device.speed = 2;
  const std::vector<NamedPlan> plans{
      {"none", make_plan(setup, plan::Discipline::Unordered, {})},
      {"back\"wards", enforceable(make_plan(setup, plan::Discipline::Strict, {1, 0}), 1)},
      {"half", enforceable(make_plan(setup, plan::Discipline::Strict, {plan::kUnranked, 0}), 1)}};
  const std::string text = write_bundle(setup, "test", plans, {7, 2, 60, "loopback"});
  std::size_t policies = 0;
  std::size_t ops = 0;
  json::Document(text, "bundle").read([&](const json::Value& root) {
    root.members([&](std::string_view key, const json::Value& value) {
      if (key == "policies") value.elements([&](const json::Value&) { ++policies; });
      if (key == "workload")
        value.members([&](std::string_view inner, const json::Value& list) {
          if (inner == "ops") list.elements([&](const json::Value&) { ++ops; });
        });
      if (key == "steps") {
        EXPECT_EQ(value.integer(), 7);
      }
    });
  });
  EXPECT_EQ(policies, 3U);
  EXPECT_EQ(ops, 4U);
  EXPECT_NE(text.find(R"("server_bps": 1000000000, "worker_bps": 1000000000, "network": "loopback")"),
            std::string::npos);
  EXPECT_NE(between(text, R"("none")", "transfers").find(R"("mode": "none", "order": [])"), std::string::npos);
  EXPECT_NE(between(text, R"(back\"wards)", "transfers").find(R"("mode": "window", "window": 1, "order": [1, 0])"),
            std::string::npos);
  EXPECT_NE(between(text, R"("half")", "transfers").find(R"("order": [1])"), std::string::npos);
  EXPECT_NE(text.find(R"({"parameter": "wb", "slice": 0, "bytes": 2000000, "server": 0})"), std::string::npos);
  EXPECT_NE(text.find(R"("time_ps": 2000000000)"), std::string::npos);  // a device of speed 2
}

TEST(Bundle, HoldsANetworkInPlaceOfTheWorkload) {
  experiment::Setup setup = make_setup();
  setup.cluster.workers[0].device.cores = 2;
  const std::vector<NamedPlan> plans{{"none", make_plan(setup, plan::Discipline::Unordered, {})}};
  BundleOptions options;
  options.model = "inception_v1";
  const std::string text = write_bundle(setup, "test", plans, options);
  std::vector<std::string> keys;
  json::Document(text, "bundle").read([&](const json::Value& root) {
    root.members([&](std::string_view key, const json::Value&) { keys.emplace_back(key); });
  });
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "model"), 1);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "workload"), 0);
  EXPECT_NE(text.find(R"("model": {"name": "inception_v1", "batch": 1})"), std::string::npos);
  setup.variation.compute_cv = 0.1;
  EXPECT_THROW(write_bundle(setup, "test", plans, options), UserError);
}

TEST(Bundle, RefusesAllThatTheHarnessCannotDo) {
  experiment::Setup setup = make_setup();
  setup.cluster.workers.push_back(setup.cluster.workers[0]);
  setup.cluster.workers[1].device.speed = 3;
  setup.cluster.servers[0].nic.up = Bandwidth(5);
  setup.cluster.workers[0].device.cores = 2;
  setup.variation.compute_cv = 0.1;
  try {
    write_bundle(setup, "test", {{"none", make_plan(setup, plan::Discipline::Free, {})}}, {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.diagnostics().size(), 4U);
  }
}

std::string measurement(const std::string& cells) {
  return fmt::format(
      R"({{"format": "stretto-measurement", "version": 1, "name": "test", "tensorflow": "2.21.0", "extra": [1],
      "machine": {{"cores": 2}}, "network": {{"kind": "loopback", "reason": "not root", "shaped": false}},
      "cells": [{}]}})",
      cells);
}

// Steps of one worker; times in ms, as they stand in the file.
std::string cell(const std::string& policy, const std::vector<std::string>& times) {
  std::string steps;
  for (const std::string& time : times)
    steps += fmt::format(R"({}[{{"step_ms": {}, "start_ms": 5, "inversions": 1, "pull_arrival_ms": [[1, 2.5], [0, 3]],
                         "push_arrival_ms": [], "compute_ms": [["a", 3, 7]]}}])",
                         steps.empty() ? "" : ",", time);
  return fmt::format(R"({{"policy": "{}", "load": {{"own_cores": 0.1, "other_cores": 1.5}}, "summary": {{"pairs": 1}},
                     "steps": [{}]}})",
                     policy, steps);
}

experiment::Measured predicted(double seconds) {
  experiment::Measured m;
  m.steps = {{seconds}};
  m.means = {seconds};
  return m;
}

TEST(Compare, ErrorsAndGainsOverTheUnorderedRun) {
  const experiment::Setup setup = make_setup();
  const std::vector<NamedPlan> plans{{"best", enforceable(make_plan(setup, plan::Discipline::Strict, {0, 1}), 1)},
                                     {"none", make_plan(setup, plan::Discipline::Unordered, {})}};
  const Measurement m = parse_measurement(
      measurement(fmt::format("{},{}", cell("best", {"90", "110"}), cell("none", {"150", "150"}))), "m");
  const Comparison c = compare("test", true, 1, plans, {predicted(0.102), predicted(0.135)}, m);
  EXPECT_EQ(c.baseline, "none");
  ASSERT_EQ(c.rows.size(), 2U);
  EXPECT_NEAR(c.rows[0].measured_s.mean, 0.1, 1e-12);
  EXPECT_NEAR(c.rows[0].measured_sd_s, 0.0141421356, 1e-9);
  EXPECT_NEAR(c.rows[0].error, 0.02, 1e-12);
  EXPECT_NEAR(c.rows[1].error, -0.1, 1e-12);
  EXPECT_NEAR(c.rows[0].gain_predicted.value(), 0.135 / 0.102 - 1, 1e-12);
  EXPECT_NEAR(c.rows[0].gain_measured.value(), 0.5, 1e-12);
  EXPECT_FALSE(c.rows[1].gain_measured);
  EXPECT_TRUE(c.rows[0].enforced && !c.rows[1].enforced);
  EXPECT_NEAR(c.mean_error, 0.06, 1e-12);
  EXPECT_NEAR(c.worst_error, 0.1, 1e-12);
  EXPECT_EQ(c.rows[0].inversions, 1);
  EXPECT_NE(write_comparison(c, m).find(R"("network_reason": "not root")"), std::string::npos);
}

TEST(Compare, RefusesAMeasurementOfSomethingElse) {
  const experiment::Setup setup = make_setup();
  const std::vector<NamedPlan> plans{{"none", make_plan(setup, plan::Discipline::Unordered, {})}};
  const Measurement other = parse_measurement(measurement(cell("else", {"10"})), "m");
  EXPECT_THROW(compare("test", true, 1, plans, {predicted(1)}, other), UserError);
  const Measurement fitting = parse_measurement(measurement(cell("none", {"10"})), "m");
  EXPECT_THROW(compare("test", true, 2, plans, {predicted(1)}, fitting), UserError);
  EXPECT_THROW(compare("test", true, 1, {plans[0], plans[0]}, {predicted(1), predicted(1)}, fitting), UserError);
  const Measurement zero = parse_measurement(measurement(cell("none", {"0"})), "m");
  EXPECT_THROW(compare("test", true, 1, plans, {predicted(1)}, zero), UserError);
}

TEST(Measurement, RefusesWhatItCannotRead) {
  for (const std::string& text :
       {std::string("{}"), std::string("[]"), measurement(R"({"policy": "a"})"),
        measurement(
            R"({"policy": "a", "load": {"own_cores": 0, "other_cores": 0}, "summary": {"pairs": 0}, "steps": []})"),
        measurement(cell("a", {"-5"})), measurement(cell("a", {"true"}))})
    EXPECT_THROW(parse_measurement(text, "m.json"), UserError) << text;
}

TEST(Timeline, ShowsBothSteps) {
  const experiment::Setup setup = make_setup();
  const plan::Plan plan = enforceable(make_plan(setup, plan::Discipline::Strict, {0, 1}), 1);
  experiment::SimulateOptions options;
  options.iterations = 3;
  options.warm_up = 1;
  const experiment::StepRecords records = experiment::record_step(setup, plan, options);
  const Measurement m = parse_measurement(measurement(cell("best", {"90", "95", "110"})), "m");
  const std::string text = write_timeline(setup, plan, records, m.cells[0]);
  for (const char* part : {"predicted: worker 0", "measured: worker 0", "pulls from server 0", "\"a'\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  Measurement wrong = m;
  for (auto& step : wrong.cells[0].steps) step[0].pulls[0].transfer = 2;
  EXPECT_THROW(write_timeline(setup, plan, records, wrong.cells[0]), UserError);
}

TEST(Child, ItsEndIsOurs) {
  EXPECT_EQ(run_child({"true"}), 0);
  EXPECT_EQ(run_child({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(run_child({"sh", "-c", "kill -TERM $$"}), 128 + SIGTERM);
  EXPECT_EQ(run_child({"no-such-program-anywhere"}), 127);
  EXPECT_EQ(run_child({"sh", "-c", "read line && exit 1 || exit 0"}), 0);  // its standard input is empty
}

}  // namespace
}  // namespace stretto::validation
