// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/units_text.hpp"
#include "experiment/setup/all_reduce_plan.hpp"
#include "experiment/setup/background.hpp"
#include "experiment/setup/order_options.hpp"
#include "io/import/import.hpp"
#include "io/import/order_file.hpp"
#include "io/import/schedule.hpp"
#include "models/device/roofline.hpp"
#include "models/graph/check.hpp"
#include "models/graph/reduce.hpp"
#include "models/graph/transform.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

placement::Hosts hosts_of(const cluster::Cluster& cluster) {
  placement::Hosts hosts;
  hosts.servers = static_cast<std::uint32_t>(cluster.servers.size());
  hosts.workers = static_cast<std::uint32_t>(cluster.workers.size());
  for (const cluster::Server& server : cluster.servers) {
    hosts.on_workers += server.on_worker ? 1 : 0;
    hosts.shared = hosts.shared || server.with_server;
  }
  for (const cluster::Worker& worker : cluster.workers) hosts.shared = hosts.shared || worker.with_worker;
  return hosts;
}

namespace {

// Runs `f`; findings without a place of their own get the one of the spec.
template <class F>
auto located(const config::Place& place, const std::string& key, F&& f) {
  try {
    return f();
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& d : diagnostics) {
      if (!d.span.file.empty()) continue;
      d.span = place.span();
      if (d.key.empty()) d.key = key;
    }
    throw UserError(std::move(diagnostics));
  }
}

[[noreturn]] void fail(const config::Place& place, std::string key, std::string message, std::string hint) {
  throw UserError({{Severity::Error, place.span(), std::move(key), std::move(message), std::move(hint)}});
}

void apply_ratio(const Spec& spec, const graph::Graph& graph, cluster::Cluster& cluster) {
  const double ratio = *spec.cluster.network.comm_compute_ratio;
  const config::Place& place = spec.cluster.network.ratio_place;
  const std::string key = "cluster.network.comm_compute_ratio";
  double bits = 0;
  for (const graph::Parameter& p : graph.parameters) bits += 8.0 * static_cast<double>(p.bytes.count());
  double forward = 0;
  for (const graph::Op& op : graph.ops)
    if (op.phase == graph::Phase::Forward) forward += op.time.seconds();
  const cluster::Device& device = cluster.workers.front().device;
  forward /= device.speed * device.cores;
  if (bits == 0 || forward == 0)
    fail(place, key, "the workload has no transfers or no forward time, so that no ratio can be set",
         "give cluster.workers.nic and cluster.servers.nic");
  const double rate = bits / (ratio * forward) / cluster.network.efficiency;
  if (!(rate >= 1 && rate < 9e18))
    fail(place, key, fmt::format("would need NICs of {:.3g} bit/s", rate), "rates from 1 bit/s to 9e18 bit/s work");
  const Bandwidth nic(std::llround(rate));
  for (auto& worker : cluster.workers) worker.nic = {nic, nic};
  for (auto& server : cluster.servers) server.nic = {nic, nic};
  cluster.server_nic = {nic, nic};
  set_fabric(spec, cluster);
}

// The policy's own placement, or that of the experiment; each cut to the policy's partition.
plan::Layout layout_of(const Setup& setup, const PolicyChoice& choice) {
  const Bytes partition = choice.order.partition;
  if (choice.placement.empty()) return partition > Bytes() ? plan::partition(setup.layout, partition) : setup.layout;
  placement::Options options;
  options.slice = partition;
  if (partition == Bytes())
    for (const graph::Parameter& p : setup.graph->parameters) options.slice = std::max(*options.slice, p.bytes);
  return placement::place(choice.placement, *setup.graph, hosts_of(setup.cluster), options);
}

struct PullTimes {
  Duration at_worker;
  Duration at_server;
};

