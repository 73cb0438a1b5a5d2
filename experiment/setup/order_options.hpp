// SPDX-License-Identifier: Apache-2.0
// The options that every ranking policy takes: how its ranks are enforced, on what slices and in which direction. One
// table says which there are; they are read for all policies here and applied to what the policy made.
//   discipline  strict, priority, credit, credit_skip, window, chain_window. Default: window or credit where
//               that option is given; else for pulls strict with a barrier and priority without one, for pushes
//               priority (their first layer is ready last: strict pushes would wait for the whole backward pass)
//   window      places, for window and chain_window
//   credit      bytes, for credit and credit_skip
//   partition   largest slice; slices stay on the server of their variable. 0 B: variables as the placement cuts them
//   direction   what is ranked: pull, push (pulls are then unordered, as without a policy) or both (equal ranks)
// A policy may have defaults of its own. See docs/policies.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/fields.hpp"
#include "experiment/spec/spec.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

enum class Direction : std::uint8_t { Pull, Push, Both };

struct OrderOptions {
  std::optional<plan::Discipline> discipline;  // none: as the policy made it
  std::uint32_t window = 0;                    // > 0 for the window disciplines
  Bytes credit;                                // > 0 for Credit and CreditSkip
  Bytes partition;                             // 0: none
  Direction direction = Direction::Pull;
};

// One record per option, in the order of the reference.
const std::vector<config::FieldRecord>& order_option_records();

// A policy with its options sorted out.
struct PolicyChoice {
  const policies::Policy* policy = nullptr;
  policies::PolicyOptions own;  // of the policy itself, without `file` and `placement`
  std::string_view placement;   // that the policy brings; empty: that of the experiment
  std::string file;             // what its option `file` names, as seen from the current directory; may be empty
  config::Place file_place;
  OrderOptions order;
};

// Throws UserError with every finding, each at its place: unknown policy or option, wrong value, options that do not
// fit each other, a file that is missing in the options.
PolicyChoice choose_policy(const PolicySpec& spec);

// Makes of a policy's order, which ranks pulls, what the options say. The order of a policy that ranks nothing is left
// alone.
void apply(const OrderOptions& options, const policies::Policy& policy, plan::Order& order);

}  // namespace stretto::experiment
