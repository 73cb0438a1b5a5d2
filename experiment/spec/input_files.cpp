// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec/input_files.hpp"

#include <algorithm>
#include <set>

namespace stretto::experiment {

namespace {

void add(std::vector<std::string>& files, const std::string& file) {
  if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
}

void add_policy_files(std::vector<std::string>& files, const Spec& spec) {
  for (const PolicySpec& policy : spec.policies)
    for (const PolicyOption& option : policy.options)
      if (option.key == "file") add(files, option.text);
}

// The specifications that are simulated: of each job, or the one of the point.
template <class Function>
void for_each_job(const Spec& spec, Function&& function) {
  if (spec.jobs.empty()) return function(spec);
  for (const Spec& job : spec.jobs) function(job);
}

}  // namespace

std::vector<std::string> input_files(const Spec& spec) {
  std::vector<std::string> files;
  for_each_job(spec, [&](const Spec& job) {
    add(files, job.workload.file);
    add_policy_files(files, job);
    add(files, job.noise.factors_file);
  });
  return files;
}

std::vector<std::string> input_files(const Experiment& experiment) {
  std::vector<std::string> files = experiment.files;
  std::set<std::string> workloads;
  for (const Point& point : experiment.points)
    for_each_job(point.spec, [&](const Spec& job) { workloads.insert(job.workload.file); });
  for (const std::string& file : workloads) add(files, file);
  for (const Point& point : experiment.points) {
    add_policy_files(files, point.spec);
    for_each_job(point.spec, [&](const Spec& job) { add_policy_files(files, job); });
  }
  for (const Point& point : experiment.points)
    for_each_job(point.spec, [&](const Spec& job) { add(files, job.noise.factors_file); });
  return files;
}

}  // namespace stretto::experiment
