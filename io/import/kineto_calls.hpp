// SPDX-License-Identifier: Apache-2.0
// A Kineto trace as calls of host threads and works of device streams, with who launched and who waited for whom
// (models/timeline/host_device.hpp). All the rest is as in kineto_events.hpp: times in ns by decimal digits, repairs,
// reading piece by piece.
//
// Calls: categories cpu_op, cuda_runtime and cuda_driver. Works: kernel, gpu_memcpy, gpu_memset; "correlation" ties
// them to their calls. Waits: category cuda_sync. "Stream Sync" and "Context Sync" make their call wait; "Event Sync"
// for the last work that was launched on the recorded stream before the event was recorded; "Stream Wait Event" makes
// the next work that is launched on the stream wait for that one. Annotations: user_annotation of the host.
// Cost: O(text + events log events).
#pragma once

#include <string>

#include "io/import/import.hpp"
#include "models/timeline/host_device.hpp"

namespace stretto::io {

// Throws UserError with place; refuses a trace without host calls or without works.
timeline::HostDevice read_kineto_calls(const std::string& text, const std::string& path, ImportReport& report);
timeline::HostDevice read_kineto_calls_file(const std::string& path, ImportReport& report);

}  // namespace stretto::io
