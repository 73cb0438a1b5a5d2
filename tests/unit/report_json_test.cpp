// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "report/json.hpp"
#include "sim/base/assert.hpp"
#include "tests/unit/report_sample.hpp"

namespace stretto::report {
namespace {

TEST(Json, WholeAnswer) {
  analysis::RunResult run = sample_result();
  run.results.erase(run.results.begin());
  EXPECT_EQ(json(run), R"JSON({
  "format": "stretto-result",
  "version": 1,
  "name": "vgg16-what-if",
  "setup": "8 workers (v100), 2 servers, 10 Gbit/s, sync with barrier",
  "seed": 7,
  "assumptions": [
    "TCP never loses a packet",
    "kernels do not disturb each other"
  ],
  "results": [
    {
      "policy": "fifo",
      "vary": {"cluster.servers.count": "2"},
      "step_time_s": {"mean": 1.3, "ci95_low": 1.3, "ci95_high": 1.3, "min": 1.3, "max": 1.3, "n": 5,)JSON"
                       R"JSON( "steps": 100, "trend": 0},
      "samples_per_s": 196.9230769230769,
      "scaling_efficiency": 0.75,
      "gain_over_random": 0.153846,
      "gain_over_random_ci95": {"low": 0.145, "high": 0.163},
      "gain_over_fifo": null,
      "gain_over_fifo_reason": "is the baseline",
      "gain_over_fifo_ci95": null,
      "gain_over_fifo_ci95_reason": "is the baseline",
      "lower_bound_s": 1.29,
      "lower_bound_name": "load bound of server 0 NIC up",
      "lower_bound_any_layout_s": 0.96,
      "gap": 0.007751937984496138,
      "ordering_efficiency": 0.5,
      "speedup_limit": 0.8,
      "straggler_effect": 0,
      "staleness": {"mean": 1.25, "max": 2, "histogram": [0.25, 0.25, 0.5]},
      "dropped_gradients": 0.125,
      "resources": [
        {"name": "worker 0 device", "kind": "device", "utilisation": 0.3},
        {"name": "worker 1 device", "kind": "device", "utilisation": 0.25},
        {"name": "server 0 NIC up", "kind": "server_nic_up", "utilisation": 0.97, "bytes_per_step": 3250000000},
        {"name": "server 1 NIC up", "kind": "server_nic_up", "utilisation": 0.31, "bytes_per_step": 1000000000}
      ],
      "servers": [
        {"name": "server 0", "bytes": 419430400, "transfers": 20, "largest": "fc6", "largest_bytes": 411041792},
        {"name": "server 1", "bytes": 134217728, "transfers": 12, "largest": "fc7", "largest_bytes": 67108864}
      ],
      "pull_waits_s": {"sender_not_ready": 0.25, "turn": 1.5, "service": 0, "wire_queue": 0.125,)JSON"
                       R"JSON( "wire_own": 1, "wire_shared": 0.5},
      "push_waits_s": {"sender_not_ready": 0, "turn": 0, "service": 0, "wire_queue": 0,)JSON"
                       R"JSON( "wire_own": 0.75, "wire_shared": 0},
      "what_if": [
        {"change": "server NICs 2x faster", "kind": "hardware", "gain": 0.22},
        {"change": "fc6 split over the servers", "kind": "layout", "gain": 0.31}
      ],
      "verdict": "Another order cannot help: the step is within 0.8 % of the load bound of server 0 NIC up.",
      "deadlock": null,
      "deadlock_reason": "the simulation ended"
    },
    {
      "policy": "file",
      "vary": {"cluster.servers.count": "4"},
      "step_time_s": null,
      "step_time_s_reason": "deadlock",
      "samples_per_s": null,
      "samples_per_s_reason": "deadlock",
      "scaling_efficiency": null,
      "scaling_efficiency_reason": "deadlock",
      "gain_over_random": null,
      "gain_over_random_reason": "deadlock",
      "gain_over_random_ci95": null,
      "gain_over_random_ci95_reason": "deadlock",
      "gain_over_fifo": null,
      "gain_over_fifo_reason": "deadlock",
      "gain_over_fifo_ci95": null,
      "gain_over_fifo_ci95_reason": "deadlock",
      "lower_bound_s": null,
      "lower_bound_s_reason": "deadlock",
      "lower_bound_name": "",
      "lower_bound_any_layout_s": null,
      "lower_bound_any_layout_s_reason": "deadlock",
      "gap": null,
      "gap_reason": "deadlock",
      "ordering_efficiency": null,
      "ordering_efficiency_reason": "deadlock",
      "speedup_limit": null,
      "speedup_limit_reason": "deadlock",
      "straggler_effect": null,
      "straggler_effect_reason": "deadlock",
      "staleness": null,
      "staleness_reason": "deadlock",
      "dropped_gradients": null,
      "dropped_gradients_reason": "deadlock",
      "resources": [],
      "servers": [],
      "pull_waits_s": null,
      "pull_waits_s_reason": "deadlock",
      "push_waits_s": null,
      "push_waits_s_reason": "deadlock",
      "what_if": [],
      "verdict": "The step cannot finish (deadlock).",
      "deadlock": "worker 0 waits for fc6, which waits for its turn behind conv1_1, which nobody sends"
    }
  ]
}
)JSON");
}

TEST(Json, HostileNamesAreEscaped) {
  analysis::RunResult run;
  run.name = "a\"b\\\n\x1b";
  EXPECT_NE(json(run).find(R"("name": "a\"b\\\n\u001b")"), std::string::npos) << json(run);
}

TEST(Json, NotANumberIsOurFault) {
  analysis::RunResult run = sample_result();
  run.results[0].gap.value = std::numeric_limits<double>::infinity();
  EXPECT_THROW(json(run), InternalError);
}

}  // namespace
}  // namespace stretto::report
