// SPDX-License-Identifier: Apache-2.0
// Enumerators of results as they stand in files, both ways.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/result.hpp"

namespace stretto::report {

template <class E>
inline constexpr std::array<std::pair<E, const char*>, 0> kKinds{};

template <>
inline constexpr std::array kKinds<analysis::ResourceKind> = {
    std::pair(analysis::ResourceKind::Device, "device"),
    std::pair(analysis::ResourceKind::WorkerNicUp, "worker_nic_up"),
    std::pair(analysis::ResourceKind::WorkerNicDown, "worker_nic_down"),
    std::pair(analysis::ResourceKind::ServerNicUp, "server_nic_up"),
    std::pair(analysis::ResourceKind::ServerNicDown, "server_nic_down"),
    std::pair(analysis::ResourceKind::ServerThreads, "server_threads"),
    std::pair(analysis::ResourceKind::WorkerThreads, "worker_threads"),
    std::pair(analysis::ResourceKind::CopyEngine, "copy_engine"),
    std::pair(analysis::ResourceKind::Fabric, "fabric"),
    std::pair(analysis::ResourceKind::Inside, "inside_host"),
};

template <>
inline constexpr std::array kKinds<analysis::ChangeKind> = {
    std::pair(analysis::ChangeKind::Hardware, "hardware"),
    std::pair(analysis::ChangeKind::Mode, "mode"),
    std::pair(analysis::ChangeKind::Layout, "layout"),
    std::pair(analysis::ChangeKind::Order, "order"),
};

template <class E>
const char* kind_key(E kind) {
  for (const auto& [value, key] : kKinds<E>)
    if (value == kind) return key;
  return "other";
}

template <class E>
std::optional<E> kind_of(std::string_view text) {
  for (const auto& [value, key] : kKinds<E>)
    if (text == key) return value;
  return std::nullopt;
}

// "hardware, mode, layout, order".
template <class E>
std::string kind_keys() {
  std::string list;
  for (const auto& [value, key] : kKinds<E>) list += (list.empty() ? "" : ", ") + std::string(key);
  return list;
}

}  // namespace stretto::report
