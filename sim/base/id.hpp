// SPDX-License-Identifier: Apache-2.0
// Dense typed ids: 32-bit indices into vectors that differ in type, so that an op's index cannot name a link.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace stretto {

// Id<Tag>: index of an element of the vector that Tag names. Default constructed = none().
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  static constexpr Id none() { return Id(); }
  constexpr bool valid() const { return index_ != std::numeric_limits<std::uint32_t>::max(); }
  constexpr std::uint32_t index() const { return index_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t index_ = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace stretto
