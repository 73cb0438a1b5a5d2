// SPDX-License-Identifier: Apache-2.0
// What the checks of both exchanges take over from a setup, and how they run its steps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "models/cluster/topology.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"
#include "sim/program/observer.hpp"

namespace stretto::experiment {

// Fills what jobs of both kinds have, from the description of the cluster; noise is left out.
class JobParts {
 public:
  JobParts(const Setup& setup, const plan::Plan& plan, check::AnyJob& job);

  std::uint32_t add_pool(std::string name, std::uint32_t units);
  // With its device, and its copy engines where it has any and they are asked for. Returns its service threads.
  std::uint32_t add_worker(const cluster::Worker& worker, bool copies);
  // Links without a limit are left out.
  std::vector<std::uint32_t> links_of(const cluster::Path& path);

 private:
  const cluster::Cluster& cluster_;
  check::AnyJob& job_;
  std::map<cluster::LinkRef, std::uint32_t> links_;
};

check::Service service_of(const cluster::ServiceCost& cost, std::uint32_t pool);

// The engine's steps as a timeline of the checker.
template <class Timeline>
struct CheckRun {
  Timeline timeline;
  std::optional<std::string> deadlock;  // then the timeline is of what happened
};

// What a record says of any event.
void set_happening(const training::Label& label, const program::ActivityRecord& record, check::Happening& event);

// All of `steps` steps from time 0, to the end of the last message, without noise and with the messages of all workers.
// `stream` keys drawn orders; `on_end` hears of every activity. Adds the ends of the steps to `ends`; returns why there
// are none.
using OnEnd = std::function<void(const training::Compiled& compiled, const program::ActivityRecord& record)>;
std::optional<std::string> run_recorded(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream, const OnEnd& on_end,
                                        std::vector<std::vector<Time>>& ends);

}  // namespace stretto::experiment