// One worker's pulls at its NIC, and at the server that needs longest.
PullTimes pull_times(const cluster::Cluster& cluster, const plan::Layout& layout) {
  std::vector<Bytes> load(cluster.servers.size());
  Bytes all;
  for (const plan::Transfer& t : layout.transfers) {
    load[t.server] += t.bytes;
    all += t.bytes;
  }
  const double efficiency = cluster.network.efficiency;
  PullTimes times{transfer_duration(all, cluster.workers[0].nic.down.scaled(efficiency)), {}};
  for (std::size_t s = 0; s < load.size(); ++s) {
    const auto& on = cluster.servers[s].on_worker;
    const Bandwidth up = on ? cluster.workers[*on].nic.up : cluster.servers[s].nic.up;
    times.at_server = std::max(times.at_server, transfer_duration(load[s], up.scaled(efficiency)));
  }
  return times;
}

[[noreturn]] void refuse_credit(const Setup& setup, const plan::Plan& plan, std::uint32_t t,
                                const plan::DirectionOrder& order) {
  const plan::Transfer& transfer = plan.layout.transfers[t];
  throw UserError(fmt::format("a transfer of '{}' has {} and the credit is {}: it could never go",
                              setup.graph->parameters[transfer.parameter.index()].name,
                              config::format_bytes(transfer.bytes), config::format_bytes(order.credit)),
                  "a credit of at least the largest slice, or a smaller partition");
}

using GraphPointer = std::shared_ptr<const graph::Graph>;

void scale_batch(const WorkloadSpec& spec, GraphPointer& graph, std::vector<std::string>& assumptions) {
  if (!spec.batch_per_worker || *spec.batch_per_worker == graph->batch) return;
  double total = 0;
  for (const graph::Op& op : graph->ops) total += op.time.seconds();
  const double ratio = static_cast<double>(*spec.batch_per_worker) / static_cast<double>(graph->batch);
  if (total * std::max(ratio, 1.0) > graph::kMaxTotalTime.seconds())
    fail(spec.batch_place, "workload.batch_per_worker",
         fmt::format("the ops of a step would take {:.3g} s", total * ratio),
         fmt::format("the profile has a batch of {}", graph->batch));
  assumptions.push_back(fmt::format("op times, profiled with a batch of {}, {}", graph->batch,
                                    spec.batch_fixed_share == 0
                                        ? "grow in proportion to the batch"
                                        : fmt::format("grow in proportion to the batch but for a fixed share of {:g} %",
                                                      100 * spec.batch_fixed_share)));
  graph =
      std::make_shared<const graph::Graph>(graph::with_batch(*graph, *spec.batch_per_worker, spec.batch_fixed_share));
}

void leave_out(const WorkloadSpec& spec, GraphPointer& graph, std::vector<std::string>& assumptions) {
  if (spec.leave_out.empty()) return;
  std::vector<std::string> patterns;
  for (const PatternSpec& p : spec.leave_out) patterns.push_back(p.pattern);
  graph::LeftOut left = graph::leave_out(*graph, patterns);
  std::vector<Diagnostic> wrong;
  for (const std::size_t i : left.idle_patterns)
    wrong.push_back({Severity::Error, spec.leave_out[i].place.span(), fmt::format("workload.leave_out[{}]", i),
                     fmt::format("no op is named '{}'", patterns[i]),
                     "patterns know * and ?; the workload file names the ops"});
  if (!left.gradients.empty())
    wrong.push_back({Severity::Error, spec.leave_out.front().place.span(), "workload.leave_out",
                     fmt::format("op '{}' completes a gradient and cannot be left out",
                                 graph->ops[left.gradients.front().index()].name),
                     "narrower patterns"});
  if (wrong.empty() && left.graph.ops.empty())
    wrong.push_back({Severity::Error, spec.leave_out.front().place.span(), "workload.leave_out", "no op is left",
                     "narrower patterns"});
  if (!wrong.empty()) throw UserError(std::move(wrong));
  assumptions.push_back(fmt::format("{} ops of the workload are left out as asked for", left.ops));
  graph = std::make_shared<const graph::Graph>(std::move(left.graph));
}

