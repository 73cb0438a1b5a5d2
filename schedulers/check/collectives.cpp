// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/collectives.hpp"

#include <algorithm>
#include <utility>

namespace stretto::check {

namespace {

using Rounds = std::vector<std::vector<Send>>;

Bytes part_of(Bytes bytes, std::int64_t parts) { return Bytes((bytes.count() + parts - 1) / parts); }

void append(Rounds& list, const Rounds& more) { list.insert(list.end(), more.begin(), more.end()); }

// `count` rounds in which each member of each ring sends `bytes` to the next.
Rounds around(const std::vector<std::vector<std::uint32_t>>& rings, std::uint32_t count, Bytes bytes) {
  std::vector<Send> round;
  for (const std::vector<std::uint32_t>& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) round.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
  return Rounds(count, round);
}

Rounds ring(std::uint32_t n, Bytes bytes, bool reduces, bool gathers) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t r = 0; r < n; ++r) all.push_back(r);
  return around({all}, (n - 1) * ((reduces ? 1 : 0) + (gathers ? 1 : 0)), part_of(bytes, n));
}

// Those that are too many for a power of two hand all they have to a neighbour first, and get the sum at the end.
Rounds halving_doubling(std::uint32_t n, Bytes bytes, bool reduces, bool gathers) {
  std::uint32_t m = 1;
  while (2 * m <= n) m *= 2;
  std::vector<Send> in;
  std::vector<Send> out;
  std::vector<std::uint32_t> team;
  for (std::uint32_t r = 0; r < n; ++r) {
    const bool paired = r < 2 * (n - m);
    if (paired && r % 2 == 0) {
      in.push_back({r, r + 1, bytes});
      out.push_back({r + 1, r, bytes});
    } else {
      team.push_back(r);
    }
  }
  Rounds exchange;  // halving; its mirror is doubling
  for (std::uint32_t parts = 2; parts <= m; parts *= 2) {
    std::vector<Send>& round = exchange.emplace_back();
    for (std::uint32_t i = 0; i < m; ++i) round.push_back({team[i], team[i ^ (m / parts)], part_of(bytes, parts)});
  }
  Rounds list;
  if (reduces && !in.empty()) list.push_back(in);
  if (reduces) append(list, exchange);
  std::reverse(exchange.begin(), exchange.end());
  if (gathers) append(list, exchange);
  if (gathers && !out.empty()) list.push_back(out);
  return list;
}

Rounds tree(std::uint32_t n, Bytes bytes, bool reduces, bool gathers) {
  Rounds up;  // lowest level first
  for (std::uint32_t r = n; r-- > 1;) {
    std::uint32_t depth = 0;
    for (std::uint32_t at = r; at > 0; at = (at - 1) / 2) ++depth;
    if (up.size() < depth) up.resize(depth);
    up[depth - 1].push_back({r, (r - 1) / 2, bytes});
  }
  Rounds list;
  for (std::size_t level = up.size(); reduces && level-- > 0;) list.push_back(up[level]);
  for (std::vector<Send>& round : up)
    for (Send& s : round) std::swap(s.from, s.to);
  if (gathers) append(list, up);
  return list;
}

Rounds hierarchical(std::uint32_t n, std::uint32_t g, Bytes bytes, bool reduces, bool gathers) {
  std::vector<std::vector<std::uint32_t>> inside(n / g);
  std::vector<std::vector<std::uint32_t>> across(g);
  for (std::uint32_t r = 0; r < n; ++r) {
    inside[r / g].push_back(r);
    across[r % g].push_back(r);
  }
  const Rounds in_host = around(inside, g - 1, part_of(bytes, g));
  const Rounds between = around(across, n / g - 1, part_of(part_of(bytes, g), n / g));
  Rounds list;
  if (reduces) append(list, in_host);
  if (reduces) append(list, between);
  if (gathers) append(list, between);
  if (gathers) append(list, in_host);
  return list;
}

}  // namespace

Rounds rounds(const CollectiveJob& job, Bytes bytes, bool reduces, bool gathers) {
  const std::uint32_t n = job.ranks();
  if (n < 2) return {};
  switch (job.algorithm) {
    case Algorithm::Ring:
      return ring(n, bytes, reduces, gathers);
    case Algorithm::HalvingDoubling:
      return halving_doubling(n, bytes, reduces, gathers);
    case Algorithm::Tree:
      return tree(n, bytes, reduces, gathers);
    case Algorithm::Hierarchical:
      return hierarchical(n, std::min(job.per_host, n), bytes, reduces, gathers);
  }
  return {};
}

std::vector<Bucket> buckets(const CollectiveJob& job) {
  std::vector<Bucket> list;
  for (std::uint32_t t = 0; t < job.layout.transfers.size(); ++t) {
    const std::uint32_t b = job.layout.bucket[t];
    if (b == plan::kUnranked) continue;
    if (list.size() <= b) list.resize(b + 1);
    Bucket& bucket = list[b];
    if (bucket.bytes == Bytes()) bucket.leader = t;
    bucket.bytes += job.layout.transfers[t].bytes;
    const std::uint32_t p = job.layout.transfers[t].parameter.index();
    if (bucket.parameters.empty() || bucket.parameters.back() != p) bucket.parameters.push_back(p);
    for (const bool gather : {false, true})
      if (plan::traits(job.direction(gather).discipline).ranks)
        bucket.rank[gather] = std::min(bucket.rank[gather], job.direction(gather).rank[t]);
  }
  return list;
}

std::vector<std::vector<std::uint32_t>> buckets_of(const CollectiveJob& job, const std::vector<Bucket>& buckets) {
  std::vector<std::vector<std::uint32_t>> of(job.graph.parameters.size());
  for (std::uint32_t b = 0; b < buckets.size(); ++b)
    for (const std::uint32_t p : buckets[b].parameters) of[p].push_back(b);
  return of;
}

std::vector<std::uint32_t> ranked_buckets(const std::vector<Bucket>& buckets, bool gather) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t b = 0; b < buckets.size(); ++b)
    if (buckets[b].rank[gather] != plan::kUnranked) list.push_back(b);
  std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(buckets[a].rank[gather], buckets[a].leader) <
           std::pair(buckets[b].rank[gather], buckets[b].leader);
  });
  return list;
}

std::string why_no_replay(const CollectiveJob& job) {
  std::vector<const plan::DirectionOrder*> orders{&job.direction(false)};
  if (job.layout.split) orders.push_back(&job.direction(true));
  return why_no_replay(job, orders);
}

double message_count(const CollectiveJob& job) {
  std::size_t of_one = 0;
  for (const auto& round : rounds(job, Bytes(1), true, true)) of_one += round.size();
  return static_cast<double>(of_one) * static_cast<double>(buckets(job).size());
}

}  // namespace stretto::check
