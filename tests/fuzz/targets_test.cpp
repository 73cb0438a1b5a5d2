// SPDX-License-Identifier: Apache-2.0
// Replays the corpus of every fuzz target, cuts its seeds and damages them. Seeded; quick by default, long with
// STRETTO_SOAK=1.
#include <gtest/gtest.h>

#include "io/file/file.hpp"
#include "sim/base/random.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/trials.hpp"

namespace stretto::fuzz {
namespace {

class FuzzTarget : public testing::TestWithParam<std::size_t> {
 protected:
  const Target& target_ = targets()[GetParam()];
  std::vector<std::string> seeds_;
  std::uint64_t accepted_ = 0;

  void SetUp() override {
    for (const std::string& path : seed_files(target_)) seeds_.push_back(file::read(path));
    ASSERT_FALSE(seeds_.empty());
  }
  void read(const std::string& text) {
    try {
      if (run(target_, text) == Outcome::Accepted) ++accepted_;
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\nfor the text\n" << text;
    }
  }
};

TEST_P(FuzzTarget, SeedsAreReplayed) {
  for (const std::string& seed : seeds_) ASSERT_NO_FATAL_FAILURE(read(seed));
  EXPECT_GT(accepted_, 0U);
}

TEST_P(FuzzTarget, CutsAndDamage) {
  RandomStream random(1, std::string("fuzz/") + target_.name);
  const std::uint64_t n = test::trials(target_.trials);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::string& seed = seeds_[i % seeds_.size()];
    const std::string text =
        i % 4 == 0 ? seed.substr(0, random.below(seed.size() + 1)) : damage(seed, target_.tokens, random);
    ASSERT_NO_FATAL_FAILURE(read(text)) << "trial " << i;
  }
  EXPECT_GT(accepted_, n / 200);  // the damage is not so great that nothing is ever read
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTarget, testing::Range<std::size_t>(0, targets().size()),
                         [](const testing::TestParamInfo<std::size_t>& i) { return targets()[i.param].name; });

}  // namespace
}  // namespace stretto::fuzz
