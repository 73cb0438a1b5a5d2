// SPDX-License-Identifier: Apache-2.0
// Observers that keep what a simulation tells.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/observer.hpp"

namespace stretto::record {

// Keeps every record, in the order in which the activities ended.
class Recorder : public program::Observer {
 public:
  void on_end(const program::ActivityRecord& record) override { records_.push_back(record); }
  const std::vector<program::ActivityRecord>& records() const { return records_; }

 private:
  std::vector<program::ActivityRecord> records_;
};

// Keeps the records of one iteration, in the order in which the activities ended.
class IterationRecorder : public program::Observer {
 public:
  explicit IterationRecorder(std::uint32_t iteration) : iteration_(iteration) {}
  void on_end(const program::ActivityRecord& record) override {
    if (record.iteration == iteration_) records_.push_back(record);
  }
  const std::vector<program::ActivityRecord>& records() const { return records_; }

 private:
  std::uint32_t iteration_;
  std::vector<program::ActivityRecord> records_;
};

}  // namespace stretto::record
