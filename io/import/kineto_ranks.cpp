// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stretto::io {

namespace {

constexpr std::int64_t kWindowNs = 1'000'000;
constexpr std::size_t kMostPaired = 1'000;  // collectives of a kind and rank whose pairs are looked at for the offset
constexpr std::size_t kMostPairs = kMostPaired * kMostPaired;  // of all kinds

// Indices into a trace's kernels by what must agree, in order of their ends.
using Collectives = std::map<std::pair<std::string, std::int64_t>, std::vector<std::size_t>>;

Collectives collectives_of(const KinetoTrace& trace) {
  Collectives list;
  for (std::size_t i = 0; i < trace.kernels.size(); ++i) {
    const auto& c = trace.kernels[i].collective;
    if (c) list[{std::string(c->kind), c->bytes.value_or(-1)}].push_back(i);
  }
  for (auto& [what, indices] : list)
    std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
      return trace.kernels[a].end_ns() < trace.kernels[b].end_ns();
    });
  return list;
}

std::size_t count(const Collectives& list) {
  std::size_t n = 0;
  for (const auto& [what, indices] : list) n += indices.size();
  return n;
}

// Differences of ends, sorted. Rare kinds first: few of their pairs are of different collectives.
std::vector<std::int64_t> differences_of(const KinetoTrace& trace, const Collectives& mine, const KinetoTrace& other,
                                         const Collectives& theirs) {
  using Indices = std::vector<std::size_t>;
  const auto paired = [](const Indices& list) { return std::min(list.size(), kMostPaired); };
  std::vector<std::pair<const Indices*, const Indices*>> kinds;
  for (const auto& [what, indices] : mine)
    if (const auto it = theirs.find(what); it != theirs.end()) kinds.emplace_back(&indices, &it->second);
  const auto pairs = [&](const auto& kind) { return paired(*kind.first) * paired(*kind.second); };
  std::stable_sort(kinds.begin(), kinds.end(), [&](const auto& a, const auto& b) { return pairs(a) < pairs(b); });
  std::vector<std::int64_t> differences;
  for (const auto& kind : kinds) {
    if (differences.size() + pairs(kind) > kMostPairs) break;
    for (std::size_t i = 0; i < paired(*kind.first); ++i)
      for (std::size_t j = 0; j < paired(*kind.second); ++j)
        differences.push_back(other.kernels[(*kind.second)[j]].end_ns() - trace.kernels[(*kind.first)[i]].end_ns());
  }
  std::sort(differences.begin(), differences.end());
  return differences;
}

}  // namespace

std::optional<RankMatch> match_rank(KinetoTrace& trace, const KinetoTrace& other) {
  const Collectives mine = collectives_of(trace);
  const Collectives theirs = collectives_of(other);
  const std::vector<std::int64_t> differences = differences_of(trace, mine, other, theirs);
  std::size_t best = 0;  // of the windows, the one with most differences: how many, and their median
  std::int64_t offset = 0;
  for (std::size_t from = 0, to = 0; from < differences.size(); ++from) {
    while (to < differences.size() && differences[to] - differences[from] <= kWindowNs) ++to;
    const std::int64_t median = differences[from + (to - from - 1) / 2];
    if (to - from > best || (to - from == best && std::abs(median) < std::abs(offset))) {
      best = to - from;
      offset = median;
    }
  }
  RankMatch match{offset, 0, count(mine)};
  const std::size_t least = std::max<std::size_t>(2, (std::min(match.collectives, count(theirs)) + 3) / 4);
  std::vector<std::pair<std::size_t, std::int64_t>> found;  // kernel of this rank, duration on the other
  for (const auto& [what, indices] : mine) {
    const auto it = theirs.find(what);
    if (it == theirs.end()) continue;
    std::size_t j = 0;
    for (const std::size_t i : indices) {
      const std::int64_t end = trace.kernels[i].end_ns() + offset;
      const auto distance = [&](std::size_t k) { return std::abs(other.kernels[it->second[k]].end_ns() - end); };
      while (j + 1 < it->second.size() && distance(j + 1) <= distance(j)) ++j;
      if (j >= it->second.size() || distance(j) > kWindowNs) continue;
      found.emplace_back(i, other.kernels[it->second[j]].duration_ns);
      if (++j == it->second.size()) break;
    }
  }
  match.pairs = found.size();
  if (match.pairs < least) return std::nullopt;
  for (const auto& [i, duration] : found) {
    KinetoKernel& k = trace.kernels[i];
    const std::int64_t known = k.transfer_ns.value_or(k.duration_ns);
    k.transfer_ns = std::min(known, duration);
  }
  return match;
}

}  // namespace stretto::io
