// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/check_run.hpp"

#include <utility>

#include "models/training/deadlock.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

class Listener : public program::Observer {
 public:
  Listener(const training::Compiled& compiled, const OnEnd& on_end) : compiled_(compiled), on_end_(on_end) {}
  void on_end(const program::ActivityRecord& record) override { on_end_(compiled_, record); }

 private:
  const training::Compiled& compiled_;
  const OnEnd& on_end_;
};

}  // namespace

JobParts::JobParts(const Setup& setup, const plan::Plan& plan, check::AnyJob& job)
    : cluster_(setup.cluster), job_(job) {
  job_.graph = *setup.graph;
  job_.layout = plan.layout;
  job_.order = plan.order;
  job_.fluid = cluster_.network.model == cluster::LinkModel::Fluid;
  job_.step_overhead = cluster_.step_overhead;
  job_.input_time = setup.training.input_time;
  job_.passes = setup.training.passes;
}

std::uint32_t JobParts::add_pool(std::string name, std::uint32_t units) {
  job_.pools.push_back({std::move(name), units});
  return static_cast<std::uint32_t>(job_.pools.size() - 1);
}

std::uint32_t JobParts::add_worker(const cluster::Worker& worker, bool copies) {
  const cluster::Device& device = worker.device;
  check::Worker w{add_pool(worker.name + " device", device.cores), device.speed, {}, {}};
  if (copies && device.copies_in())
    w.copy_in = check::CopyEngine{add_pool(worker.name + " copies in", 1), device.copy_launch, device.copy_in};
  if (copies && device.copies_out())
    w.copy_out = check::CopyEngine{add_pool(worker.name + " copies out", 1), device.copy_launch, device.copy_out};
  job_.in_turn = job_.in_turn && device.order == cluster::OpOrder::Fifo;
  job_.workers.push_back(w);
  return add_pool(worker.name + " threads", worker.threads);
}

std::vector<std::uint32_t> JobParts::links_of(const cluster::Path& path) {
  std::vector<std::uint32_t> result;
  for (const cluster::LinkRef ref : path.links) {
    const Bandwidth rate = cluster::link_rate(cluster_, ref);
    if (rate.is_unlimited()) continue;
    const auto [at, fresh] = links_.emplace(ref, static_cast<std::uint32_t>(job_.links.size()));
    if (fresh) job_.links.push_back({cluster::link_name(cluster_, ref), rate});
    result.push_back(at->second);
  }
  return result;
}

check::Service service_of(const cluster::ServiceCost& cost, std::uint32_t pool) {
  return {pool, cost.per_message, cost.per_byte_ps};
}

void set_happening(const training::Label& label, const program::ActivityRecord& r, check::Happening& e) {
  e.step = r.iteration;
  e.worker = label.worker;
  e.ready = r.ready;
  e.handed = r.handed;
  e.on_wire = r.on_wire;
  e.begin = r.begin;
  e.arrived = r.arrived;
  e.end = r.end;
  e.batch = r.batch;
}

std::optional<std::string> run_recorded(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream, const OnEnd& on_end,
                                        std::vector<std::vector<Time>>& ends) {
  Setup all = setup;
  set_variation(all, {});
  all.training.all_reduce.aggregate = false;
  const training::Compiled compiled = training::compile(*all.graph, all.cluster, plan.layout, all.training);
  const program::OrderTable order = training::compile_order(compiled, plan.layout, plan.order, stream);
  program::Simulation sim(compiled.program, order, steps);
  Listener listener(compiled, on_end);
  sim.observe(&listener);
  if (sim.run() != program::Status::Reached)
    return training::explain_deadlock(compiled, *setup.graph, plan.layout, sim);
  const std::size_t markers = compiled.barrier ? 1 : compiled.workers;
  for (std::size_t m = 0; m < markers; ++m) ends.push_back(sim.marker_times(m));
  return std::nullopt;
}

}  // namespace stretto::experiment
