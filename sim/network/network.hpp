// SPDX-License-Identifier: Apache-2.0
// The links of one simulation under the sharing model of its program: fluid or FIFO. A value, as both are.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/fifo.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/wires.hpp"

namespace stretto::network {

// Same use as FluidNetwork.
class Network {
 public:
  // `chunk`: of FIFO links.
  Network(const Wires& wires, bool fluid, Bytes chunk)
      : is_fluid_(fluid), fluid_(fluid ? wires : no_wires()), fifo_(fluid ? no_wires() : wires, chunk) {}

  void reset() {
    if (is_fluid_)
      fluid_.reset();
    else
      fifo_.reset();
  }
  void start(Time now, RouteId route, Bytes bytes, std::uint32_t token) {
    if (is_fluid_)
      fluid_.start(now, route, bytes, token);
    else
      fifo_.start(now, route, bytes, token);
  }
  void finish(Time now, std::vector<std::uint32_t>& tokens) {
    if (is_fluid_)
      fluid_.finish(now, tokens);
    else
      fifo_.finish(now, tokens);
  }
  void solve(Time now) {
    if (is_fluid_) fluid_.solve(now);
  }
  void set_capacity(LinkId link, double factor) {
    if (is_fluid_)
      fluid_.set_capacity(link, factor);
    else
      fifo_.set_capacity(link, factor);
  }
  Time next() const { return is_fluid_ ? fluid_.next() : fifo_.next(); }
  std::int64_t bytes_carried(LinkId link, Time now) const {
    return is_fluid_ ? fluid_.bytes_carried(link, now) : fifo_.bytes_carried(link);
  }

 private:
  // For the model that is not used.
  static const Wires& no_wires() {
    static const Wires none;
    return none;
  }

  bool is_fluid_;
  FluidNetwork fluid_;
  FifoNetwork fifo_;
};

}  // namespace stretto::network
