// SPDX-License-Identifier: Apache-2.0
// Experiment specification: what an experiment file asks for, typed and checked. The format is that of the field table
// (`field_records()`; `stretto list fields`); defaults below are those of the table (a test compares them).
//
// What is checked here: every key, unit, range and the rules between fields. Checked later, at the places kept here:
// the content of the workload file, parameter names of by_name and freeze, policy names and options, their files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/fields.hpp"
#include "config/load.hpp"
#include "config/node.hpp"
#include "experiment/spec/all_reduce.hpp"
#include "experiment/spec/search.hpp"
#include "experiment/spec/topology.hpp"
#include "models/cluster/cluster.hpp"
#include "models/cluster/topology.hpp"
#include "models/generate/generator.hpp"
#include "models/graph/graph.hpp"
#include "sim/base/units.hpp"

namespace stretto::experiment {

enum class Mode : std::uint8_t { Training, Inference };
enum class Precision : std::uint8_t { Fp32, Fp16, Int8 };
enum class DeviceKind : std::uint8_t { Gpu, Cpu };
enum class Synchronization : std::uint8_t { Sync, Async, Ssp, Backup, Local };
enum class Optimizer : std::uint8_t { Sgd, Momentum, Adam };

// How variables and gradients are sent: in another precision, or compressed.
struct TransfersSpec {
  Precision precision = Precision::Fp32;
  std::optional<double> ratio;  // bytes sent / bytes of the variable, in place of precision
  double encode_ps = 0.0;       // time per byte of the variable at the sender, ps
  double decode_ps = 0.0;       // and at the receiver
  bool operator==(const TransfersSpec&) const = default;
};

struct PatternSpec {
  std::string pattern;
  config::Place place;
  bool operator==(const PatternSpec&) const = default;
};

// Embeddings and the like, of which a step needs some rows only.
struct SparseSpec {
  std::string pattern;
  double share = 1;  // (0, 1], of the variable's bytes that a pull and a push move
  config::Place place;
  bool operator==(const SparseSpec&) const = default;
};

// A workload that is made, not read.
struct GenerateSpec {
  std::string generator;  // of the registry in models/generate; "": none
  generate::Values values;
  bool operator==(const GenerateSpec&) const = default;
};

struct WorkloadSpec {
  std::string model;  // shipped workload, or ""
  std::string file;   // path of the workload JSON, as seen from the current directory, or "" where one is generated
  GenerateSpec generate;
  std::optional<std::int64_t> batch_per_worker;  // none: that of the profile
  double batch_fixed_share = 0;                  // of an op's time, does not grow with the batch
  Mode mode = Mode::Training;
  TransfersSpec transfers;
  Duration input_pipeline;  // 0: the input is always there
  std::vector<PatternSpec> leave_out;
  std::vector<PatternSpec> freeze;
  std::vector<SparseSpec> sparse;
  config::Place place;  // of the model name, the file name or the generator
  config::Place batch_place;
  bool operator==(const WorkloadSpec&) const = default;
};

using ClassEfficiencySpec = std::array<std::optional<double>, graph::kOpClassNames.size()>;

struct DeviceSpec {
  std::string name = "gpu";  // where the file gives none, the kind
  DeviceKind kind = DeviceKind::Gpu;
  std::uint32_t cores = 1;     // Cpu only; 1 for a Gpu
  std::uint32_t intra_op = 1;  // Cpu only: cores that each op has
  double intra_op_share = 1;   // [0, 1], of an op's time that these cores share
  std::uint32_t streams = 1;   // Gpu only
  cluster::OpOrder order = cluster::OpOrder::Fifo;
  double speed = 1.0;  // > 0
  Bandwidth copy_in = Bandwidth::unlimited();
  Bandwidth copy_out = Bandwidth::unlimited();
  Duration copy_launch;
  // Roofline, for workloads that bring operations and bytes but no times; none without peak_gflops.
  std::optional<double> peak_gflops;    // > 0
  std::optional<double> memory_gbytes;  // 1e9 bytes/s, > 0
  double flops_efficiency = 1.0;        // (0, 1]
  double memory_efficiency = 1.0;       // (0, 1]
  Duration launch;
  ClassEfficiencySpec efficiency;           // by op class, none where the two above hold
  ClassEfficiencySpec backward_efficiency;  // none where that of the forward class holds
  config::Place roofline_place;
  bool operator==(const DeviceSpec&) const = default;
};

struct NicSpec {
  Bandwidth up = Bandwidth::unlimited();
  Bandwidth down = Bandwidth::unlimited();
  bool operator==(const NicSpec&) const = default;
};

struct ServiceSpec {
  Duration per_message;
  double per_byte_ps = 0.0;
  bool operator==(const ServiceSpec&) const = default;
};

// Workers that differ from the others; what is none is as for all.
struct WorkerGroupSpec {
  std::uint32_t count = 1;
  std::optional<std::string> device;  // name
  std::optional<double> speed;
  std::optional<std::uint32_t> cores;  // of a cpu
  std::optional<NicSpec> nic;
  std::optional<std::uint32_t> per_host;
  std::optional<Bandwidth> pcie;
  std::optional<Bandwidth> nvlink;
  bool operator==(const WorkerGroupSpec&) const = default;
};

struct WorkersSpec {
  std::uint32_t count = 1;
  DeviceSpec device;
  NicSpec nic;
  std::uint32_t threads = 0;  // 0 = unlimited
  ServiceSpec send;
  ServiceSpec receive;
  std::uint32_t per_host = 1;
  Bandwidth pcie = Bandwidth::unlimited();
  std::optional<Bandwidth> nvlink;  // none: workers of a host exchange over PCIe
  Duration nvlink_latency;
  std::vector<WorkerGroupSpec> groups;  // where there are any, count is their sum
  config::Place groups_place;
  bool operator==(const WorkersSpec&) const = default;
};

struct NamedServer {
  std::string parameter;
  std::uint32_t server = 0;
  config::Place place;  // of the parameter's name
  bool operator==(const NamedServer&) const = default;
};

struct PlacementSpec {
  std::string name = "round_robin";  // of the registry; this is what TensorFlow does
  Bytes part_size;                   // largest slice; 0: what the placement does without
  std::uint32_t parts = 0;           // partitioned: number of equal parts; 0 with part_size 0 = one part per server
  std::vector<NamedServer> by_name;
  config::Place place;
  bool operator==(const PlacementSpec&) const = default;
};

inline constexpr std::uint32_t kAllColocated = 0xFFFFFFFFU;

struct ServersSpec {
  std::uint32_t count = 1;
  NicSpec nic;
  std::uint32_t threads = 0;  // 0 = unlimited
  ServiceSpec send;
  ServiceSpec receive;
  Bandwidth update_rate = Bandwidth::unlimited();  // of sgd
  Bandwidth aggregate_rate = Bandwidth::unlimited();
  std::uint32_t per_host = 1;
  std::uint32_t colocated = 0;  // servers on workers' hosts, the first ones; kAllColocated: all
  std::uint32_t cores = 0;      // 0 = enough for all threads
  PlacementSpec placement;
  bool operator==(const ServersSpec&) const = default;
};

struct NetworkSpec {
  TopologySpec topology;
  cluster::LinkModel model = cluster::LinkModel::Fluid;
  Bytes chunk;  // Fifo only; 0 = whole messages
  Duration latency;
  double efficiency = 1.0;    // (0, 1]
  std::uint32_t streams = 1;  // 0 = unlimited
  Bandwidth rate_cap = Bandwidth::unlimited();
  Bandwidth loopback = Bandwidth::unlimited();
  std::optional<double> comm_compute_ratio;  // > 0; sets the NIC rates, which are then unlimited here
  config::Place ratio_place;
  bool operator==(const NetworkSpec&) const = default;
};

struct ClusterSpec {
  WorkersSpec workers;
  ServersSpec servers;
  NetworkSpec network;
  Duration step_overhead;
  bool operator==(const ClusterSpec&) const = default;
};

inline constexpr std::uint32_t kDefaultStaleness = 1;
inline constexpr std::uint32_t kDefaultBackups = 1;
inline constexpr std::uint32_t kDefaultLocalSteps = 1;

// Fields of one mode are none where the file says nothing.
struct TrainingSpec {
  Exchange exchange = Exchange::ParameterServer;
  Synchronization synchronization = Synchronization::Sync;
  bool barrier = true;                       // Sync and Local
  std::optional<std::uint32_t> staleness;    // Ssp
  std::optional<std::uint32_t> backups;      // Backup; less than the workers
  std::optional<std::uint32_t> local_steps;  // Local
  std::uint32_t accumulation = 1;
  Optimizer optimizer = Optimizer::Sgd;
  bool operator==(const TrainingSpec&) const = default;
};

// Option `file` is a path, resolved; {name: PATH} is short for {name: {file: PATH}}.
struct PolicyOption {
  std::string key;
  std::string text;
  config::Place key_place;
  config::Place place;
  bool operator==(const PolicyOption&) const = default;
};

// A policy by name; the registry of policies checks name and options.
struct PolicySpec {
  std::string name;
  std::vector<PolicyOption> options;
  config::Place place;  // of the name
  bool operator==(const PolicySpec&) const = default;
};

struct SlowWorkerSpec {
  std::uint32_t worker = 0;
  double slowdown = 1;
  Duration from;
  std::optional<Duration> until;  // > from; none: to the end
  bool operator==(const SlowWorkerSpec&) const = default;
};

struct NicChangeSpec {
  bool server = false;
  std::uint32_t host = 0;
  Duration at;
  double factor = 1;
  bool operator==(const NicChangeSpec&) const = default;
};

enum class NoiseLaw : std::uint8_t { Lognormal, Gamma, Empirical };
enum class DrawnPer : std::uint8_t { Op, Step };
enum class LateTimes : std::uint8_t { Fixed, Exponential };

struct LateStartSpec {
  std::uint32_t worker = 0;
  Duration delay;          // > 0
  double probability = 1;  // (0, 1]
  LateTimes times = LateTimes::Fixed;
  bool operator==(const LateStartSpec&) const = default;
};
enum class StragglerTimes : std::uint8_t { Exponential, Fixed };

// slowdown 1: none.
struct StragglersSpec {
  double slowdown = 1;
  Duration mean_on;  // both > 0 where there are stragglers
  Duration mean_off;
  StragglerTimes times = StragglerTimes::Exponential;
  bool operator==(const StragglersSpec&) const = default;
};

struct NoiseSpec {
  double compute_cv = 0;
  NoiseLaw distribution = NoiseLaw::Lognormal;
  DrawnPer drawn_per = DrawnPer::Op;  // Step: one factor for all ops of a worker in a step
  std::vector<double> factors;        // Empirical: measured times or factors, each > 0; any unit
  std::string factors_file;  // as seen from the current directory; in place of `factors`, which are then its numbers
  StragglersSpec stragglers;
  std::vector<SlowWorkerSpec> slow_workers;
  std::vector<NicChangeSpec> nics;
  std::vector<LateStartSpec> late_starts;
  bool operator==(const NoiseSpec&) const = default;
};

struct RunsSpec {
  std::uint32_t iterations = 20;
  std::uint32_t warm_up = 2;  // < iterations
  std::uint32_t min_replications = 5;
  std::uint32_t max_replications = 50;
  double precision = 0.01;  // half-width of the 95 % interval over the mean at which replications end
  std::uint64_t seed = 1;
  bool operator==(const RunsSpec&) const = default;
};

// One of several jobs on a network.
struct JobSpec {
  std::string name;  // "" where there is one job only
  Duration start;
  std::optional<std::string> workers_on;  // job whose hosts its workers use; none: hosts of its own
  std::optional<std::string> servers_on;  // the same for its servers
  bool own_policy = false;                // policies are its one, whatever is compared
  config::Place place;
  config::Place workers_place;
  config::Place servers_place;
  bool operator==(const JobSpec&) const = default;
};

struct Spec {
  std::string name;  // that of the file where the file gives none
  WorkloadSpec workload;
  ClusterSpec cluster;
  TrainingSpec training;
  AllReduceSpec all_reduce;
  std::vector<PolicySpec> policies = {{"random", {}, {}}, {"fifo", {}, {}}, {"tic", {}, {}}, {"tac", {}, {}}};
  NoiseSpec noise;
  SearchSpec search;
  RunsSpec runs;
  JobSpec job;
  // Several jobs on the network of this specification; each is complete. The cluster's workers and servers and the
  // sections workload, training, all_reduce and noise of this one are then their defaults and describe nothing.
  std::vector<Spec> jobs;
  std::string jobs_text;  // as YAML flow text
  bool operator==(const Spec&) const = default;
};

// One point of the cartesian product of `vary`: the values as text and the spec that they give.
struct Point {
  std::vector<std::pair<std::string, std::string>> vary;  // path -> value, in the order of the file
  Spec spec;
};

// One entry of `vary`: a path and the values that it takes, as YAML flow text.
struct Axis {
  std::string path;
  std::vector<std::string> values;
  bool operator==(const Axis&) const = default;
};

// An experiment file with everything it includes, at least one point (the first axis varies slowest).
struct Experiment {
  std::vector<Axis> axes;
  std::vector<Point> points;
  std::vector<std::string> files;  // YAML files that were read, in the order of reading
  std::vector<Diagnostic> warnings;
};

struct Options {
  std::string shipped = "configs";  // directory that holds workloads/NAME.workload.json, or .json.gz
};

inline constexpr std::size_t kMaxPoints = 10'000;

// Reads `path` with the overrides ("path=value", later ones win). An override is stronger than `vary`: an axis at or
// below its path is dropped with a warning. Throws UserError with every finding.
Experiment load_experiment(const std::string& path, const std::vector<std::string>& overrides = {},
                           const Options& options = {});

// The same for text that stands in no file; `file` is what messages call it.
Experiment read_experiment(const std::string& text, const std::string& file,
                           const std::vector<std::string>& overrides = {}, const Options& options = {});

// One spec from a resolved tree (includes merged, overrides applied); `vary` is not looked at. Findings go to `reader`;
// the spec is complete only where there are none.
Spec read_spec(config::Reader& reader, const config::Node& root, const Options& options = {});

// Complete YAML with every default filled in. Reading it from the current directory gives an equal spec, or for an
// experiment equal points. Fields that `vary` sets show the value of the first point.
std::string effective_yaml(const Spec& spec);
std::string effective_yaml(const Experiment& experiment);

// Every field of the format in the order of the reference.
std::vector<config::FieldRecord> field_records();

// Names of the shipped workloads in `options.shipped`, sorted.
std::vector<std::string> shipped_models(const Options& options = {});

// File of a shipped workload, plain or gzip. There need not be one.
std::string shipped_workload(const Options& options, const std::string& name);

// Time of an update over that of sgd: values that it reads and writes per variable value, of which sgd has three
// (reads variable and gradient, writes the variable), momentum two more (its one slot) and adam four (its two slots).
// An update does a few operations per value, so that memory sets its time.
double update_cost(Optimizer optimizer);

// "sync with barrier", "ssp with staleness 3", "backup, first 7 of 8 gradients", for people.
std::string training_text(const Spec& spec);
// "ring all-reduce, split".
std::string exchange_text(const Spec& spec);

// ", 2 racks, 4 workers a host"; "" for a star of equal hosts.
std::string topology_text(const Spec& spec);

// The cluster of the spec, without servers for all-reduce. With comm_compute_ratio NIC rates are left unlimited. Of
// several jobs: all their processes, those of each job together and named after it ("b worker 0").
cluster::Cluster make_cluster(const Spec& spec);

// Several jobs' processes in one cluster, not yet in a fabric: the workers of each job stand together, and its servers.
struct JobHosts {
  cluster::Cluster all;
  std::vector<std::uint32_t> first_worker;  // per job
  std::vector<std::uint32_t> first_server;
  std::vector<std::vector<cluster::HostRef>> of_job;  // hosts of the job's workers, then of its servers alone
};
JobHosts job_hosts(const Spec& spec);

// "worker 3", "server 0", of several jobs "b worker 3"; none where the cluster has no such process.
std::optional<cluster::End> find_process(const cluster::Cluster& cluster, const std::string& name);

// What is wrong with a burst between processes of the cluster, if anything: that it would be over at once, so that
// steps were made of nothing else. `number`: of the entry of cluster.network.background.
std::optional<Diagnostic> burst_finding(const cluster::Cluster& cluster, const BackgroundSpec& burst,
                                        std::size_t number);

// Puts the hosts of make_cluster's cluster into the fabric of the spec, whose rates may come from their NICs.
void set_fabric(const Spec& spec, cluster::Cluster& cluster);

}  // namespace stretto::experiment
