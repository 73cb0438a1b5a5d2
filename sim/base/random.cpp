// SPDX-License-Identifier: Apache-2.0
#include "sim/base/random.hpp"

#include <boost/random/uniform_int_distribution.hpp>

#include <numeric>
#include <utility>

#include "sim/base/assert.hpp"

namespace stretto {

std::uint64_t RandomStream::below(std::uint64_t n) {
  STRETTO_ASSERT(n > 0, "empty range");
  return boost::random::uniform_int_distribution<std::uint64_t>(0, n - 1)(*this);
}

std::vector<std::uint32_t> random_permutation(std::size_t n, RandomStream& stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

}  // namespace stretto
