// SPDX-License-Identifier: Apache-2.0
// The files that an experiment reads, as seen from the current directory, each once: what a manifest hashes, what tells
// a sweep from another, and what no command may write over.
#pragma once

#include <string>
#include <vector>

#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// Workload, files of policies, file of noise factors.
std::vector<std::string> input_files(const Spec& spec);

// YAML files in the order of reading, then those of all points by kind, workloads by name.
std::vector<std::string> input_files(const Experiment& experiment);

}  // namespace stretto::experiment