void freeze(const WorkloadSpec& spec, GraphPointer& graph, std::vector<std::string>& assumptions) {
  if (spec.freeze.empty()) return;
  std::vector<std::string> patterns;
  for (const PatternSpec& f : spec.freeze) patterns.push_back(f.pattern);
  graph::Frozen frozen = graph::freeze(*graph, patterns);
  std::vector<std::string> names;
  for (const graph::Parameter& p : graph->parameters) names.push_back(p.name);
  std::vector<Diagnostic> wrong;
  for (const std::size_t i : frozen.idle_patterns) {
    const std::string guess = nearest_name(patterns[i], names);
    wrong.push_back({Severity::Error, spec.freeze[i].place.span(), fmt::format("workload.freeze[{}]", i),
                     fmt::format("no variable is named '{}'", patterns[i]),
                     guess.empty() ? "patterns know * and ?; `stretto show` lists the variables"
                                   : fmt::format("did you mean '{}'?", guess)});
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
  assumptions.push_back(
      fmt::format("frozen variables ({}) are pulled, not pushed; backward ops that serve nothing else ({}) are left "
                  "out, the others "
                  "keep their times",
                  frozen.parameters, frozen.dropped_ops));
  graph = std::make_shared<const graph::Graph>(std::move(frozen.graph));
}

// Tables with lookups have the bytes of the rows that a step of the graph's batch touches.
GraphPointer touched_rows(const GraphPointer& graph, const std::vector<generate::Lookups>& lookups) {
  if (lookups.empty()) return graph;
  auto thinned = std::make_shared<graph::Graph>(*graph);
  for (const generate::Lookups& of : lookups) {
    Bytes& bytes = thinned->parameters[of.table.index()].bytes;
    bytes = graph::share_of(bytes, generate::touched_share(of, graph->batch));
  }
  return thinned;
}

void thin(const WorkloadSpec& spec, const std::vector<generate::Lookups>& lookups, GraphPointer& graph,
          std::vector<std::string>& assumptions) {
  if (!lookups.empty())
    assumptions.push_back(
        fmt::format("of {} tables a step pulls, pushes and updates the rows that its lookups touch, each once, if all "
                    "rows are looked up equally often; bytes in this answer, also those that placements count, are "
                    "those sent",
                    lookups.size()));
  const GraphPointer touched = touched_rows(graph, lookups);
  if (spec.sparse.empty()) {
    graph = touched;
    return;
  }
  auto thinned = std::make_shared<graph::Graph>(*touched);
  std::vector<Diagnostic> wrong;
  std::vector<bool> sparse_ones(graph->parameters.size(), false);
  for (std::size_t i = 0; i < spec.sparse.size(); ++i) {
    const SparseSpec& sparse = spec.sparse[i];
    bool found = false;
    for (std::size_t p = 0; p < graph->parameters.size(); ++p) {
      if (!graph::matches(sparse.pattern, graph->parameters[p].name)) continue;
      found = true;
      sparse_ones[p] = true;
      // The last pattern that names a variable counts.
      thinned->parameters[p].bytes = graph::share_of(graph->parameters[p].bytes, sparse.share);
    }
    if (found) continue;
    wrong.push_back({Severity::Error, sparse.place.span(), fmt::format("workload.sparse[{}]", i),
                     fmt::format("no variable is named '{}'", sparse.pattern),
                     "patterns know * and ?; `stretto show` lists the variables"});
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
  assumptions.push_back(
      fmt::format("of {} sparse variables a step pulls, pushes and updates a share; bytes in this answer, also those "
                  "that placements count, are those sent",
                  std::count(sparse_ones.begin(), sparse_ones.end(), true)));
  graph = std::move(thinned);
}

double ratio_of(const TransfersSpec& spec) {
  if (spec.ratio) return *spec.ratio;
  switch (spec.precision) {
    case Precision::Fp32:
      return 1;
    case Precision::Fp16:
      return 0.5;
    case Precision::Int8:
      return 0.25;
  }
  return 1;
}

void compress(const TransfersSpec& spec, GraphPointer& graph, cluster::Cluster& cluster,
              std::vector<std::string>& assumptions) {
  const double ratio = ratio_of(spec);
  if (ratio != 1) {
    graph = std::make_shared<const graph::Graph>(graph::with_bytes(*graph, ratio));
    for (cluster::Server& server : cluster.servers) server.update_rate = server.update_rate.scaled(ratio);
    assumptions.push_back(fmt::format(
        "variables and gradients are sent as {:g} of their bytes, both ways; bytes in this answer are those sent",
        ratio));
  }
  if (spec.encode_ps == 0 && spec.decode_ps == 0) return;
  const auto slow = [&](auto& hosts) {
    for (auto& host : hosts) {
      host.send.per_byte_ps += spec.encode_ps / ratio;
      host.receive.per_byte_ps += spec.decode_ps / ratio;
    }
  };
  slow(cluster.workers);
  slow(cluster.servers);
  assumptions.push_back("encoding and decoding are work of the service threads at both ends, not of the devices");
}

training::Options training_of(const Spec& spec) {
  const TrainingSpec& t = spec.training;
  training::Options o;
  o.mode = spec.workload.mode == Mode::Training ? training::Mode::Training : training::Mode::Inference;
  o.barrier = t.barrier;
  o.input_time = spec.workload.input_pipeline;
  o.passes = t.accumulation;
  switch (t.synchronization) {
    case Synchronization::Sync:
      break;
    case Synchronization::Async:
      o.synchronization = training::Synchronization::Async;
      o.barrier = false;
      break;
    case Synchronization::Ssp:
      o.synchronization = training::Synchronization::Ssp;
      o.barrier = false;
      o.staleness = t.staleness.value_or(kDefaultStaleness);
      break;
    case Synchronization::Backup:
      o.synchronization = training::Synchronization::Backup;
      o.barrier = true;
      o.backups = t.backups.value_or(kDefaultBackups);
      break;
    case Synchronization::Local:
      o.synchronization = training::Synchronization::Local;
      o.passes *= t.local_steps.value_or(kDefaultLocalSteps);
      break;
  }
  return o;
}

// Why no worker can stand for all of them.
std::string why_no_aggregate(const Setup& setup) {
  if (!setup.variation.nics.empty()) return "noise changes the rates of single NICs";
  if (!setup.variation.bursts.empty()) return "bursts of background traffic cross single links";
  return training::why_no_aggregate(setup.cluster, setup.training.all_reduce);
}

void add_all_reduce(const Spec& spec, Setup& setup) {
  const AllReduceSpec& a = spec.all_reduce;
  setup.training.exchange = training::Exchange::AllReduce;
  training::AllReduce& o = setup.training.all_reduce;
  o.algorithm = static_cast<training::Algorithm>(a.algorithm);
  o.per_round = a.per_round;
  o.streams = a.streams;
  setup.fusion = a.fusion;
  setup.split = a.split;
  const std::string reason = why_no_aggregate(setup);
  if (a.detail == Detail::Aggregate && !reason.empty())
    fail(a.detail_place, "all_reduce.detail", "no worker can stand for all: " + reason, "say auto or messages");
  o.aggregate = a.detail != Detail::Messages && reason.empty();
  setup.assumptions.push_back(
      o.aggregate ? "all workers do the same in a collective at the same time, so that one stands for all (exact)"
                  : "the messages of all workers are simulated");
  setup.assumptions.push_back("a collective starts when all workers have its gradients; to agree on it takes no time");
  if (setup.cluster.workers[0].receive.is_zero()) setup.assumptions.push_back("adding gradients takes no time");
}

training::VariationSpec variation_of(const NoiseSpec& spec) {
  training::VariationSpec v;
  v.compute_cv = spec.compute_cv;
  v.per_step = spec.drawn_per == DrawnPer::Step;
  switch (spec.distribution) {
    case NoiseLaw::Lognormal:
      v.law = program::NoiseLaw::Lognormal;
      break;
    case NoiseLaw::Gamma:
      v.law = program::NoiseLaw::Gamma;
      break;
    case NoiseLaw::Empirical:
      v.law = program::NoiseLaw::Empirical;
      v.factors = spec.factors;
      break;
  }
  double sum = 0;
  for (const double factor : v.factors) sum += factor;
  for (double& factor : v.factors) factor *= static_cast<double>(v.factors.size()) / sum;
  for (const LateStartSpec& late : spec.late_starts)
    v.late_starts.push_back({late.worker, late.delay, late.probability, late.times == LateTimes::Exponential});
  if (const StragglersSpec& s = spec.stragglers; s.slowdown > 1)
    v.stragglers = {s.slowdown, s.mean_on, s.mean_off, s.times == StragglerTimes::Fixed};
  for (const SlowWorkerSpec& s : spec.slow_workers)
    v.slow_workers.push_back({s.worker, s.slowdown, Time() + s.from, s.until ? Time() + *s.until : Time::never()});
  for (const NicChangeSpec& n : spec.nics) v.nics.push_back({n.server, n.host, Time() + n.at, n.factor});
  return v;
}

Workload make_workload(const WorkloadSpec& spec, const generate::Generator& generator) {
  generate::Generated made = generate::make(generator, spec.generate.values);
  std::vector<Diagnostic> wrong;
  for (const Diagnostic& problem : graph::check(made.graph))
    wrong.push_back({Severity::Error, spec.place.span(), "workload.generate." + std::string(generator.name),
                     "the model cannot be simulated: " + problem.message,
                     problem.hint.empty() ? "smaller figures" : problem.hint});
  if (!wrong.empty()) throw UserError(std::move(wrong));
  return {std::make_shared<const graph::Graph>(std::move(made.graph)), std::move(made.lookups)};
}

// The named orders in the file of a policy, if it has one.
std::vector<plan::NamedOrder> read_named(const PolicyChoice& choice) {
  switch (choice.policy->file) {
    case policies::FileKind::Order:
      return {io::read_order_file(choice.file)};
    case policies::FileKind::Recorded:
      return io::read_arrivals(choice.file);
    case policies::FileKind::None:
    case policies::FileKind::Schedule:
      return {};
  }
  return {};
}

}  // namespace

const Workload& Workloads::get(const WorkloadSpec& spec) {
  const generate::Generator* generator = generate::find_generator(spec.generate.generator);
  Workload& workload =
      generator != nullptr ? generated_[generate::text_of(*generator, spec.generate.values)] : files_[spec.file];
  if (workload.graph) return workload;
  if (generator != nullptr)
    workload = make_workload(spec, *generator);
  else
    workload.graph = std::make_shared<const graph::Graph>(
        located(spec.place, "workload", [&] { return std::move(io::import_any(spec.file).graph); }));
  return workload;
}

void Workloads::add(const std::string& file, std::shared_ptr<const graph::Graph> graph) {
  files_[file] = {std::move(graph), {}};
}

void place(Setup& setup) {
  if (setup.training.exchange == training::Exchange::AllReduce) {
    setup.layout = placement::place("round_robin", *setup.graph, 1, {});
    plan::fuse(*setup.graph, setup.layout, setup.fusion);
    setup.layout.split = setup.split;
    return;
  }
  setup.layout = placement::place(setup.placement, *setup.graph, hosts_of(setup.cluster), setup.placement_options);
}

// Times for a workload that has none, from the device's roofline at a batch.
void fill_times(const Spec& spec, std::int64_t batch, GraphPointer& graph, std::vector<std::string>& assumptions) {
  const DeviceSpec& d = spec.cluster.workers.device;
  if (!d.peak_gflops)
    fail(spec.workload.place, "workload", "no op of the workload has a time, and the device cannot give one",
         "give cluster.workers.device.peak_gflops and memory_gbytes, or import a traced step");
  device::Roofline roofline{*d.peak_gflops * 1e9, *d.memory_gbytes * 1e9, d.flops_efficiency, d.memory_efficiency,
                            d.launch};
  for (std::size_t c = 0; c < d.efficiency.size(); ++c) {
    roofline.forward[c] = d.efficiency[c].value_or(0);
    roofline.backward[c] = d.backward_efficiency[c].value_or(0);
  }
  if (spec.workload.batch_fixed_share > 0)
    fail(spec.workload.batch_place, "workload.batch_fixed_share",
         "the roofline of the device tells what does not grow with the batch", "leave batch_fixed_share out");
  graph::Graph filled = graph::with_batch(*graph, batch, 0);
  const device::Filled count = device::fill_times(filled, roofline);
  for (const Diagnostic& problem : graph::check(filled))
    fail(d.roofline_place, "cluster.workers.device", "the times of this device do not work: " + problem.message, "");
  assumptions.push_back(
      fmt::format("op times are a roofline's of {}: {} of {} ops limited by operations, the rest by "
                  "memory; {} of unknown work",
                  d.name, count.compute_bound, count.ops, count.unknown));
  graph = std::make_shared<const graph::Graph>(std::move(filled));
}

// How the devices run ops, where it is more than one after the other as they become ready.
void add_device_assumptions(Setup& setup) {
  const cluster::Device& device = setup.cluster.workers.front().device;
  if (device.order == cluster::OpOrder::Priority)
    setup.assumptions.push_back("of the ready ops, devices take the one with the longest path to the end of the step");
  if (device.order == cluster::OpOrder::Random) setup.assumptions.push_back("devices take ready ops in random order");
  if (device.copies_in() || device.copies_out())
    setup.assumptions.push_back(
        "pulls are copied to the device before ops read them, gradients to the host before they are pushed; bounds "
        "leave these copies out");
}

bool Setup::random_ops() const {
  return std::any_of(cluster.workers.begin(), cluster.workers.end(),
                     [](const cluster::Worker& w) { return w.device.order == cluster::OpOrder::Random; });
}

Setup make_setup(const Spec& spec, Workloads& workloads) {
  if (!spec.jobs.empty())
    fail(spec.jobs.front().job.place, "jobs", "only `stretto run` takes several jobs", "an experiment of one of them");
  Setup setup;
  const Workload& workload = workloads.get(spec.workload);
  GraphPointer graph = workload.graph;
  if (spec.workload.model.empty() && spec.workload.generate.generator.empty() && !graph->source.empty())
    setup.assumptions.push_back("the workload is as its file has it: " + graph->source);
  leave_out(spec.workload, graph, setup.assumptions);
  const GraphPointer bare = graph;
  const bool timeless = device::lacks_times(*bare);
  if (timeless) fill_times(spec, bare->batch, graph, setup.assumptions);
  const bool training = spec.workload.mode == Mode::Training;
  const auto of_mode = [&](const GraphPointer& g) {
    return training ? g : std::make_shared<const graph::Graph>(graph::forward_only(*g));
  };
  setup.cluster = make_cluster(spec);
  if (spec.cluster.network.comm_compute_ratio)
    apply_ratio(spec, *of_mode(touched_rows(graph, workload.lookups)), setup.cluster);
  if (timeless && spec.workload.batch_per_worker && *spec.workload.batch_per_worker != bare->batch) {
    setup.assumptions.pop_back();
    graph = bare;
    fill_times(spec, *spec.workload.batch_per_worker, graph, setup.assumptions);
  }
  scale_batch(spec.workload, graph, setup.assumptions);
  if (training) freeze(spec.workload, graph, setup.assumptions);
  thin(spec.workload, workload.lookups, graph, setup.assumptions);
  compress(spec.workload.transfers, graph, setup.cluster, setup.assumptions);
  setup.graph = of_mode(graph);
  const bool has_gradients = std::any_of(graph->parameters.begin(), graph->parameters.end(),
                                         [](const graph::Parameter& p) { return p.gradient.valid(); });
  if (training && !has_gradients) {
    const bool frozen = !spec.workload.freeze.empty();
    fail(frozen ? spec.workload.freeze.front().place : spec.workload.place, frozen ? "workload.freeze" : "workload",
         frozen ? "nothing is left to train" : "the workload has no gradients, so that nothing can be trained",
         "mode: inference");
  }
  setup.training = training_of(spec);
  if (spec.workload.input_pipeline > Duration())
    setup.assumptions.push_back(
        fmt::format("each worker prepares its input in {} a batch, one batch ahead and beside the device; bounds leave "
                    "it out",
                    config::format_duration(spec.workload.input_pipeline)));
  add_device_assumptions(setup);
  training::VariationSpec variation = variation_of(spec.noise);
  variation.bursts = make_bursts(spec, setup.cluster);
  set_variation(setup, std::move(variation));
  if (!setup.variation.bursts.empty()) setup.assumptions.push_back(kBurstAssumption);
  if (spec.training.exchange == Exchange::AllReduce) {
    add_all_reduce(spec, setup);
    place(setup);
    return setup;
  }
  const PlacementSpec& p = spec.cluster.servers.placement;
  setup.placement = p.name;
  if (p.parts > 0) setup.placement_options.parts = p.parts;
  if (p.part_size > Bytes()) setup.placement_options.slice = p.part_size;
  for (const NamedServer& named : p.by_name)
    setup.placement_options.servers.emplace_back(named.parameter, named.server);
  located(p.place, "cluster.servers.placement", [&] { place(setup); });
  return setup;
}

void set_variation(Setup& setup, training::VariationSpec variation) {
  setup.training.late = training::late_delays(variation);
  setup.training.bursts = variation.bursts;
  setup.variation = std::move(variation);
}

plan::Plan make_plan(const Setup& setup, const PolicySpec& spec, std::uint64_t seed) {
  const bool all_reduce = setup.training.exchange == training::Exchange::AllReduce;
  const PolicyChoice choice = choose_policy(all_reduce ? with_all_reduce_defaults(spec) : spec);
  const config::Place& place = choice.file.empty() ? spec.place : choice.file_place;
  return located(place, "policies." + spec.name, [&] {
    if (all_reduce) return make_all_reduce_plan(setup, spec, choice, seed);
    if (choice.policy->exchange == policies::For::AllReduce)
      throw UserError(fmt::format("policy {} is for all-reduce", spec.name), "training.exchange: all_reduce");
    if (choice.policy->file == policies::FileKind::Schedule)
      return io::read_schedule(choice.file, *setup.graph,
                               {static_cast<std::uint32_t>(setup.cluster.servers.size()),
                                static_cast<std::uint32_t>(setup.cluster.workers.size())})
          .plan;
    plan::Plan plan;
    plan.policy = spec.name;
    plan.layout = layout_of(setup, choice);
    std::vector<Duration> time(setup.graph->parameters.size());
    for (const plan::Transfer& t : plan.layout.transfers)
      time[t.parameter.index()] += cluster::pull_time(setup.cluster, 0, t.server, t.bytes);
    const PullTimes pulls = pull_times(setup.cluster, plan.layout);
    const cluster::Device& device = setup.cluster.workers.front().device;
    const policies::PolicyInput input{*setup.graph,
                                      plan.layout,
                                      std::move(time),
                                      seed,
                                      setup.training.barrier,
                                      read_named(choice),
                                      static_cast<std::uint32_t>(setup.cluster.workers.size()),
                                      pulls.at_worker,
                                      pulls.at_server,
                                      {},
                                      device.speed * device.cores};
    plan.order = policies::make_order(spec.name, input, choice.own);
    apply(choice.order, *choice.policy, plan.order);
    for (const auto* direction : {&plan.order.pull, &plan.order.push})
      if (const auto t = plan::too_large_for_credit(plan.layout, *direction))
        refuse_credit(setup, plan, *t, *direction);
    return plan;
  });
}

std::optional<plan::Plan> try_staggered(const Setup& setup, std::uint64_t seed) {
  try {
    return make_plan(setup, {"staggered", {}, {}}, seed);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace stretto::experiment
