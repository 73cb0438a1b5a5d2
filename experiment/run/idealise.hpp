// SPDX-License-Identifier: Apache-2.0
// The same experiment with causes of a long step taken away (causes: analysis/attribution.hpp). No op, link or thread
// becomes slower by an idealisation; what it takes away is:
//   order         nothing here: another order is a plan (experiment/run/attribution.hpp)
//   links         every connection (one direction of a worker with a server process) has each link of its route for
//                 itself; its messages still go as `streams` says. A host's NIC slower than the median of its fleet and
//                 direction (workers; servers) has the median rate, and no rate changes over time
//   servers       service threads of servers and workers without number: receiving, adding up, updating and sending
//                 start when they are asked for and take their own time
//   slow_workers  a device slower than the fleet's median has the median speed; no slow windows, on-off stragglers and
//                 late starts
//   noise         op times without variation (cv 0, no factors)
// The median of an even number is the faster of the two in the middle, so that one slow of two is found.
// Works on the compiled program (links, servers), the cluster (speeds) and the variation: whatever else a set-up has is
// left as it is and counts as left over. Cost: that of compiling.
#pragma once

#include "analysis/attribution.hpp"
#include "experiment/setup/setup.hpp"
#include "models/training/compile.hpp"
#include "models/training/variation.hpp"

namespace stretto::experiment {

training::VariationSpec idealise(const training::VariationSpec& variation, analysis::CauseSet causes);

// The part of it that a set-up says: speeds and variation.
Setup idealise(const Setup& setup, analysis::CauseSet causes);

// The part of it that a program says: links and servers.
void idealise(training::Compiled& compiled, analysis::CauseSet causes);

}  // namespace stretto::experiment
