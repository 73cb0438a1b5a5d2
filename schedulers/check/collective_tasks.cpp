// SPDX-License-Identifier: Apache-2.0
// The steps of all-reduce training as tasks.
#include <utility>

#include "schedulers/check/collectives.hpp"
#include "schedulers/check/unroller.hpp"

namespace stretto::check {

namespace {

const Channel kNoChannel;

class CollectiveUnroller : UnrollerBase {
 public:
  CollectiveUnroller(const CollectiveJob& job, std::uint32_t steps)
      : UnrollerBase(job.graph, job.passes, job.input_time),
        job_(job),
        steps_(steps),
        buckets_(buckets(job)),
        buckets_of_(buckets_of(job, buckets_)) {}

  Tasks run() {
    tasks_.ends.resize(job_.barrier ? 1 : job_.ranks());
    previous_.resize(job_.ranks());
    add_wires();
    for (step_ = 0; step_ < steps_; ++step_) add_step();
    return std::move(tasks_);
  }

 private:
  // One collective of a step.
  struct Collective {
    Id turn = 0;
    std::vector<Id> enter;    // per worker
    std::vector<Id> message;  // as rounds() has them
    std::vector<Id> exit;     // per worker: it has done its part
    Id done = 0;              // all have
  };

  void add_wires() {
    for (std::size_t c = 0; c < job_.channels.size(); ++c) tasks_.wires.push_back({&job_.channels[c], job_.caps[c], 0});
    first_stream_ = static_cast<std::uint32_t>(tasks_.wires.size());
    for (std::uint32_t w = 0; w < job_.ranks(); ++w)
      tasks_.wires.push_back({&kNoChannel, Bandwidth::unlimited(), job_.streams});
    for (const bool gather : {false, true}) {
      const plan::DirectionOrder& order = job_.direction(gather);
      const std::vector<std::uint32_t> ranked = ranked_buckets(buckets_, gather);
      turns_[gather] = static_cast<std::uint32_t>(tasks_.wires.size());
      tasks_.wires.push_back({&kNoChannel, Bandwidth::unlimited(), 0});
      tasks_.queues.push_back({order.discipline, order.credit, order.window, static_cast<std::uint32_t>(ranked.size()),
                               job_.streams, turns_[gather]});
      place_[gather].assign(buckets_.size(), 0);
      for (std::uint32_t i = 0; i < ranked.size(); ++i) place_[gather][ranked[i]] = i;
      last_[gather].resize(buckets_.size());
    }
  }

  Id span(std::uint32_t wire, Bytes bytes) {
    Task task;
    task.kind = Task::Kind::Span;
    task.step = step_;
    task.wire = wire;
    task.bytes = bytes;
    return add(std::move(task));
  }
  Id close(Id span) {
    Task task;
    task.kind = Task::Kind::Close;
    task.span = span;
    return add(std::move(task));
  }
  // An instance follows that of the step before.
  void follow(bool fresh, Id before, Id task) {
    if (!fresh) edge(before, task);
  }

