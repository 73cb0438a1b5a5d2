// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/tasks.hpp"

#include <utility>

#include "schedulers/check/unroller.hpp"
#include "sim/base/assert.hpp"

namespace stretto::check {

namespace {

// Time on a server thread.
Duration work_time(Bytes bytes, Bandwidth rate) { return transfer_duration(bytes, rate); }

class Unroller : UnrollerBase {
 public:
  Unroller(const Job& job, std::uint32_t steps)
      : UnrollerBase(job.graph, job.passes, job.input_time),
        job_(job),
        steps_(steps),
        workers_(static_cast<std::uint32_t>(job.workers.size())),
        transfers_(static_cast<std::uint32_t>(job.layout.transfers.size())) {}

  Tasks run() {
    STRETTO_ASSERT(job_.pace != Pace::Backup, "backup workers are not unrolled");
    tasks_.ends.resize(job_.pace == Pace::Barrier ? 1 : workers_);
    add_wires();
    previous_.resize(workers_);
    all_done_.resize(workers_);
    last_push_.resize(std::size_t{workers_} * transfers_);
    for (step_ = 0; step_ < steps_; ++step_) add_step();
    return std::move(tasks_);
  }

 private:
  // One wire per direction, worker and server; one queue too, or with a credit one per direction and worker.
  void add_wires() {
    const auto servers = static_cast<std::uint32_t>(job_.servers.size());
    for (const bool push : {false, true}) {
      const plan::DirectionOrder& order = job_.direction(push);
      place_[push] = places(job_, push);
      first_[push] = static_cast<std::uint32_t>(tasks_.wires.size());
      for (std::uint32_t c = 0; c < workers_ * servers; ++c) {
        tasks_.wires.push_back({&(push ? job_.pushes : job_.pulls)[c], job_.rate_cap, job_.streams});
        TurnRule queue{order.discipline, order.credit, order.window, 0, 0, 0};
        for (std::uint32_t t = 0; t < transfers_; ++t)
          if (place_[push][t] != plan::kUnranked && job_.layout.transfers[t].server == c % servers) ++queue.ranked;
        tasks_.queues.push_back(queue);
      }
    }
  }
  Id message(Event::What what, std::uint32_t worker, std::uint32_t transfer) {
    const bool push = what == Event::What::Push;
    const plan::DirectionOrder& order = job_.direction(push);
    const auto servers = static_cast<std::uint32_t>(job_.servers.size());
    Task task;
    task.kind = Task::Kind::Message;
    task.what = what;
    task.step = step_;
    task.worker = worker;
    task.item = transfer;
    task.bytes = bytes_of(transfer);
    task.wire = first_[push] + worker * servers + job_.layout.transfers[transfer].server;
    if (plan::traits(order.discipline).ranks && order.rank[transfer] != plan::kUnranked) {
      task.queue = plan::has_credit(order.discipline) ? first_[push] + worker * servers : task.wire;
      task.rank = order.rank[transfer];
      task.place = place_[push][transfer];
    }
    return add(std::move(task));
  }
  const Server& server_of(std::uint32_t t) const { return job_.servers[job_.layout.transfers[t].server]; }
  Bytes bytes_of(std::uint32_t t) const { return job_.layout.transfers[t].bytes; }

  void add_step() {
    const bool shared = job_.training && job_.pace != Pace::Own;
    sum_.assign(transfers_, std::nullopt);
    std::vector<MaybeId> update(transfers_);
    for (std::uint32_t t = 0; shared && t < transfers_; ++t) {
      if (!job_.pushed(t)) continue;
      sum_[t] = update[t] = join();
      const Duration time = work_time(bytes_of(t), server_of(t).update_rate);
      if (time == Duration()) continue;
      update[t] = work(Event::What::Update, 0, t, server_of(t).threads, time);
      edge(sum_[t], *update[t]);
    }
    MaybeId step_end;
    if (job_.pace == Pace::Barrier) step_end = join();
    for (std::uint32_t w = 0; w < workers_; ++w) add_worker(w, step_end);
    for (std::uint32_t t = 0; step_end && t < transfers_; ++t) edge(update[t], *step_end);
    if (step_end) tasks_.ends[0].push_back(*step_end);
    last_update_ = std::move(update);
    last_end_ = step_end;
  }

  // With a barrier every step of the worker starts later by its offset, else its first one.
  Id start_of(std::uint32_t w) {
    const Id first = ready_to_start(w);
    const std::vector<Duration>& offsets = job_.order.start_offsets;
    if (offsets.empty() || offsets[w] == Duration() || (job_.pace != Pace::Barrier && step_ > 0)) return first;
    const Id start = delay(offsets[w]);
    edge(first, start);
    return start;
  }
  Id ready_to_start(std::uint32_t w) {
    const Id start = join();
    if (job_.pace == Pace::Barrier) edge(last_end_, start);
    if (job_.pace == Pace::Overlapped) edge(previous_[w].ops_done, start);
    if (job_.pace != Pace::Own) return start;
    edge(previous_[w].done, start);
    // Nobody leads the slowest by more than `staleness` steps.
    const std::uint64_t lag = std::uint64_t{job_.staleness} + 1;
    if (lag > step_) return start;
    for (std::uint32_t v = 0; v < workers_; ++v)
      if (v != w || lag > 1) edge(all_done_[v][step_ - lag], start);
    return start;
  }

