// SPDX-License-Identifier: Apache-2.0
// Collectives: what n ranks send each other to sum a buffer of b bytes, as rounds of messages. Pure functions.
//
// A round is a set of messages. A rank goes through the rounds in which it sends or receives in order: a message moves
// only when both its ends are done with their earlier rounds. Pieces are rounded up to whole bytes, so that all ranks
// of a symmetric algorithm send the same.
//   ring              n - 1 rounds that reduce and scatter, n - 1 that gather: rank r sends b / n to r + 1 (mod n).
//                     Bytes that a rank sends: 2 (n - 1) / n b (Patarasuk, Yuan 2009)
//   halving_doubling  m = largest power of two <= n. The first 2 (n - m) ranks are pairs, in which the even one sends b
//                     to the odd one and leaves. Then log2 m rounds with partners at distance m/2, m/4, ..., 1, which
//                     send each other b/2, b/4, ..., b/m, and the same back; then the odd ones send b to the even ones.
//                     For n = m: 2 log2 n rounds, 2 (n - 1) / n b (Thakur, Rabenseifner, Gropp 2005)
//   tree              binary tree, parent of r is (r - 1) / 2: level by level, lowest first, every rank sends b to
//                     its parent, then the same down. A parent's children send at once and share its NIC
//   hierarchical      g ranks per host, H hosts: ring reduce-scatter inside each host (g - 1 rounds of b / g); ring
//                     all-reduce of each rank's part with those of its place on other hosts (2 (H - 1) rounds of
//                     b / (g H)); ring all-gather inside. What Horovod's hierarchical all-reduce does
// Part Reduce is everything up to the middle, after which the sums are spread over ranks (tree: at rank 0); Gather is
// the rest. Ranks of a host are neighbours: rank r is on host r / g; n is a multiple of g for hierarchical.
// Limits: no pipelining inside a bucket; to pipeline a tree, cut the variables and allow several streams.
// Validated: tests/crosscheck/all_reduce_test.cpp (closed forms; every rank hears of every other).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::training {

enum class Algorithm : std::uint8_t { Ring, HalvingDoubling, Tree, Hierarchical };
enum class Part : std::uint8_t { Whole, Reduce, Gather };

// `host`: ranks on one host, clamped to the ranks.
struct Collective {
  Algorithm algorithm = Algorithm::Ring;
  Part part = Part::Whole;
  std::uint32_t ranks = 1;
  std::uint32_t host = 1;
};

struct Send {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Bytes bytes;
};

using Round = std::vector<Send>;

// O(messages).
std::vector<Round> rounds(const Collective& collective, Bytes bytes);

// Number of messages. O(1).
double messages(const Collective& collective);

// All ranks do the same: each sends and receives the same bytes in each round, all of them inside hosts or none.
bool symmetric(const Collective& collective);

// Of a symmetric collective: what each rank sends in each round. O(rounds).
struct EqualRound {
  Bytes bytes;
  bool inside = false;  // to a rank of its host
};
std::vector<EqualRound> equal_rounds(const Collective& collective, Bytes bytes);

}  // namespace stretto::training
