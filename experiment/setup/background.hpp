// SPDX-License-Identifier: Apache-2.0
// Background traffic that comes and goes, from the specification to what is simulated (docs/model.md, section 3).
#pragma once

#include <vector>

#include "experiment/spec/spec.hpp"
#include "models/cluster/cluster.hpp"
#include "models/training/compile.hpp"

namespace stretto::experiment {

inline constexpr const char* kBurstAssumption =
    "bursts of background traffic share their links with messages: the use of a link is that of both, bytes are the "
    "job's own, and bounds leave bursts out";

// The bursts of the specification between hosts of its cluster, in the order of the file. UserError at their place for
// what burst_finding says, which is known before only where no ratio sets the rates.
std::vector<training::Burst> make_bursts(const Spec& spec, const cluster::Cluster& cluster);

}  // namespace stretto::experiment
