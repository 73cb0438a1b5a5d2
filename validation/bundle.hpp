// SPDX-License-Identifier: Apache-2.0
// Bundle for the harness ("format": "stretto-bundle"): what is to be measured on a real cluster, made of the setup that
// is simulated. docs/reference/harness.md lists every key.
//
// The harness emulates compute: one stream per worker, op times of the profile divided by the device's speed. Or it
// really computes a network, of which the workload is a profile; device and op times then only serve the prediction.
// What it cannot do is refused: unlike workers or servers, emulated devices with several cores, NICs with two rates,
// noise, an input pipeline. Costs of messages and updates are the real ones; those of the cluster file only predict
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"

namespace stretto::validation {

struct NamedPlan {
  std::string name;  // unique
  plan::Plan plan;
};

// The networks that the harness can really compute.
std::span<const std::string_view> real_networks();

struct BundleOptions {
  std::uint32_t steps = 20;
  std::uint32_t warm_up = 3;
  std::uint32_t time_limit_s = 900;
  std::string network = "auto";  // auto, namespaces, loopback
  std::string model = {};        // network to compute, by the harness's name; empty: the workload's ops are emulated
};

// The plan as TensorFlow can be held to it: strict and priority become a window, pushes alike. Throws UserError for a
// credit and for alternatives, which it cannot be held to.
plan::Plan enforceable(plan::Plan plan, std::uint32_t window);

// Throws UserError with everything that the harness cannot do.
std::string write_bundle(const experiment::Setup& setup, const std::string& name, const std::vector<NamedPlan>& plans,
                         const BundleOptions& options);

}  // namespace stretto::validation
