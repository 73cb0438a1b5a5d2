// SPDX-License-Identifier: Apache-2.0
// Critical path of a simulated step: the chain of activities, each started by the one before it, from the begin of the
// step to the end of the activity that ends it. Shorten nothing on it and the step stays as long.
//
// Walked from the end: an activity became ready when the last of what it waits for ended; that one (of several in one
// instant: the least id, its own instance before last) is the link before it. An instance that backup workers skip
// takes no time and is walked through. The time of each link, from becoming ready to its end, is split into kinds:
//   op        device_busy (ready .. begin), compute (its nominal time), slowed (what noise and slowness add)
//   service   service_queue, service (nominal: aggregation, update, copy to or from a device)
//   late start  slowed
//   message   sender_not_ready + turn (ready .. handed), service_queue + service (handed .. on wire), latency +
//             wire_queue (on wire .. first byte), wire_own + wire_shared (first byte .. last byte), service_queue +
//             service (receiver)
//   delay     latency (requests), input, overhead (step_overhead and others)
// sender_not_ready: a channel that keeps to its order (strict, chain_window) waits for a message of lower rank that is
// not there yet; turn: the rest of the wait for the hand-over (window, credit, priority). wire_queue: the slots of the
// connection are taken (streams). wire_own = bytes / (rate alone on the route); wire_shared: the rest, lost to others
// on the route or to a link slower than its nominal rate.
// The parts of all links sum to end - begin exactly, in picoseconds. Links that begin before `begin` are cut there.
// Limits: one chain of possibly several of equal length; a wait for a busy resource is a wait, the path does not go on
// through what kept it busy. Cost: O(activities + edges + records log records). Validated: closed form of a two-op
// step (tests/unit/critical_path_test.cpp), sums on random set-ups (tests/property/attribution_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/training/compile.hpp"
#include "sim/program/observer.hpp"
#include "sim/program/order_table.hpp"

namespace stretto::analysis {

enum class PathKind : std::uint8_t {
  Compute,
  Slowed,
  DeviceBusy,
  SenderNotReady,
  Turn,
  ServiceQueue,
  Service,
  Latency,
  WireQueue,
  WireOwn,
  WireShared,
  Input,
  Overhead
};
inline constexpr std::size_t kPathKinds = 13;

// "wire_shared", as in JSON.
std::string_view path_key(PathKind kind);
// "wire, lost to other transfers", for people.
std::string_view path_words(PathKind kind);

using PathParts = std::array<Duration, kPathKinds>;

struct PathLink {
  std::uint32_t activity = 0;
  std::uint32_t iteration = 0;
  Time from;
  Time to;
  PathParts parts{};  // sums to to - from
};

struct CriticalPath {
  Time begin;
  Time end;
  std::vector<PathLink> links;  // in order of time, without those that take none
  PathParts total() const;
};

// Path to the end of instance `iteration` of `activity`. `records` holds that instance and all that ended in
// (begin, its end], in any order.
CriticalPath critical_path(const training::Compiled& compiled, const program::OrderTable& order,
                           std::span<const program::ActivityRecord> records, program::ActivityId activity,
                           std::uint32_t iteration, Time begin);

}  // namespace stretto::analysis
