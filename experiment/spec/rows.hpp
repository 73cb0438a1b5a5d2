// SPDX-License-Identifier: Apache-2.0
// What the files spec_*.cpp share, private to the specification: each holds the rows of one section of the format.
// A new section is one file pair like search, its function below and one line in fields.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

using Rows = std::vector<config::Field<Spec>>;

inline constexpr std::int64_t kMaxServers = 1024;
inline constexpr std::int64_t kMaxWorkers = 4096;
inline constexpr double kMaxRatio = 1e6;

// Rows of the sections, in the order of the reference.
void add_workload_fields(Rows& rows);
void add_generate_fields(Rows& rows);
void add_cluster_fields(Rows& rows);
void add_device_fields(Rows& rows);
void add_server_host_fields(Rows& rows);
void add_loopback_field(Rows& rows);
void add_placement_field(Rows& rows);
void add_worker_host_fields(Rows& rows);
void add_topology_fields(Rows& rows);
void add_background_field(Rows& rows);
void add_training_fields(Rows& rows);
void add_exchange_field(Rows& rows);
void add_all_reduce_fields(Rows& rows);
// Rows of servers are written only where they say something.
void hide_servers(Rows& rows);
void add_policies_field(Rows& rows);
void add_noise_fields(Rows& rows);
void add_search_fields(Rows& rows);
void add_sweep_fields(Rows& rows);

void add_jobs_field(Rows& rows);

// The jobs of a specification that has some; false where it has none.
bool read_jobs(config::Reader& reader, const config::Node& root, const Options& options, Spec& s);
// The specification of one job: a tree in which `jobs` is empty. Its topology is that of all of them.
Spec read_job(config::Reader& reader, const config::Node& root, const Options& options);
bool is_job(const config::Node& root);
// The value of a path (of `vary` and --set; of a whole job) with paths of files as seen from the current directory.
config::Node without_directory(const std::string& path, config::Node value);
config::Node job_without_directory(config::Node item);
// The generator that `workload.generate` names, if there is one of this name, and the defaults of its fields.
void name_generator(const config::Node& root, WorkloadSpec& workload);
// Rules of `workload.generate`, which is there and has no other findings.
void check_generate(config::Reader& reader, const config::Node& root, const WorkloadSpec& workload);

// Rules of groups of workers.
void check_workers(config::Reader& reader, const config::Node& root, const Spec& s);

// Rules around all-reduce.
void check_all_reduce(config::Reader& reader, const config::Node& root, const Spec& s);

// Rules between fields of the device.
void check_device(config::Reader& reader, const config::Node& root, const DeviceSpec& device);

cluster::Device make_device(const DeviceSpec& device);

// Rules between fields of the sharing modes.
void check_modes(config::Reader& reader, const config::Node& root, const Spec& s);

// Rules of topologies, and of workers on shared hosts; for a spec without other findings.
void check_topology(config::Reader& reader, const config::Node& root, const Spec& s);

// Rules of background traffic; for a spec without other findings.
void check_background(config::Reader& reader, const config::Node& root, const Spec& s);

// What constant background takes from each link that has a limit. Sums that no link has stay as they are.
std::vector<cluster::Reservation> reservations(const TopologySpec& topology, const cluster::Cluster& cluster);

// Hosts of the workers.
std::uint32_t host_count(const WorkersSpec& workers);

// A NIC rate for both directions, or {up, down}.
std::optional<NicSpec> read_nic(config::Reader& reader, const config::Node& node, const std::string& key);

// A field with a form of its own.
config::Field<Spec> custom(std::string path, std::string type, std::string range, std::string fallback,
                           std::string help,
                           std::function<void(config::Reader&, const config::Node&, const std::string&, Spec&)> read,
                           std::function<std::string(const Spec&)> write);

// The last row is written only where `shown` says so.
void only(Rows& rows, std::function<bool(const Spec&)> shown);

// One mapping of a list: calls `read` with each entry of a known name; others are findings.
void read_item(config::Reader& reader, const config::Node& node, const std::string& key,
               const std::vector<std::string>& names,
               const std::function<void(const config::Entry&, const std::string& path)>& read);

// A list: calls `read` with each item and its path.
void read_list(config::Reader& reader, const config::Node& node, const std::string& key, const char* example,
               const std::function<void(const config::Node&, const std::string&)>& read);

// The place of the field, or that of the nearest section around it that the tree has.
config::Place place_of(const config::Node& root, std::string path);

}  // namespace stretto::experiment
