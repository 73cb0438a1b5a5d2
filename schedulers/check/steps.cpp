// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "schedulers/check/audit.hpp"

namespace stretto::check {

namespace {

using What = Event::What;

class Steps : Findings {
 public:
  Steps(const Job& job, const Timeline& timeline, const Index& index)
      : job_(job),
        timeline_(timeline),
        index_(index),
        workers_(static_cast<std::uint32_t>(job.workers.size())),
        transfers_(static_cast<std::uint32_t>(job.layout.transfers.size())),
        ops_(static_cast<std::uint32_t>(job.graph.ops.size())) {}

  std::optional<Violation> run() {
    const bool one_list = job_.pace == Pace::Barrier || backup();
    check_ends_are_there(timeline_.ends, one_list ? 1 : workers_, timeline_.steps);
    for (const Event& e : timeline_.events) check_event(e);
    for (std::uint32_t step = 0; step < timeline_.steps; ++step) {
      for (std::uint32_t w = 0; w < workers_; ++w) {
        check_presence(step, w);
        if (violation_) return violation_;
        check_pulls(step, w);
        check_ops(step, w);
        if (job_.training) check_pushes(step, w);
      }
      if (job_.training && job_.pace != Pace::Own && job_.pace != Pace::Backup) check_updates(step);
      if (job_.pace != Pace::Backup) check_end(step);
    }
    return violation_;
  }

 private:
  bool backup() const { return job_.pace == Pace::Backup; }
  void not_before(const Event& e, Time at, Time after, const std::string& what) {
    check_not_before([&] { return event_name(job_, e); }, at, after, what);
  }
  bool works(const Server& server, bool update) const {
    return !(update ? server.update_rate : server.aggregate_rate).is_unlimited();
  }
  const Server& server_of(std::uint32_t t) const { return job_.servers[job_.layout.transfers[t].server]; }

  // Times of one event by themselves.
  void check_event(const Event& e) {
    if (violation_) return;
    const bool message = e.what == What::Pull || e.what == What::Push;
    if (e.ready < Time() || e.begin < e.ready || e.end < e.begin ||
        (message && !(e.ready <= e.handed && e.handed <= e.on_wire && e.on_wire <= e.begin && e.begin <= e.arrived &&
                      e.arrived <= e.end)))
      found("duration", event_name(job_, e) + " has stages that end before they begin");
    const bool of_gradient =
        e.what == What::Push || e.what == What::Sum || e.what == What::Update || e.what == What::CopyOut;
    if (of_gradient && !job_.pushed(e.item)) found("once", event_name(job_, e) + ", which is never sent");
    if (e.what == What::CopyIn || e.what == What::CopyOut)
      if (!copy_engine(e.worker, e.what == What::CopyOut))
        found("once", event_name(job_, e) + ", whose device needs none");
    if (message || violation_) return;
    if (const std::string wrong = wrong_length(e, time_of(e)); !wrong.empty())
      found("duration", event_name(job_, e) + " " + wrong);
  }

  const std::optional<CopyEngine>& copy_engine(std::uint32_t w, bool out) const {
    return out ? job_.workers[w].copy_out : job_.workers[w].copy_in;
  }
  // Of what is no message.
  Duration time_of(const Event& e) const {
    if (e.what == What::Op) return job_.graph.ops[e.item].time.scaled(1 / job_.workers[e.worker].speed);
    const Bytes bytes = job_.layout.transfers[e.item].bytes;
    if (e.what == What::CopyIn || e.what == What::CopyOut)
      return copy_engine(e.worker, e.what == What::CopyOut)->of(bytes);
    const Server& server = server_of(e.item);
    return transfer_duration(bytes, e.what == What::Update ? server.update_rate : server.aggregate_rate);
  }

