// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/timeline.hpp"

#include <fmt/format.h>

#include "schedulers/check/audit.hpp"

namespace stretto::check {

std::string event_name(const Job& job, const Event& e) {
  const auto of_worker = [&](const std::string& name) {
    return fmt::format("{} of worker {} in step {}", name, e.worker, e.step);
  };
  switch (e.what) {
    case Event::What::Op:
      return of_worker(e.pass > 0 ? fmt::format("op {} (pass {})", job.graph.ops[e.item].name, e.pass)
                                  : fmt::format("op {}", job.graph.ops[e.item].name));
    case Event::What::Pull:
      return of_worker("pull " + transfer_name(job, e.item));
    case Event::What::Push:
      return of_worker("push " + transfer_name(job, e.item));
    case Event::What::CopyIn:
      return of_worker("copy in of " + transfer_name(job, e.item));
    case Event::What::CopyOut:
      return of_worker("copy out of " + transfer_name(job, e.item));
    case Event::What::Sum:
      return of_worker("sum " + transfer_name(job, e.item));
    case Event::What::Update:
      return job.pace == Pace::Own ? of_worker("update " + transfer_name(job, e.item))
                                   : fmt::format("update {} in step {}", transfer_name(job, e.item), e.step);
  }
  return "";
}

Index::Index(const Job& job, const Timeline& timeline)
    : workers_(job.workers.size()),
      passes_(job.passes),
      op_count_(job.graph.ops.size()),
      transfers_(job.layout.transfers.size()) {
  const std::size_t rows = timeline.steps * workers_;
  ops_.assign(rows * passes_ * op_count_, nullptr);
  for (auto* list : {&messages_[0], &messages_[1], &sums_, &updates_, &copies_[0], &copies_[1]})
    list->assign(rows * transfers_, nullptr);
  for (const Event& e : timeline.events) {
    const bool op = e.what == Event::What::Op;
    if (e.step >= timeline.steps || e.worker >= workers_ || e.item >= (op ? op_count_ : transfers_) ||
        e.pass >= passes_) {
      fault = {"once",
               fmt::format("an event of step {}, worker {}, item {} belongs to nothing", e.step, e.worker, e.item)};
      return;
    }
    const std::size_t row = std::size_t{e.step} * workers_ + e.worker;
    const Event** at = nullptr;
    switch (e.what) {
      case Event::What::Op:
        at = &ops_[(row * passes_ + e.pass) * op_count_ + e.item];
        break;
      case Event::What::Pull:
      case Event::What::Push:
        at = &messages_[e.what == Event::What::Push][row * transfers_ + e.item];
        break;
      case Event::What::CopyIn:
      case Event::What::CopyOut:
        at = &copies_[e.what == Event::What::CopyOut][row * transfers_ + e.item];
        break;
      case Event::What::Sum:
        at = &sums_[row * transfers_ + e.item];
        break;
      case Event::What::Update:
        at = &updates_[row * transfers_ + e.item];
        break;
    }
    if (*at != nullptr) {
      fault = {"once", event_name(job, e) + " happens twice"};
      return;
    }
    *at = &e;
  }
}

std::optional<Violation> audit(const Job& job, const Timeline& timeline) {
  const Index index(job, timeline);
  if (index.fault) return index.fault;
  if (auto v = audit_steps(job, timeline, index)) return v;
  if (auto v = audit_messages(job, timeline, index)) return v;
  return audit_capacity(job, timeline);
}

}  // namespace stretto::check
