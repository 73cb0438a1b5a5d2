// SPDX-License-Identifier: Apache-2.0
// What a search of orders begins with under one layout: starting points, the forward problems that bound a step, and
// lower bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "schedulers/bounds/step.hpp"
#include "schedulers/search/search.hpp"

namespace stretto::experiment {

// The setup with a graph whose steps are equal to the picosecond (graph::Keep::Timing), if op times are exact: no
// noise, devices of speed 1.
Setup reduced(const Setup& setup);

// The policies whose orders have so many workers start together, or such a window (of both kinds).
PolicySpec in_groups(std::uint32_t workers);
std::vector<PolicySpec> with_window(std::uint32_t places);

// Equal but for the names of things.
bool same_layout(const plan::Layout& a, const plan::Layout& b);

// Drawn anew in each step: no order that a search could keep.
bool is_unordered(const plan::Order& order);

// The policies' orders under this layout, then orders by structure: pulls by first use and by falling tail (the work
// that waits for them), pushes free, or by the tail of the next step or of the reversed backward pass; strict, by
// priority, and with each of the credits. `names`: policies to ask; those whose plan has another layout, or no
// order, are left out. All-reduce: the policies' orders, what is ready goes, and turns by first use, by priority and
// with each of the credits.
std::vector<search::Start> make_starts(const Setup& setup, const std::vector<PolicySpec>& policies,
                                       const std::vector<Bytes>& credits, std::uint64_t seed);

// Only those of first use, enough to compare layouts.
std::vector<search::Start> make_few_starts(const Setup& setup, const std::vector<Bytes>& credits);

// T1 and T5 of docs/bounds.md: one worker with a serial device, inference or a barrier, no noise; the worker's NIC is
// the channel, latencies and service costs are left out. T4 without a barrier, for one server and connections of one
// stream: the flow shop of its messages. Nothing where they do not bound a step.
std::optional<search::Relaxation> make_relaxation(const Setup& setup);

// bounds::step_lower_bound, without a value where op times or rates vary. `facts`: step_facts() of a setup with this
// graph, these workers and this training.
bounds::Bound lower_bound(const Setup& setup, const bounds::Facts& facts);
bounds::Bound lower_bound(const Setup& setup);
bounds::Bound any_layout_lower_bound(const Setup& setup);

}  // namespace stretto::experiment
