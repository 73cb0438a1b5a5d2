// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace stretto {
namespace {

TEST(Units, TransferDurationRoundsUp) {
  EXPECT_EQ(transfer_duration(Bytes(1), Bandwidth(8)), Duration::ps(1'000'000'000'000));
  EXPECT_EQ(transfer_duration(Bytes(1), Bandwidth(3)).ps(), 2'666'666'666'667);
  EXPECT_EQ(transfer_duration(Bytes(0), Bandwidth(3)), Duration());
  EXPECT_EQ(transfer_duration(Bytes(5), Bandwidth::unlimited()), Duration());
  // 411 MB at 10 Gbit/s: the product needs more than 64 bits.
  EXPECT_EQ(transfer_duration(Bytes(411'000'000), Bandwidth(10'000'000'000)).ps(), 328'800'000'000);
}

TEST(Units, OverflowIsOutOfRange) {
  const Duration big = Duration::ps(std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(big + Duration::ps(1), OutOfRange);
  EXPECT_THROW(transfer_duration(Bytes(std::numeric_limits<std::int64_t>::max()), Bandwidth(1)), OutOfRange);
}

TEST(Random, FirstValuesArePinned) {
  RandomStream s(1, "orders");
  const std::uint64_t a = s();
  const std::uint64_t b = s();
  RandomStream again(1, "orders");
  EXPECT_EQ(again(), a);
  EXPECT_EQ(again(), b);
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15ULL), 0xE220A8397B1DCDAFULL);  // SplitMix64's published first output of seed 0
}

TEST(Random, PermutationsAreUniform) {
  RandomStream s(7, "permutations");
  std::map<std::vector<std::uint32_t>, int> seen;
  for (int i = 0; i < 6000; ++i) ++seen[random_permutation(3, s)];
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [order, n] : seen) EXPECT_NEAR(n, 1000, 150);
}

TEST(Diagnostic, RendersPlaceCaretAndHint) {
  Diagnostic d;
  d.span = {"a.yaml", 3, 5, 3, "    nci: 1"};
  d.key = "cluster.nci";
  d.message = "unknown key";
  d.hint = "did you mean nic?";
  EXPECT_EQ(render(d),
            "a.yaml:3:5: error: cluster.nci: unknown key\n      nci: 1\n      ^~~\n  hint: did you mean nic?\n");
}

TEST(Diagnostic, EscapesControlCharacters) {
  EXPECT_EQ(escape_control("a\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8"
                           "b\xe2\x82\xac\xf0\x9f\x98\x80"),
            "a\\u202e\\u2066\\u061c\\u2028"
            "b\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(escape_control("a\x1b[31m\xff\xc2\x9b\xc3\xa9"), "a\\x1b[31m\\xff\\xc2\\x9b\xc3\xa9");
}

TEST(Diagnostic, NearestName) {
  EXPECT_EQ(nearest_name("bandwith", {"latency", "bandwidth"}), "bandwidth");
  EXPECT_EQ(nearest_name("xyz", {"latency", "bandwidth"}), "");
}

}  // namespace
}  // namespace stretto
