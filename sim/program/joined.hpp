// SPDX-License-Identifier: Apache-2.0
// Several programs side by side in one simulation: jobs that share a network. Each keeps its activities, pools and
// channels; only links may be one for several. Each part goes through its iterations at its own pace.
//
// Draws: every part has a key of its own, and what is drawn for an activity or a pool is a function of that key and of
// its number in its own program. So a part meets the same draws in any company and in any order of the parts.
// Cost: O(sum of the parts).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/program/order_table.hpp"
#include "sim/program/program.hpp"
#include "sim/program/simulation.hpp"
#include "sim/program/variation.hpp"

namespace stretto::program {

struct Part {
  const StepProgram* program = nullptr;
  std::vector<network::LinkId> links;  // of the joined network, per link of its own
  std::uint64_t key = 0;               // all different
};

// Where a part's things begin.
struct Offsets {
  std::uint32_t activity = 0;
  std::uint32_t pool = 0;
  std::uint32_t channel = 0;
  std::uint32_t marker = 0;
};

struct Joined {
  StepProgram program;
  std::vector<Offsets> at;                          // per part
  std::vector<std::vector<network::LinkId>> links;  // per part, as given
  std::vector<std::uint64_t> keys;
};

// `links`: those of the joined network. All parts have the same network model. `endless`: no part has a last iteration.
// The last part may be all background; no other part has any.
Joined join(std::span<const Part> parts, const std::vector<network::Link>& links, bool endless);

// Tables of the parts, each with the rule of every channel and the rank of every activity. At most one has
// alternatives.
OrderTable join(const Joined& joined, std::span<const OrderTable> tables, std::uint64_t stream);

// Laws of noise and toggles that are used are the same in all parts.
Variation join(const Joined& joined, std::span<const Variation> parts, std::uint64_t stream);

// A simulation as one of its parts sees it, ids being those of the part's own program.
class View {
 public:
  // Of a program that is no joined one.
  View(const Simulation& simulation) : simulation_(&simulation) {}  // NOLINT: stands for the simulation itself
  View(const Simulation& simulation, const Joined& joined, std::size_t part)
      : simulation_(&simulation), at_(joined.at[part]), links_(&joined.links[part]) {}

  Time now() const { return simulation_->now(); }
  const std::vector<Time>& marker_times(std::size_t m) const { return simulation_->marker_times(at_.marker + m); }
  Duration busy_time(PoolId pool) const { return simulation_->busy_time(PoolId(at_.pool + pool.index())); }
  // Of all parts together.
  std::int64_t bytes_carried(network::LinkId link) const {
    return simulation_->bytes_carried(links_ == nullptr ? link : (*links_)[link.index()]);
  }

 private:
  const Simulation* simulation_;
  Offsets at_;
  const std::vector<network::LinkId>* links_ = nullptr;
};

// Tells each part's observer of its own activities, under their numbers in the part's program.
class PartObservers : public Observer {
 public:
  // One observer per part, which may be null.
  PartObservers(const Joined& joined, std::vector<Observer*> observers)
      : joined_(&joined), observers_(std::move(observers)) {}
  void on_end(const ActivityRecord& record) override;

 private:
  const Joined* joined_;
  std::vector<Observer*> observers_;
};

}  // namespace stretto::program