  void check_presence(std::uint32_t step, std::uint32_t w) {
    if (backup()) return;
    const auto lacks = [&](const Event* e, What what, std::uint32_t item, std::uint32_t pass = 0) {
      if (e != nullptr) return;
      Event missing;
      missing.what = what;
      missing.step = step;
      missing.worker = w;
      missing.item = item;
      missing.pass = pass;
      found("once", event_name(job_, missing) + " does not happen");
    };
    for (std::uint32_t pass = 0; pass < job_.passes; ++pass)
      for (std::uint32_t o = 0; o < ops_; ++o) lacks(index_.op(step, w, pass, o), What::Op, o, pass);
    for (std::uint32_t t = 0; t < transfers_; ++t) {
      lacks(index_.message(false, step, w, t), What::Pull, t);
      if (copy_engine(w, false)) lacks(index_.copy(false, step, w, t), What::CopyIn, t);
      if (!job_.pushed(t)) continue;
      const bool own = job_.pace == Pace::Own;
      lacks(index_.message(true, step, w, t), What::Push, t);
      if (copy_engine(w, true)) lacks(index_.copy(true, step, w, t), What::CopyOut, t);
      if (!own && works(server_of(t), false)) lacks(index_.sum(step, w, t), What::Sum, t);
      if ((own || w == 0) && works(server_of(t), true)) lacks(index_.update(step, w, t), What::Update, t);
    }
  }

  // Not before this does the worker's step begin.
  Time start(std::uint32_t step, std::uint32_t w) const {
    const std::vector<Duration>& offsets = job_.order.start_offsets;
    const bool always = job_.pace == Pace::Barrier || backup();
    return after(step, w) + (offsets.empty() || (step > 0 && !always) ? Duration() : offsets[w]);
  }
  Time after(std::uint32_t step, std::uint32_t w) const {
    if (step == 0) return Time();
    if (job_.pace == Pace::Barrier || backup()) return timeline_.ends[0][step - 1];
    Time start = timeline_.ends[w][step - 1];
    if (job_.pace == Pace::Own && step > job_.staleness)
      for (std::uint32_t v = 0; v < workers_; ++v)
        start = std::max(start, timeline_.ends[v][step - 1 - job_.staleness]);
    return start;
  }

  // End of what makes the gradient of worker w count.
  Time effect(std::uint32_t step, std::uint32_t w, std::uint32_t t) const {
    const Event* work = job_.pace == Pace::Own ? index_.update(step, w, t) : index_.sum(step, w, t);
    return work != nullptr ? work->end : index_.message(true, step, w, t)->end;
  }
  Time all_gradients(std::uint32_t step, std::uint32_t t) const {
    Time last;
    for (std::uint32_t w = 0; w < workers_; ++w) last = std::max(last, effect(step, w, t));
    return last;
  }
  Time updated(std::uint32_t step, std::uint32_t t) const {
    const Event* update = index_.update(step, 0, t);
    return update != nullptr ? update->end : all_gradients(step, t);
  }

  // The slice on the worker's device; null if it never comes there.
  const Event* arrival(std::uint32_t step, std::uint32_t w, std::uint32_t t) const {
    return copy_engine(w, false) ? index_.copy(false, step, w, t) : index_.message(false, step, w, t);
  }

  void check_pulls(std::uint32_t step, std::uint32_t w) {
    const Time begun = start(step, w) + job_.step_overhead;
    for (std::uint32_t t = 0; t < transfers_; ++t) {
      const Event* pull = index_.message(false, step, w, t);
      if (pull == nullptr) continue;
      if (const Event* copy = index_.copy(false, step, w, t); copy != nullptr)
        not_before(*copy, copy->ready, pull->end, "its pull is there");
      if (job_.pace != Pace::Overlapped || !job_.pushed(t))
        not_before(*pull, pull->ready, begun + job_.channel(false, w, t).request, "its request has come");
      else if (step > 0)
        not_before(*pull, pull->ready, updated(step - 1, t), "its update ends");
    }
  }

