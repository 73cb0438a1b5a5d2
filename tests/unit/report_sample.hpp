// SPDX-License-Identifier: Apache-2.0
// A hand-made result for the tests of report/: two points, random, fifo and tac at the first, a deadlock at the second.
#pragma once

#include "analysis/result.hpp"

namespace stretto::report {

inline analysis::RunResult sample_result() {
  using namespace analysis;
  RunResult run;
  run.name = "vgg16-what-if";
  run.setup = "8 workers (v100), 2 servers, 10 Gbit/s, sync with barrier";
  run.seed = 7;
  run.assumptions = {"TCP never loses a packet", "kernels do not disturb each other"};

  PolicyResult random;
  random.policy = "random";
  random.vary = {{"cluster.servers.count", "2"}};
  random.step_time = {{1.5, 1.488, 1.512}, 1.4, 1.625, 5, 100, 0.01};
  random.samples_per_s = 8 * 32 / 1.5;
  random.scaling_efficiency = {0.75, ""};
  random.gain_over_random.reason = "is the baseline";
  random.gain_over_fifo.estimate = Estimate{-0.13333, -0.14, -0.12666};
  random.lower_bound_s.value = 1.29;
  random.lower_bound_any_layout_s.value = 0.96;
  random.lower_bound_name = "load bound of server 0 NIC up";
  random.gap.value = 1.5 / 1.29 - 1;
  random.ordering_efficiency.value = 0.5;
  random.speedup_limit.value = 0.8;
  random.straggler_effect.value = 0.125;
  random.resources = {{"worker 0 device", ResourceKind::Device, 0.30, 0},
                      {"worker 1 device", ResourceKind::Device, 0.25, 0},
                      {"server 0 NIC up", ResourceKind::ServerNicUp, 0.97, 3.25e9},
                      {"server 1 NIC up", ResourceKind::ServerNicUp, 0.31, 1e9}};
  random.servers = {{"server 0", 419430400, 20, "fc6", 411041792}, {"server 1", 134217728, 12, "fc7", 67108864}};
  random.pull_waits = {0.25, 1.5, 0, 0.125, 1, 0.5};
  random.push_waits = {0, 0, 0, 0, 0.75, 0};
  random.what_if = {{"server NICs 2x faster", 0.22, ChangeKind::Hardware},
                    {"fc6 split over the servers", 0.31, ChangeKind::Layout}};
  random.verdict = "server 0 NIC up is full 97 % of the step.";

  PolicyResult fifo = random;
  fifo.policy = "fifo";
  fifo.step_time = {{1.3, 1.3, 1.3}, 1.3, 1.3, 5, 100, 0};
  fifo.samples_per_s = 8 * 32 / 1.3;
  fifo.gain_over_random = {Estimate{0.153846, 0.145, 0.163}, ""};
  fifo.gain_over_fifo = {std::nullopt, "is the baseline"};
  fifo.gap.value = 1.3 / 1.29 - 1;
  fifo.straggler_effect.value = 0;
  fifo.staleness = {true, "", 1.25, 2, {0.25, 0.25, 0.5}};
  fifo.dropped_gradients.value = 0.125;
  fifo.verdict = "Another order cannot help: the step is within 0.8 % of the load bound of server 0 NIC up.";

  PolicyResult stuck;
  stuck.policy = "file";
  stuck.vary = {{"cluster.servers.count", "4"}};
  stuck.deadlock = "worker 0 waits for fc6, which waits for its turn behind conv1_1, which nobody sends";
  for (Figure* f :
       {&stuck.scaling_efficiency, &stuck.lower_bound_s, &stuck.lower_bound_any_layout_s, &stuck.gap,
        &stuck.ordering_efficiency, &stuck.speedup_limit, &stuck.straggler_effect, &stuck.dropped_gradients})
    f->reason = "deadlock";
  stuck.staleness.reason = "deadlock";
  stuck.gain_over_random.reason = "deadlock";
  stuck.gain_over_fifo.reason = "deadlock";
  stuck.verdict = "The step cannot finish (deadlock).";

  run.results = {random, fifo, stuck};
  return run;
}

}  // namespace stretto::report
