// SPDX-License-Identifier: Apache-2.0
#include "models/training/collective.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/assert.hpp"

namespace stretto::training {

namespace {

Bytes piece(Bytes bytes, std::uint32_t parts) {
  return Bytes(bytes.count() / parts + (bytes.count() % parts == 0 ? 0 : 1));
}

bool reduces(Part part) { return part != Part::Gather; }
bool gathers(Part part) { return part != Part::Reduce; }

std::uint32_t ranks_per_host(const Collective& c) { return std::clamp(c.host, 1U, c.ranks); }

// Rings of `size` ranks each: rank r's place in its ring is r / stride % size.
Round ring_round(const Collective& c, std::uint32_t size, std::uint32_t stride, Bytes bytes) {
  Round round;
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    const std::uint32_t place = r / stride % size;
    round.push_back({r, r - place * stride + (place + 1) % size * stride, bytes});
  }
  return round;
}

// Rounds of pairs at `distance` among the m ranks that are left of n: of the first n - m pairs the odd ones.
Round pair_round(std::uint32_t n, std::uint32_t m, std::uint32_t distance, Bytes bytes) {
  const std::uint32_t extra = n - m;
  const auto rank = [&](std::uint32_t i) { return i < extra ? 2 * i + 1 : i + extra; };
  Round round;
  for (std::uint32_t i = 0; i < m; ++i) round.push_back({rank(i), rank(i ^ distance), bytes});
  return round;
}

std::vector<Round> halving_doubling(const Collective& c, Bytes bytes) {
  const std::uint32_t m = std::bit_floor(c.ranks);
  Round in;
  Round out;
  for (std::uint32_t i = 0; i < c.ranks - m; ++i) {
    in.push_back({2 * i, 2 * i + 1, bytes});
    out.push_back({2 * i + 1, 2 * i, bytes});
  }
  std::vector<Round> list;
  if (reduces(c.part)) {
    if (!in.empty()) list.push_back(in);
    for (std::uint32_t d = m / 2; d >= 1; d /= 2) list.push_back(pair_round(c.ranks, m, d, piece(bytes, m / d)));
  }
  if (gathers(c.part)) {
    for (std::uint32_t d = 1; d < m; d *= 2) list.push_back(pair_round(c.ranks, m, d, piece(bytes, m / d)));
    if (!out.empty()) list.push_back(out);
  }
  return list;
}

std::vector<Round> tree(const Collective& c, Bytes bytes) {
  std::vector<Round> up;
  for (std::uint32_t first = std::bit_floor(c.ranks); first >= 2; first /= 2) {
    Round round;  // ranks first - 1 .. 2 first - 2 are one level
    for (std::uint32_t r = first - 1; r < std::min(2 * first - 1, c.ranks); ++r)
      round.push_back({r, (r - 1) / 2, bytes});
    up.push_back(round);
  }
  std::vector<Round> list;
  if (reduces(c.part)) list = up;
  if (!gathers(c.part)) return list;
  for (auto round = up.rbegin(); round != up.rend(); ++round) {
    for (Send& s : *round) std::swap(s.from, s.to);
    list.push_back(*round);
  }
  return list;
}

}  // namespace

std::vector<EqualRound> equal_rounds(const Collective& c, Bytes bytes) {
  STRETTO_ASSERT(symmetric(c), "algorithm {} of {} ranks", static_cast<int>(c.algorithm), c.ranks);
  std::vector<EqualRound> list;
  const auto add = [&](std::uint32_t count, Bytes each, bool inside) {
    for (std::uint32_t i = 0; i < count; ++i) list.push_back({each, inside});
  };
  if (c.algorithm == Algorithm::HalvingDoubling) {
    const auto pair = [&](std::uint32_t d) { add(1, piece(bytes, c.ranks / d), d < ranks_per_host(c)); };
    for (std::uint32_t d = c.ranks / 2; d >= 1 && reduces(c.part); d /= 2) pair(d);
    for (std::uint32_t d = 1; d < c.ranks && gathers(c.part); d *= 2) pair(d);
    return list;
  }
  if (c.algorithm == Algorithm::Ring) {
    add((c.ranks - 1) * (c.part == Part::Whole ? 2 : 1), piece(bytes, c.ranks), c.host >= c.ranks);
    return list;
  }
  const std::uint32_t g = ranks_per_host(c);
  const std::uint32_t hosts = c.ranks / g;
  const Bytes part = piece(bytes, g);
  if (reduces(c.part)) {
    add(g - 1, part, true);
    add(hosts - 1, piece(part, hosts), false);
  }
  if (gathers(c.part)) {
    add(hosts - 1, piece(part, hosts), false);
    add(g - 1, part, true);
  }
  return list;
}

std::vector<Round> rounds(const Collective& c, Bytes bytes) {
  STRETTO_ASSERT(c.ranks >= 1, "collective of {} ranks", c.ranks);
  if (c.ranks == 1) return {};
  switch (c.algorithm) {
    case Algorithm::HalvingDoubling:
      return halving_doubling(c, bytes);
    case Algorithm::Tree:
      return tree(c, bytes);
    case Algorithm::Ring:
      return std::vector<Round>((c.ranks - 1) * (c.part == Part::Whole ? 2U : 1U),
                                ring_round(c, c.ranks, 1, piece(bytes, c.ranks)));
    case Algorithm::Hierarchical:
      break;
  }
  const std::uint32_t g = ranks_per_host(c);
  std::vector<Round> list;
  for (const EqualRound& r : equal_rounds(c, bytes))
    list.push_back(r.inside ? ring_round(c, g, 1, r.bytes) : ring_round(c, c.ranks / g, g, r.bytes));
  return list;
}

double messages(const Collective& c) {
  const double n = c.ranks;
  const double parts = c.part == Part::Whole ? 2 : 1;
  switch (c.algorithm) {
    case Algorithm::Ring:
      return parts * n * (n - 1);
    case Algorithm::HalvingDoubling: {
      const double m = std::bit_floor(c.ranks);
      return parts * (m * (std::bit_width(c.ranks) - 1) + n - m);
    }
    case Algorithm::Tree:
      return parts * (n - 1);
    case Algorithm::Hierarchical: {
      const double g = ranks_per_host(c);
      return parts * n * (g - 1 + n / g - 1);
    }
  }
  return 0;
}

bool symmetric(const Collective& c) {
  switch (c.algorithm) {
    case Algorithm::Ring:
      return c.host <= 1 || c.host >= c.ranks;
    case Algorithm::HalvingDoubling:
      return std::has_single_bit(c.ranks) && std::has_single_bit(ranks_per_host(c));
    case Algorithm::Tree:
      return c.ranks == 1;
    case Algorithm::Hierarchical:
      return c.ranks % ranks_per_host(c) == 0;
  }
  return false;
}

}  // namespace stretto::training
