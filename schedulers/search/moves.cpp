// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/moves.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace stretto::search {

namespace {

std::vector<std::uint32_t> sequence(const plan::DirectionOrder& order) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t t = 0; t < order.rank.size(); ++t)
    if (order.rank[t] != plan::kUnranked) list.push_back(t);
  std::sort(list.begin(), list.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::tie(order.rank[a], a) < std::tie(order.rank[b], b); });
  return list;
}

void write(const std::vector<std::uint32_t>& list, plan::DirectionOrder& order) {
  for (std::uint32_t place = 0; place < list.size(); ++place) order.rank[list[place]] = place;
}

// 1 .. most, small ones more often.
std::size_t distance(std::size_t most, RandomStream& random) {
  std::size_t scale = 1;
  while (scale < most && random.below(2) == 0) scale *= 4;
  return 1 + random.below(std::min(scale, most));
}

void move_block(std::vector<std::uint32_t>& list, std::size_t first, std::size_t length, std::size_t to) {
  const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  if (to < first)
    std::rotate(at(to), at(first), at(first + length));
  else
    std::rotate(at(first), at(first + length), at(to + length));
}

// Brings a transfer that is waited for forward; false if it is first already.
bool bring_forward(plan::DirectionOrder& order, std::uint32_t transfer, RandomStream& random) {
  std::vector<std::uint32_t> list = sequence(order);
  const auto place = static_cast<std::size_t>(std::find(list.begin(), list.end(), transfer) - list.begin());
  if (place == list.size() || place == 0) return false;
  const std::size_t to = place - distance(place, random);
  if (random.below(3) == 0)
    std::swap(list[place], list[to]);
  else
    move_block(list, place, 1, to);
  write(list, order);
  return true;
}

void change_anywhere(plan::DirectionOrder& order, RandomStream& random) {
  std::vector<std::uint32_t> list = sequence(order);
  const std::size_t n = list.size();
  if (random.below(3) == 0) {
    const std::size_t a = random.below(n - 1);
    std::swap(list[a], list[a + distance(n - 1 - a, random)]);
  } else {
    const std::size_t length = random.below(3) == 0 ? distance(n - 1, random) : 1;
    const std::size_t first = random.below(n - length + 1);
    const std::size_t before = first;
    const std::size_t behind = n - length - first;
    const bool back = behind == 0 || (before > 0 && random.below(2) == 0);
    move_block(list, first, length, back ? first - distance(before, random) : first + distance(behind, random));
  }
  write(list, order);
}

std::size_t ranked(const plan::DirectionOrder& order) {
  return order.rank.size() -
         static_cast<std::size_t>(std::count(order.rank.begin(), order.rank.end(), plan::kUnranked));
}

}  // namespace

void make_dense(plan::Order& order) {
  for (plan::DirectionOrder* direction : {&order.pull, &order.push}) write(sequence(*direction), *direction);
}

bool change(plan::Order& order, std::span<const Wait> waits, RandomStream& random) {
  const bool pull = ranked(order.pull) >= 2;
  const bool push = ranked(order.push) >= 2;
  if (!pull && !push) return false;
  if (!waits.empty() && random.below(2) == 0) {
    double sum = 0;
    for (const Wait& w : waits) sum += w.time.seconds();
    double left = random.unit() * sum;
    std::size_t i = 0;
    while (i + 1 < waits.size() && (left -= waits[i].time.seconds()) > 0) ++i;
    plan::DirectionOrder& direction = waits[i].push ? order.push : order.pull;
    if ((waits[i].push ? push : pull) && bring_forward(direction, waits[i].transfer, random)) return true;
  }
  change_anywhere(pull && (!push || random.below(2) == 0) ? order.pull : order.push, random);
  return true;
}

}  // namespace stretto::search
