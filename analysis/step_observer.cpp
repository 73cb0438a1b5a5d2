// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_observer.hpp"

#include <algorithm>

#include "sim/base/random.hpp"

namespace stretto::analysis {

StepObserver::StepObserver(const training::Compiled& compiled, std::uint32_t first, std::uint32_t last)
    : compiled_(&compiled),
      first_(first),
      last_(last),
      ops_ended_(compiled.workers),
      compute_(static_cast<std::size_t>(compiled.workers) * (last - first)),
      pull_order_(last - first) {
  if (compiled.own_pace()) staleness_.emplace(compiled);
  const program::StepProgram& p = compiled.program;
  alone_.resize(p.size());
  for (std::uint32_t a = 0; a < p.size(); ++a)
    if (p.activities[a].kind == program::Kind::Message)
      alone_[a] =
          transfer_duration(Bytes(p.activities[a].amount), p.wires.rate_alone(p.channels[p.activities[a].where].route));
}

void StepObserver::on_end(const program::ActivityRecord& r) {
  const training::Label& label = compiled_->labels[r.activity];
  if (label.role == training::Role::OpsDone) ops_ended_[label.worker] = r.end;
  if (label.role == training::Role::Push) ++gradients_;
  if (staleness_) staleness_->on_end(r);
  if (r.iteration < first_ || r.iteration >= last_) return;
  if (label.role == training::Role::OpsDone) ++ended_;
  if (label.role == training::Role::Op)
    compute_[static_cast<std::size_t>(label.worker) * (last_ - first_) + r.iteration - first_] +=
        (r.end - r.begin).seconds();
  if (compiled_->exchange == training::Exchange::AllReduce) return of_collective(r);
  if (label.role != training::Role::Pull && label.role != training::Role::Push) return;
  const bool pull = label.role == training::Role::Pull;
  if (pull && label.worker == 0) {
    std::uint64_t& order = pull_order_[r.iteration - first_];
    order = hash_draw(order, r.activity);
  }
  Waits& w = pull ? pull_ : push_;
  const Duration latency = compiled_->program.channels[compiled_->program.activities[r.activity].where].latency;
  if (pull && !compiled_->barrier && !compiled_->own_pace())
    w.sender_not_ready += std::max(0.0, (r.ready - ops_ended_[label.worker]).seconds());
  w.turn += (r.handed - r.ready).seconds();
  w.service += (r.on_wire - r.handed).seconds() + (r.end - r.arrived).seconds();
  w.wire_queue += (r.begin - r.on_wire - latency).seconds();
  w.wire_own += (latency + alone_[r.activity]).seconds();
  w.wire_shared += std::max(0.0, (r.arrived - r.begin - alone_[r.activity]).seconds());
}

// One rank's messages, and every turn, count for all workers.
void StepObserver::of_collective(const program::ActivityRecord& r) {
  const training::Label& label = compiled_->labels[r.activity];
  Waits& w = label.part == training::Part::Gather ? pull_ : push_;
  const double ranks = static_cast<double>(compiled_->workers) / compiled_->ranks_simulated;
  if (label.role == training::Role::Collective) w.turn += compiled_->workers * (r.handed - r.ready).seconds();
  if (label.role == training::Role::Enter) w.wire_queue += ranks * (r.begin - r.on_wire).seconds();
  if (label.role != training::Role::Message) return;
  const Duration latency = compiled_->program.channels[compiled_->program.activities[r.activity].where].latency;
  w.service += ranks * ((r.on_wire - r.handed).seconds() + (r.end - r.arrived).seconds());
  w.wire_own += ranks * (latency + alone_[r.activity]).seconds();
  w.wire_shared += ranks * std::max(0.0, (r.arrived - r.begin - alone_[r.activity]).seconds());
}

Waits StepObserver::mean(const Waits& sum) const {
  Waits m = sum;
  if (ended_ > 0) m *= 1.0 / static_cast<double>(ended_);
  return m;
}

}  // namespace stretto::analysis
