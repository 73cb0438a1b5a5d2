// SPDX-License-Identifier: Apache-2.0
// What unrolling a job's steps is made of, private to this directory: tasks, edges, and the ops of a worker's step.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/check/tasks.hpp"

namespace stretto::check {

class UnrollerBase {
 protected:
  using Id = std::uint32_t;
  using MaybeId = std::optional<Id>;

  // What a worker's next step looks at.
  struct Before {
    MaybeId ops_done;
    MaybeId done;
    MaybeId last_begin;  // of the last pass
    MaybeId last_input;
  };

  UnrollerBase(const graph::Graph& graph, std::uint32_t passes, Duration input_time)
      : graph_(graph), passes_(passes), input_time_(input_time) {}

  Id add(Task task) {
    tasks_.list.push_back(std::move(task));
    return static_cast<Id>(tasks_.list.size() - 1);
  }
  Id join() { return add({}); }
  Id delay(Duration time) {
    Task task;
    task.kind = Task::Kind::Delay;
    task.time = time;
    return add(std::move(task));
  }
  Id work(Event::What what, std::uint32_t worker, std::uint32_t item, std::uint32_t pool, Duration time,
          std::uint32_t pass = 0) {
    Task task;
    task.kind = Task::Kind::Work;
    task.what = what;
    task.step = step_;
    task.worker = worker;
    task.item = item;
    task.pass = pass;
    task.pool = pool;
    task.time = time;
    return add(std::move(task));
  }
  void edge(MaybeId from, Id to) {
    if (!from) return;
    tasks_.list[*from].next.push_back(to);
    ++tasks_.list[to].waits;
  }

  struct Passes {
    std::vector<Id> op;  // of the last pass
    Id end = 0;          // of all passes
    Id last_begin = 0;
    MaybeId last_input;
  };
  // All passes of worker w's step from `begun` on; `start`: what the next batch of input waits for. `read`: adds what a
  // parameter that op `to` reads waits for, in the first pass.
  Passes add_passes(std::uint32_t w, const Worker& worker, Id start, Id begun, const Before& before,
                    const std::function<void(graph::ParameterId, Id to)>& read) {
    const auto& ops = graph_.ops;
    std::vector<bool> sink(ops.size(), true);
    for (const graph::Op& op : ops)
      for (const graph::OpId input : op.inputs) sink[input.index()] = false;
    Passes result{std::vector<Id>(ops.size()), begun, start, {}};
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      if (input_time_ > Duration()) {
        const MaybeId last = pass == 0 ? before.last_input : result.last_input;
        const MaybeId taken = pass == 0 ? before.last_begin : MaybeId(result.last_begin);
        const Id made = delay(input_time_);
        edge(taken, made);
        edge(last, made);
        result.last_input = made;
      }
      if (pass > 0) result.last_begin = result.end;
      for (std::size_t o = 0; o < ops.size(); ++o)
        result.op[o] = work(Event::What::Op, w, static_cast<std::uint32_t>(o), worker.device,
                            ops[o].time.scaled(1 / worker.speed), pass);
      for (std::size_t o = 0; o < ops.size(); ++o) {
        for (const graph::OpId i : ops[o].inputs) edge(result.op[i.index()], result.op[o]);
        for (const graph::ParameterId p : ops[o].reads)
          if (pass == 0) read(p, result.op[o]);
        if (!ops[o].inputs.empty()) continue;
        edge(result.end, result.op[o]);
        if (input_time_ > Duration()) edge(result.last_input, result.op[o]);
      }
      const Id end = join();
      for (std::size_t o = 0; o < ops.size(); ++o)
        if (sink[o]) edge(result.op[o], end);
      if (pass == 0) edge(result.end, end);
      result.end = end;
    }
    return result;
  }

  const graph::Graph& graph_;
  const std::uint32_t passes_;
  const Duration input_time_;
  std::uint32_t step_ = 0;
  Tasks tasks_;
};

}  // namespace stretto::check
