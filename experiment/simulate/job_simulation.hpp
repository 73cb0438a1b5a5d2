// SPDX-License-Identifier: Apache-2.0
// Several jobs in one simulation, on hosts and links that they may share (docs/model.md, section 3, several jobs).
//
// A job is a training or inference of its own: program, order, start. What it shares with others is links alone, NICs
// of hosts that both use and links between switches. Every job makes steps without end; what is measured of each are
// its steps warm_up .. iterations, with all others under way before, beside and behind them.
// Draws of a job are a function of the seed, its name and the replication, so that they are the same alone and together
// and in any order of the jobs.
// Cost: O(activities of all jobs until the slowest has made its steps).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"
#include "models/cluster/link.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"

namespace stretto::experiment {

struct JobSet {
  std::vector<std::string> names;
  std::vector<Duration> starts;
  std::vector<Setup> setups;  // each with its own processes, in the fabric of all, with the NICs of the hosts it uses
  JobHosts hosts;             // in the fabric
  std::vector<training::Burst> bursts;  // of background traffic, between hosts of all jobs
  // The link of the cluster of all jobs that a link of the job's own cluster is.
  cluster::LinkRef global(std::size_t job, cluster::LinkRef ref) const;
  std::string link_name(cluster::LinkRef global) const;
};

JobSet make_job_set(const Spec& spec, Workloads& workloads);

// Bytes that each job moved over each link that has a limit while one of them was measured.
struct JobTraffic {
  std::map<cluster::LinkRef, std::vector<double>> bytes;  // per simulated job
  std::map<cluster::LinkRef, double> utilisation;         // by all of them
};

struct JobMeasured {
  Measured measured;
  JobTraffic traffic;  // mean over replications
};

// The jobs `which` with their plans. One job alone may end in a deadlock, which is then its answer; several jobs must
// not contain such a one.
std::vector<JobMeasured> simulate_jobs(const JobSet& set, std::span<const std::size_t> which,
                                       std::span<const plan::Plan> plans, const SimulateOptions& options);

}  // namespace stretto::experiment
