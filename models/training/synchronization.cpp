// SPDX-License-Identifier: Apache-2.0
// The sharing modes: what a gradient does at its server, and what lets a worker go on.
#include "models/training/compiler.hpp"
#include "sim/base/assert.hpp"

namespace stretto::training {

// One aggregation and update per transfer and step, for all workers.
void Compiler::add_shared_updates() {
  const bool backup = options_.synchronization == Synchronization::Backup;
  STRETTO_ASSERT(!backup || options_.backups < out_.workers, "{} backups of {} workers", options_.backups,
                 out_.workers);
  const std::uint32_t need = backup ? out_.workers - options_.backups : 0;
  aggregate_.resize(out_.transfers);
  update_.resize(out_.transfers);
  for (std::uint32_t t = 0; t < out_.transfers; ++t) {
    if (!pushed(t)) continue;
    const plan::Transfer& transfer = layout_.transfers[t];
    aggregate_[t] = update_[t] = add(Role::Aggregate, 0, t, builder_.add_join(need));
    const Duration time = transfer_duration(transfer.bytes, cluster_.servers[transfer.server].update_rate);
    if (time == Duration()) continue;
    update_[t] = add(Role::Update, 0, t, builder_.add_compute(out_.server_threads[transfer.server], time));
    builder_.add_edge(aggregate_[t], update_[t]);
  }
}

void Compiler::add_step_end() {
  if (out_.barrier) step_end_ = add(Role::StepEnd, 0, 0, builder_.add_join());
}

void Compiler::end_step(Step& step) {
  step.done = step.ops_done;
  if (out_.barrier || !shared_updates()) {
    step.done = add(Role::Arrived, step.worker, 0, builder_.add_join());
    builder_.add_edge(step.ops_done, step.done);
  }
  worker_done_.push_back(step.done);
  switch (options_.synchronization) {
    case Synchronization::Sync:
    case Synchronization::Local:
      if (out_.barrier) {
        builder_.add_edge(step.done, step_end_);
        builder_.add_edge(step_end_, step.start, 1);
      } else {
        builder_.add_edge(step.ops_done, step.start, 1);
      }
      break;
    case Synchronization::Backup:
      builder_.add_edge(step.done, step.start, 1);
      builder_.add_edge(step_end_, step.start, 1);
      break;
    case Synchronization::Ssp:
    case Synchronization::Async:
      builder_.add_edge(step.done, step.start, 1);
      break;
  }
}

void Compiler::add_pushes(const Step& step) {
  const std::uint32_t w = step.worker;
  const std::size_t first_push = out_.push.size();
  out_.push.resize(out_.pull.size());
  if (!shared_updates()) out_.applied.resize(out_.pull.size());
  for (std::uint32_t t = 0; t < out_.transfers; ++t) {
    if (!pushed(t)) continue;
    const plan::Transfer& transfer = layout_.transfers[t];
    const ActivityId push =
        add(Role::Push, w, t, builder_.add_message(push_channel_[w * out_.servers + transfer.server], transfer.bytes));
    out_.push[first_push + t] = push;
    ActivityId gradient = step.gradients[graph_.parameters[transfer.parameter.index()].gradient.index()];
    if (const cluster::Device& device = cluster_.workers[w].device; device.copies_out()) {
      const Duration time = device.copy_launch + transfer_duration(transfer.bytes, device.copy_out);
      const ActivityId copy = add(Role::CopyOut, w, t, builder_.add_compute(out_.copy_out[w], time));
      builder_.add_edge(gradient, copy);
      gradient = copy;
    }
    builder_.add_edge(gradient, push);
    if (!shared_updates()) {
      out_.applied[first_push + t] = add_own_update(w, t, push);
      builder_.add_edge(out_.applied[first_push + t], step.done);
      continue;
    }
    builder_.add_edge(add_sum(w, t, push), aggregate_[t]);
    if (!out_.barrier) continue;
    builder_.add_edge(push, step.done);
    if (w == 0) builder_.add_edge(update_[t], step_end_);
  }
}

Compiler::ActivityId Compiler::add_sum(std::uint32_t w, std::uint32_t t, ActivityId push) {
  const plan::Transfer& transfer = layout_.transfers[t];
  const Duration time = transfer_duration(transfer.bytes, cluster_.servers[transfer.server].aggregate_rate);
  if (time == Duration()) return push;
  const ActivityId sum = add(Role::Sum, w, t, builder_.add_compute(out_.server_threads[transfer.server], time));
  builder_.add_edge(push, sum);
  return sum;
}

Compiler::ActivityId Compiler::add_own_update(std::uint32_t w, std::uint32_t t, ActivityId push) {
  const plan::Transfer& transfer = layout_.transfers[t];
  const Duration time = transfer_duration(transfer.bytes, cluster_.servers[transfer.server].update_rate);
  if (time == Duration()) return push;
  const ActivityId update = add(Role::Update, w, t, builder_.add_compute(out_.server_threads[transfer.server], time));
  builder_.add_edge(push, update);
  return update;
}

// Behind the workers' activities, whose draws are then those of async.
void Compiler::add_gate() {
  const ActivityId gate = add(Role::Gate, 0, 0, builder_.add_gate(options_.staleness + 1));
  for (std::uint32_t w = 0; w < out_.workers; ++w) {
    builder_.add_edge(worker_done_[w], gate, 1);
    builder_.add_edge(gate, out_.start[w]);
  }
}

// A worker that comes to a step that is over leaves it out; a gradient that comes too late is not added up.
void Compiler::skip_late_steps() {
  std::vector<std::uint32_t> group;
  for (const ActivityId start : out_.start) group.push_back(builder_.add_skip(start, step_end_));
  for (std::uint32_t a = 0; a < out_.labels.size(); ++a) {
    const Label& label = out_.labels[a];
    switch (label.role) {
      case Role::Sum:
        builder_.add_skip(ActivityId(a), aggregate_[label.item]);
        break;
      case Role::Aggregate:
      case Role::Update:
      case Role::StepEnd:
      case Role::Gate:
      case Role::Start:
        break;
      case Role::Overhead:
      case Role::Request:
      case Role::Pull:
      case Role::Op:
      case Role::Push:
      case Role::PassDone:
      case Role::OpsDone:
      case Role::Arrived:
      case Role::CopyIn:
      case Role::CopyOut:
      case Role::Late:
        builder_.skip_with(group[label.worker], ActivityId(a));
        break;
      case Role::Input:
      case Role::Negotiation:
      case Role::Collective:
      case Role::Enter:
      case Role::Message:
      case Role::Exit:
      case Role::CollectiveDone:
      case Role::Reduced:
      case Role::Pause:
      case Role::Burst:
        STRETTO_ASSERT(false, "role {} of worker {} with backup workers", static_cast<int>(label.role), label.worker);
    }
  }
}

void Compiler::add_markers() {
  if (out_.barrier) builder_.add_marker(step_end_);
  if (options_.synchronization == Synchronization::Backup) return;
  for (const ActivityId done : worker_done_) builder_.add_marker(done);
}

}  // namespace stretto::training
