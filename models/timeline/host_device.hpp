// SPDX-License-Identifier: Apache-2.0
// What a traced process did on its host's threads and on its device's streams, and who waited for whom. Data only.
//
// Times are nanoseconds on one clock. Indices are into the vectors; -1: none or not known. Strings are names for people
// and keys for equality.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::timeline {

// An op or a call of the device's runtime on a host thread. Calls of one thread contain each other or lie apart.
struct HostCall {
  std::uint32_t name = 0;  // in HostDevice::names
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool waits = false;  // may wait for the device: its own time is no work
};

// A kernel, copy or fill on a stream of the device.
struct DeviceWork {
  std::uint32_t name = 0;
  std::uint32_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launch = -1;  // the call that launched it
  std::int64_t after = -1;   // work of another stream that it had to wait for (an event)
};

// The end of a call waits for the device.
struct DeviceWait {
  enum class Of : std::uint8_t { Work, Stream, Device };
  Of of = Of::Work;
  std::int64_t call = -1;
  std::int64_t work = -1;    // Of::Work
  std::uint32_t stream = 0;  // Of::Stream
  std::int64_t at_ns = 0;    // of Stream and Device: waits for the last work that had begun then
};

// A span that the program named ("ProfilerStep#5").
struct Annotation {
  std::uint32_t name = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct HostDevice {
  std::vector<std::string> names;
  std::vector<HostCall> calls;
  std::vector<DeviceWork> works;
  std::vector<DeviceWait> waits;
  std::vector<Annotation> annotations;  // by begin
};

}  // namespace stretto::timeline
