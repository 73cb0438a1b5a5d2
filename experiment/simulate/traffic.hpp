// SPDX-License-Identifier: Apache-2.0
// Bytes of a job's own messages by link, where others use its links too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/result.hpp"
#include "sim/program/observer.hpp"
#include "sim/program/program.hpp"

namespace stretto::experiment {

// Counts delivered messages, and passes every record on.
class Traffic : public program::Observer {
 public:
  // `links`: the place in bytes() of each link of the program, of `all` places.
  Traffic(const program::StepProgram& program, const std::vector<network::LinkId>& links, std::size_t all,
          program::Observer& next)
      : program_(&program), links_(&links), next_(&next), bytes_(all, 0) {}
  void on_end(const program::ActivityRecord& record) override;
  const std::vector<double>& bytes() const { return bytes_; }

 private:
  const program::StepProgram* program_;
  const std::vector<network::LinkId>* links_;
  program::Observer* next_;
  std::vector<double> bytes_;
};

// Bytes per step of the job itself in place of those of all: what bytes() has grown by, from `begin` to `end`.
void own_bytes(const network::Wires& wires, const std::vector<network::LinkId>& links, std::span<const double> begin,
               std::span<const double> end, std::uint32_t steps, std::vector<analysis::ResourceUse>& uses);

}  // namespace stretto::experiment
