// SPDX-License-Identifier: Apache-2.0
#include "models/plan/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/diagnostic.hpp"

namespace stretto::plan {

namespace {

constexpr std::int64_t kElement = 4;  // bytes of a float32
constexpr std::int64_t kMaxTransfers = 20'000'000;

struct Cut {
  std::int64_t unit = 1;
  std::int64_t elements = 0;
  std::int64_t parts = 1;
};

Cut cut_of(Bytes bytes, Bytes limit) {
  Cut cut;
  if (bytes.count() % kElement == 0 && limit.count() >= kElement) cut.unit = kElement;
  cut.elements = bytes.count() / cut.unit;
  const std::int64_t most = limit.count() / cut.unit;
  cut.parts = cut.elements / most + (cut.elements % most == 0 ? 0 : 1);
  return cut;
}

}  // namespace

Layout partition(const Layout& layout, Bytes limit) {
  if (limit <= Bytes()) throw UserError(fmt::format("a partition of {} bytes", limit.count()), "at least 1 B");
  std::int64_t transfers = 0;
  for (const Transfer& t : layout.transfers) {
    transfers += cut_of(t.bytes, limit).parts;
    if (transfers > kMaxTransfers)
      throw UserError(fmt::format("the partition makes more than {} slices", kMaxTransfers), "use larger slices");
  }
  Layout cut;
  cut.servers = layout.servers;
  cut.split = layout.split;
  cut.transfers.reserve(static_cast<std::size_t>(transfers));
  cut.first.push_back(0);
  for (std::size_t p = 0; p + 1 < layout.first.size(); ++p) {
    std::uint32_t slice = 0;
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t) {
      const Transfer& whole = layout.transfers[t];
      const Cut c = cut_of(whole.bytes, limit);
      for (std::int64_t i = 0; i < c.parts; ++i) {
        const std::int64_t elements = c.elements / c.parts + (i < c.elements % c.parts ? 1 : 0);
        cut.transfers.push_back({whole.parameter, slice++, Bytes(elements * c.unit), whole.server});
      }
    }
    cut.first.push_back(static_cast<std::uint32_t>(cut.transfers.size()));
  }
  return cut;
}

std::vector<std::uint32_t> slices_in_turn(const Layout& layout, std::size_t p) {
  std::vector<std::uint32_t> seen(layout.servers, 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> turn;  // place on its server, transfer
  for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t)
    turn.emplace_back(seen[layout.transfers[t].server]++, t);
  std::sort(turn.begin(), turn.end());
  std::vector<std::uint32_t> transfers;
  for (const auto& [place, t] : turn) transfers.push_back(t);
  return transfers;
}

}  // namespace stretto::plan