  Collective add_collective(std::uint32_t b, bool gather, Id ready) {
    const Bucket& bucket = buckets_[b];
    const bool fresh = step_ == 0;
    const Collective before = fresh ? Collective() : last_[gather][b];
    Collective made;
    made.turn = span(turns_[gather], bucket.bytes);
    if (bucket.rank[gather] != plan::kUnranked) {
      Task& turn = tasks_.list[made.turn];
      turn.queue = gather ? 1 : 0;
      turn.rank = bucket.rank[gather];
      turn.place = place_[gather][b];
    }
    edge(ready, made.turn);
    follow(fresh, before.turn, made.turn);
    std::vector<std::vector<Id>> last(job_.ranks());
    for (std::uint32_t w = 0; w < job_.ranks(); ++w) {
      made.enter.push_back(span(first_stream_ + w, bucket.bytes));
      edge(made.turn, made.enter[w]);
      follow(fresh, fresh ? 0 : before.enter[w], made.enter[w]);
      last[w] = {made.enter[w]};
    }
    for (const auto& round : rounds(job_, bucket.bytes, !gather, gather || !job_.layout.split)) {
      std::vector<std::vector<Id>> now(job_.ranks());
      for (const Send& s : round) {
        Task task;
        task.kind = Task::Kind::Message;
        task.what = Event::What::Push;
        task.step = step_;
        task.worker = s.from;
        task.item = b;
        task.wire = s.from * job_.ranks() + s.to;
        task.bytes = s.bytes;
        const Id message = add(std::move(task));
        for (const std::uint32_t end : {s.from, s.to}) {
          for (const Id id : last[end]) edge(id, message);
          now[end].push_back(message);
        }
        follow(fresh, fresh ? 0 : before.message[made.message.size()], message);
        made.message.push_back(message);
      }
      for (std::uint32_t w = 0; w < job_.ranks(); ++w)
        if (!now[w].empty()) last[w] = std::move(now[w]);
    }
    made.done = close(made.turn);
    for (std::uint32_t w = 0; w < job_.ranks(); ++w) {
      made.exit.push_back(close(made.enter[w]));
      for (const Id id : last[w]) edge(id, made.exit[w]);
      edge(made.exit[w], made.done);
    }
    last_[gather][b] = made;
    return made;
  }

  void add_step() {
    std::vector<Id> ready;
    std::vector<Collective> final;
    const Id reduced = join();
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
      ready.push_back(join());
      final.push_back(add_collective(b, false, ready[b]));
      edge(final[b].done, reduced);
    }
    if (job_.layout.split)
      for (std::uint32_t b = 0; b < buckets_.size(); ++b) final[b] = add_collective(b, true, reduced);
    MaybeId step_end;
    if (job_.barrier) step_end = join();
    for (std::uint32_t w = 0; w < job_.ranks(); ++w) {
      const Id ops_done = add_worker(w, ready);
      if (!step_end) {
        tasks_.ends[w].push_back(ops_done);
        continue;
      }
      edge(ops_done, *step_end);
      for (const Collective& c : final) edge(c.exit[w], *step_end);
    }
    if (step_end) tasks_.ends[0].push_back(*step_end);
    last_end_ = step_end;
    last_final_ = std::move(final);
  }

  Id add_worker(std::uint32_t w, const std::vector<Id>& ready) {
    Before& before = previous_[w];
    Id start = join();
    edge(job_.barrier ? last_end_ : before.ops_done, start);
    const std::vector<Duration>& offsets = job_.order.start_offsets;
    if (!offsets.empty() && offsets[w] > Duration() && (job_.barrier || step_ == 0)) {
      const Id later = delay(offsets[w]);
      edge(start, later);
      start = later;
    }
    Id begun = start;
    if (job_.step_overhead > Duration()) {
      begun = delay(job_.step_overhead);
      edge(start, begun);
    }
    const Passes passes = add_passes(w, job_.workers[w], start, begun, before, [&](graph::ParameterId p, Id op) {
      if (job_.barrier || step_ == 0) return;
      for (const std::uint32_t b : buckets_of_[p.index()]) edge(last_final_[b].exit[w], op);
    });
    for (std::uint32_t b = 0; b < buckets_.size(); ++b)
      for (const std::uint32_t p : buckets_[b].parameters)
        edge(passes.op[job_.graph.parameters[p].gradient.index()], ready[b]);
    before = {passes.end, passes.end, passes.last_begin, passes.last_input};
    return passes.end;
  }

  const CollectiveJob& job_;
  const std::uint32_t steps_;
  const std::vector<Bucket> buckets_;
  const std::vector<std::vector<std::uint32_t>> buckets_of_;  // per parameter
  std::uint32_t first_stream_ = 0;
  std::uint32_t turns_[2] = {0, 0};  // wires: of collectives that reduce, that gather
  std::vector<std::uint32_t> place_[2];
  std::vector<Collective> last_[2];  // of the step before
  std::vector<Collective> last_final_;
  std::vector<Before> previous_;
  MaybeId last_end_;
};

}  // namespace

Tasks unroll(const CollectiveJob& job, std::uint32_t steps) { return CollectiveUnroller(job, steps).run(); }

}  // namespace stretto::check