  void check_ops(std::uint32_t step, std::uint32_t w) {
    Time begun = start(step, w) + job_.step_overhead;
    for (std::uint32_t pass = 0; pass < job_.passes; ++pass) {
      Time last = begun;
      for (std::uint32_t o = 0; o < ops_; ++o) {
        const Event* op = index_.op(step, w, pass, o);
        if (op == nullptr) continue;
        last = std::max(last, op->end);
        not_before(*op, op->begin, begun, pass > 0 ? "the pass before ends" : "the step begins");
        for (const graph::OpId input : job_.graph.ops[o].inputs)
          if (const Event* e = index_.op(step, w, pass, input.index()); e != nullptr)
            not_before(*op, op->begin, e->end, event_name(job_, *e) + " ends");
        for (const graph::ParameterId p : job_.graph.ops[o].reads)
          for (std::uint32_t t = job_.layout.first[p.index()]; t < job_.layout.first[p.index() + 1]; ++t)
            if (const Event* e = arrival(step, w, t); e != nullptr)
              not_before(*op, op->begin, e->end, event_name(job_, *e) + " is there");
      }
      begun = last;
    }
    if (!backup()) ops_end_[w] = begun;
  }

  void check_pushes(std::uint32_t step, std::uint32_t w) {
    for (std::uint32_t t = 0; t < transfers_; ++t) {
      const Event* push = index_.message(true, step, w, t);
      if (push == nullptr) continue;
      const std::uint32_t op = job_.graph.parameters[job_.layout.transfers[t].parameter.index()].gradient.index();
      const Event* copy = index_.copy(true, step, w, t);
      if (copy != nullptr) not_before(*push, push->ready, copy->end, event_name(job_, *copy) + " ends");
      const Event& first = copy != nullptr ? *copy : *push;
      if (const Event* e = index_.op(step, w, job_.passes - 1, op); e != nullptr)
        not_before(first, first.ready, e->end, event_name(job_, *e) + " ends");
      if (const Event* sum = index_.sum(step, w, t); sum != nullptr)
        not_before(*sum, sum->ready, push->end, "its gradient is there");
      if (const Event* update = index_.update(step, w, t); update != nullptr && job_.pace == Pace::Own)
        not_before(*update, update->ready, push->end, "its gradient is there");
    }
  }

  void check_updates(std::uint32_t step) {
    for (std::uint32_t t = 0; t < transfers_; ++t)
      if (const Event* update = index_.update(step, 0, t); update != nullptr)
        not_before(*update, update->ready, all_gradients(step, t), "the last gradient is there");
  }

  void check_end(std::uint32_t step) {
    std::vector<bool> read(transfers_, false);
    for (const graph::Op& op : job_.graph.ops)
      for (const graph::ParameterId p : op.reads)
        for (std::uint32_t t = job_.layout.first[p.index()]; t < job_.layout.first[p.index() + 1]; ++t) read[t] = true;
    Time all;
    for (std::uint32_t w = 0; w < workers_; ++w) {
      Time last = ops_end_[w];
      for (std::uint32_t t = 0; t < transfers_; ++t) {
        if (!read[t]) last = std::max(last, arrival(step, w, t)->end);
        if (!job_.pushed(t) || job_.pace == Pace::Overlapped) continue;
        last = std::max(last, index_.message(true, step, w, t)->end);
        last = std::max(last, job_.pace == Pace::Own ? effect(step, w, t) : updated(step, t));
      }
      all = std::max(all, last);
      if (job_.pace != Pace::Barrier) compare_end(step, timeline_.ends[w][step], last, fmt::format(" of worker {}", w));
    }
    if (job_.pace == Pace::Barrier) compare_end(step, timeline_.ends[0][step], all, "");
  }

  const Job& job_;
  const Timeline& timeline_;
  const Index& index_;
  const std::uint32_t workers_, transfers_, ops_;
  std::vector<Time> ops_end_ = std::vector<Time>(workers_);
};

}  // namespace

std::optional<Violation> audit_steps(const Job& job, const Timeline& timeline, const Index& index) {
  return Steps(job, timeline, index).run();
}

}  // namespace stretto::check
