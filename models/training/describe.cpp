// SPDX-License-Identifier: Apache-2.0
// Activities in words.
#include <fmt/format.h>

#include <algorithm>

#include "models/training/compile.hpp"

namespace stretto::training {

std::string describe(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                     program::ActivityId activity) {
  const Label& label = compiled.labels.at(activity.index());
  const auto transfer = [&] {
    const plan::Transfer& t = layout.transfers[label.item];
    const std::uint32_t slices = layout.first[t.parameter.index() + 1] - layout.first[t.parameter.index()];
    const std::string& name = graph.parameters[t.parameter.index()].name;
    return slices == 1 ? name : fmt::format("{} slice {}", name, t.slice);
  };
  const auto collective = [&] {
    const char* kinds[] = {"all-reduce", "reduce-scatter", "all-gather"};
    const auto size = std::count(layout.bucket.begin(), layout.bucket.end(), layout.bucket[label.item]);
    return fmt::format("{} of {}", kinds[static_cast<std::size_t>(label.part)], transfer()) +
           (size > 1 ? fmt::format(" and {} more", size - 1) : "");
  };
  switch (label.role) {
    case Role::Start:
      return fmt::format("start of the step of worker {}", label.worker);
    case Role::Overhead:
      return fmt::format("step overhead of worker {}", label.worker);
    case Role::Request:
      return fmt::format("requests of worker {} to server {}", label.worker, label.item);
    case Role::Pull:
      return fmt::format("pull {} of worker {}", transfer(), label.worker);
    case Role::Op:
      return fmt::format("op {} of worker {}", graph.ops[label.item].name, label.worker) +
             (label.pass > 0 ? fmt::format(", pass {}", label.pass) : "");
    case Role::Push:
      return fmt::format("push {} of worker {}", transfer(), label.worker);
    case Role::Aggregate:
      return fmt::format("aggregation of {}", transfer());
    case Role::Update:
      return compiled.own_pace() ? fmt::format("update of {} by worker {}", transfer(), label.worker)
                                 : fmt::format("update of {}", transfer());
    case Role::OpsDone:
      return fmt::format("end of the ops of worker {}", label.worker);
    case Role::Arrived:
      return fmt::format("arrival of worker {} at the barrier", label.worker);
    case Role::PassDone:
      return fmt::format("end of pass {} of worker {}", label.pass, label.worker);
    case Role::Sum:
      return fmt::format("adding the gradient of {} of worker {}", transfer(), label.worker);
    case Role::Gate:
      return "bound of staleness";
    case Role::Negotiation:
      return "readiness of all workers for the " + collective();
    case Role::Collective:
      return collective();
    case Role::Enter:
      return fmt::format("{} at worker {}", collective(), label.worker);
    case Role::Message:
      return fmt::format("message of worker {} in round {} of the {}", label.worker, label.pass, collective());
    case Role::Exit:
      return fmt::format("end of the {} at worker {}", collective(), label.worker);
    case Role::CollectiveDone:
      return fmt::format("end of the {}", collective());
    case Role::Reduced:
      return "end of all reduce-scatters";
    case Role::StepEnd:
      return "barrier";
    case Role::CopyIn:
      return fmt::format("copy of {} to the device of worker {}", transfer(), label.worker);
    case Role::CopyOut:
      return fmt::format("copy of the gradient of {} from the device of worker {}", transfer(), label.worker);
    case Role::Late:
      return fmt::format("late start of worker {}", label.worker);
    case Role::Pause:
      return fmt::format("pause of background traffic {}", label.item);
    case Role::Burst:
      return fmt::format("burst of background traffic {}", label.item);
    case Role::Input:
      return fmt::format("input of worker {}", label.worker);
  }
  return "activity";
}

}  // namespace stretto::training
