// SPDX-License-Identifier: Apache-2.0
// One order after another for the same step program, and from when on they differ.
//
// OrderRanks turns plan::Order into the engine's order table and writes only the ranks that changed: O(transfers) and
// O(workers) per changed rank, against the sorting and the tables of training::compile_order.
// MessageLog keeps what one run did with its messages; first_difference finds the first choice that another order makes
// the other way round. experiment/search/evaluator.hpp says what that is for.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "sim/program/observer.hpp"
#include "sim/program/order_table.hpp"

namespace stretto::experiment {

class OrderRanks {
 public:
  // Both must outlive this.
  OrderRanks(const training::Compiled& compiled, const plan::Layout& layout);

  void set(const plan::Order& order);
  void set_stream(std::uint64_t stream) { table_.stream = stream; }
  const program::OrderTable& table() const { return table_; }
  // Equal but for the ranks of ranked transfers.
  bool same_frame(const OrderRanks& other) const;

  plan::Discipline discipline(bool push) const { return directions_[push].discipline; }
  // Ranked transfers in their order: one list per server (Strict, Priority), one of all (credits), none (others).
  const std::vector<std::vector<std::uint32_t>>& lists(bool push) const { return directions_[push].lists; }

 private:
  struct Direction {
    plan::Discipline discipline = plan::Discipline::Free;
    Bytes credit;
    std::uint32_t window = 0;
    bool alternatives = false;
    std::vector<bool> ranked;          // per transfer
    std::vector<std::uint32_t> place;  // per transfer, as in the table
    std::vector<std::vector<std::uint32_t>> lists;
  };
  bool fits(bool push, const plan::DirectionOrder& order) const;
  void set_direction(bool push, const plan::DirectionOrder& order, bool all);
  void sort_transfers(bool push, const plan::DirectionOrder& order);

  const training::Compiled* compiled_;
  const plan::Layout* layout_;
  program::OrderTable table_;
  std::array<Direction, 2> directions_;
  std::vector<Duration> start_offsets_;
  std::vector<std::uint32_t> sorted_;  // scratch
};

// Every message of a run that goes to its end; 32 bytes each.
class MessageLog : public program::Observer {
 public:
  struct Entry {
    Time ready;
    Time handed;
    Time moved;
    std::uint32_t batch = 0;
  };
  MessageLog(const training::Compiled& compiled, std::uint32_t iterations);
  void on_end(const program::ActivityRecord& record) override;
  const Entry& at(bool push, std::uint32_t iteration, std::uint32_t worker, std::uint32_t transfer) const {
    return entries_[index(push, iteration, worker, transfer)];
  }
  std::uint32_t iterations() const { return iterations_; }
  // At most `count` instants between which equally many activities end.
  std::vector<Time> cuts(std::uint32_t count) const;

 private:
  std::size_t index(bool push, std::uint32_t iteration, std::uint32_t worker, std::uint32_t transfer) const {
    return ((static_cast<std::size_t>(iteration) * 2 + (push ? 1 : 0)) * compiled_->workers + worker) *
               compiled_->transfers +
           transfer;
  }
  const training::Compiled* compiled_;
  std::uint32_t iterations_;
  std::vector<Entry> entries_;
  std::vector<Time> ends_;
};

// The instant of the first choice that `other` makes differently from `base`, whose run is logged; not later than that
// where it is not known exactly; never() if there is none. Both orders have the same frame.
// O(workers x iterations x changed places, sorted).
Time first_difference(const MessageLog& log, const training::Compiled& compiled, const OrderRanks& base,
                      const OrderRanks& other);

}  // namespace stretto::experiment
