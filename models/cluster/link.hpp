// SPDX-License-Identifier: Apache-2.0
// Names of a cluster's links, as data. See topology.hpp for which messages cross them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace stretto::cluster {

enum class LinkKind : std::uint8_t {
  WorkerNicUp,  // of: first worker of the host
  WorkerNicDown,
  ServerNicUp,  // of: first server of the host
  ServerNicDown,
  Fabric,    // of: link of the fabric
  Loopback,  // of: first worker of the host
  PcieUp,    // of: worker; from its device
  PcieDown,
  NvlinkUp,
  NvlinkDown
};
inline constexpr std::size_t kLinkKinds = 10;

struct LinkRef {
  LinkKind kind = LinkKind::WorkerNicUp;
  std::uint32_t of = 0;
  auto operator<=>(const LinkRef&) const = default;
};

}  // namespace stretto::cluster