  std::vector<Id> add_pulls(std::uint32_t w, Id begun) {
    std::vector<MaybeId> request(job_.servers.size());
    std::vector<Id> pulls;
    for (std::uint32_t t = 0; t < transfers_; ++t) {
      if (job_.pace == Pace::Overlapped && job_.pushed(t)) {
        pulls.push_back(message(Event::What::Pull, w, t));
        if (step_ > 0) edge(last_update_[t], pulls.back());
        continue;
      }
      const std::uint32_t s = job_.layout.transfers[t].server;
      const Duration latency = job_.channel(false, w, t).request;
      if (!request[s]) {
        request[s] = begun;
        if (latency > Duration()) {
          request[s] = delay(latency);
          edge(begun, *request[s]);
        }
      }
      pulls.push_back(message(Event::What::Pull, w, t));
      edge(request[s], pulls.back());
    }
    return pulls;
  }

  void add_worker(std::uint32_t w, MaybeId step_end) {
    Before& before = previous_[w];
    const Id start = start_of(w);
    Id begun = start;
    if (job_.step_overhead > Duration()) {
      begun = delay(job_.step_overhead);
      edge(start, begun);
    }
    std::vector<Id> pulls = add_pulls(w, begun);
    if (const auto& engine = job_.workers[w].copy_in)
      for (std::uint32_t t = 0; t < transfers_; ++t) {
        const Id copy = work(Event::What::CopyIn, w, t, engine->pool, engine->of(bytes_of(t)));
        edge(pulls[t], copy);
        pulls[t] = copy;
      }
    std::vector<bool> read(transfers_, false);
    const Passes passes = add_passes(w, job_.workers[w], start, begun, before, [&](graph::ParameterId p, Id op) {
      for (std::uint32_t t = job_.layout.first[p.index()]; t < job_.layout.first[p.index() + 1]; ++t) {
        edge(pulls[t], op);
        read[t] = true;
      }
    });
    const Id ops_done = passes.end;
    for (std::uint32_t t = 0; t < transfers_; ++t)
      if (!read[t]) edge(pulls[t], ops_done);
    Id done = ops_done;
    if (step_end || job_.pace == Pace::Own) {
      done = join();
      edge(ops_done, done);
    }
    add_pushes(w, passes.op, done, step_end.has_value());
    if (step_end) edge(done, *step_end);
    if (job_.pace != Pace::Barrier) tasks_.ends[w].push_back(done);
    all_done_[w].push_back(done);
    before = {ops_done, done, passes.last_begin, passes.last_input};
  }

  void add_pushes(std::uint32_t w, const std::vector<Id>& op, Id done, bool barrier) {
    for (std::uint32_t t = 0; t < transfers_; ++t) {
      if (!job_.pushed(t)) continue;
      const auto& parameter = job_.graph.parameters[job_.layout.transfers[t].parameter.index()];
      const Id push = message(Event::What::Push, w, t);
      Id gradient = op[parameter.gradient.index()];
      if (const auto& engine = job_.workers[w].copy_out) {
        const Id copy = work(Event::What::CopyOut, w, t, engine->pool, engine->of(bytes_of(t)));
        edge(gradient, copy);
        gradient = copy;
      }
      edge(gradient, push);
      MaybeId& before = last_push_[w * transfers_ + t];  // a variable's gradients go one after the other
      edge(before, push);
      before = push;
      const bool own = job_.pace == Pace::Own;
      const Duration time = work_time(bytes_of(t), own ? server_of(t).update_rate : server_of(t).aggregate_rate);
      Id effect = push;
      if (time > Duration()) {
        effect = work(own ? Event::What::Update : Event::What::Sum, w, t, server_of(t).threads, time);
        edge(push, effect);
      }
      if (own) {
        edge(effect, done);
        continue;
      }
      edge(effect, *sum_[t]);
      if (barrier) edge(push, done);
    }
  }

  const Job& job_;
  const std::uint32_t steps_;
  const std::uint32_t workers_;
  const std::uint32_t transfers_;
  std::vector<std::uint32_t> place_[2];  // pulls, pushes
  std::uint32_t first_[2] = {0, 0};      // wire and queue of worker 0 and server 0
  std::vector<Before> previous_;
  std::vector<std::vector<Id>> all_done_;  // per worker and step
  std::vector<MaybeId> sum_;               // of the step: all gradients are there
  std::vector<MaybeId> last_update_;
  std::vector<MaybeId> last_push_;  // [worker * transfers + transfer]
  MaybeId last_end_;
};

}  // namespace

std::uint64_t task_count(const Job& job, std::uint32_t steps) {
  const std::uint64_t worker =
      std::uint64_t{job.passes} * (job.graph.ops.size() + 2) + 3 * job.layout.transfers.size() + job.servers.size() + 3;
  return steps * (job.workers.size() * worker + 2 * job.layout.transfers.size());
}

Tasks unroll(const Job& job, std::uint32_t steps) { return Unroller(job, steps).run(); }

}  // namespace stretto::check
