// SPDX-License-Identifier: Apache-2.0
// Several ranks of one job: clocks that are known to be off, collectives that are missing.
#include "io/import/kineto_ranks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "sim/base/random.hpp"
#include "tests/support/import_checks.hpp"

namespace stretto::io {
namespace {

using test::error_of;
using test::has_note;

struct Collective {
  std::int64_t end_ns = 0;
  std::int64_t moved_ns = 0;  // when the last rank had come
  std::int64_t bytes = 0;
};

// The same collectives on every rank: random pauses, equal sizes now and then.
std::vector<Collective> job(RandomStream& random, std::size_t n) {
  std::vector<Collective> list;
  std::int64_t at = 1'000'000'000;
  for (std::size_t i = 0; i < n; ++i) {
    at += 2'000'000 + static_cast<std::int64_t>(random.below(40'000'000));
    list.push_back({at, 100'000 + static_cast<std::int64_t>(random.below(1'000'000)),
                    static_cast<std::int64_t>(4 << random.below(3))});
  }
  return list;
}

// One rank's view: waits of its own before each, ends that jitter by microseconds, a clock of its own.
KinetoTrace rank(const std::vector<Collective>& job, std::int64_t clock_ns, bool last, RandomStream& random,
                 std::uint64_t missing_of_four = 0) {
  KinetoTrace trace;
  for (const Collective& c : job) {
    if (random.below(4) < missing_of_four) continue;
    KinetoKernel k;
    k.name = trace.keep("ncclKernel_AllReduce");
    k.stream = trace.keep("0/7");
    const std::int64_t wait = last ? 0 : static_cast<std::int64_t>(random.below(2'000'000));
    const std::int64_t end = c.end_ns + clock_ns + static_cast<std::int64_t>(random.below(8'000)) - 4'000;
    k.duration_ns = c.moved_ns + wait;
    k.start_ns = end - k.duration_ns;
    k.collective = KinetoCollective{trace.keep("allreduce"), c.bytes};
    trace.kernels.push_back(k);
  }
  std::sort(trace.kernels.begin(), trace.kernels.end(),
            [](const KinetoKernel& a, const KinetoKernel& b) { return a.start_ns < b.start_ns; });
  return trace;
}

TEST(KinetoRanks, OffsetsOfClocksAreFound) {
  for (const std::int64_t offset : {0L, 553'000L, -553'000L, 47L * 1'000'000'000, -3'600L * 1'000'000'000})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      RandomStream random(seed, "kineto ranks");
      const std::vector<Collective> all = job(random, 40);
      KinetoTrace mine = rank(all, 0, false, random);
      const auto match = match_rank(mine, rank(all, offset, true, random));
      ASSERT_TRUE(match) << offset;
      EXPECT_NEAR(static_cast<double>(match->offset_ns), static_cast<double>(offset), 8'000) << seed;
      EXPECT_EQ(match->pairs, 40U);
      // The last to come waits for nobody: what the collective moved takes what it took there.
      for (const KinetoKernel& k : mine.kernels) {
        const auto c = std::min_element(all.begin(), all.end(), [&](const Collective& a, const Collective& b) {
          return std::abs(a.end_ns - k.end_ns()) < std::abs(b.end_ns - k.end_ns());
        });
        ASSERT_TRUE(k.transfer_ns);
        EXPECT_EQ(*k.transfer_ns, c->moved_ns);
      }
    }
}

TEST(KinetoRanks, TracesThatMissCollectives) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "kineto ranks, sampled");
    const std::vector<Collective> all = job(random, 60);
    KinetoTrace mine = rank(all, 0, false, random, 1);
    const KinetoTrace other = rank(all, -12'345'000, true, random, 2);
    const auto match = match_rank(mine, other);
    ASSERT_TRUE(match) << seed;
    EXPECT_NEAR(static_cast<double>(match->offset_ns), -12'345'000, 8'000) << seed;
    const auto known = static_cast<std::size_t>(std::count_if(
        mine.kernels.begin(), mine.kernels.end(), [](const KinetoKernel& k) { return k.transfer_ns.has_value(); }));
    EXPECT_EQ(known, match->pairs);
    EXPECT_LT(known, mine.kernels.size());
  }
}

// Many kinds of many collectives: all pairs would be 64 million differences a rank.
TEST(KinetoRanks, ManyKindsOfManyCollectives) {
  RandomStream random(3, "kineto ranks, many");
  std::vector<Collective> all = job(random, 16 * 2000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bytes = 4 << (i % 16);
  KinetoTrace mine = rank(all, 0, false, random);
  const auto match = match_rank(mine, rank(all, 77'000'000, true, random));
  ASSERT_TRUE(match);
  EXPECT_NEAR(static_cast<double>(match->offset_ns), 77'000'000, 8'000);
  EXPECT_EQ(match->pairs, all.size());
}

TEST(KinetoRanks, StrangersAreNotAligned) {
  std::size_t aligned = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "kineto ranks, strangers");
    KinetoTrace mine = rank(job(random, 40), 0, false, random);
    aligned += match_rank(mine, rank(job(random, 40), 0, true, random)) ? 1U : 0U;
  }
  EXPECT_EQ(aligned, 0U);
  KinetoTrace none;
  EXPECT_FALSE(match_rank(none, KinetoTrace()));
}

std::string trace_json(std::int64_t clock_us, std::int64_t wait_us, const std::string& kind) {
  std::string text = R"({"schemaVersion": 1, "distributedInfo": {}, "traceEvents": [)";
  std::int64_t at = 1'000;
  for (int i = 0; i < 6; ++i) {
    at += 3'000 + 700 * i * i;
    text += fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "dur": 500, )"
                        R"("args": {{"stream": 7}}}},)",
                        at + clock_us - 1'000);
    text += fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_x", "pid": 0, "tid": 20, "ts": {}, )"
                        R"("dur": {}, "args": {{"stream": 20, "Collective name": "{}", "In msg nelems": 1000, )"
                        R"("dtype": "Float"}}}},)",
                        at + clock_us - wait_us, 100 + wait_us, kind);
  }
  text.back() = ']';
  return text + "}";
}

TEST(KinetoRanks, OneJobOfTwoFiles) {
  const std::string path = ::testing::TempDir() + "/rank1.json";
  std::ofstream(path) << trace_json(250'000, 0, "allreduce");
  ImportOptions options;
  options.rank_paths = {path};
  const ImportResult r = import_text(trace_json(0, 400, "allreduce"), "rank0.json", options);
  EXPECT_EQ(r.graph.parameters.size(), 6U);
  EXPECT_TRUE(has_note(r.report.read, "2 ranks; rank0.json computes 3.000 ms"));
  EXPECT_TRUE(has_note(r.report.read,
                       "rank1.json: clock +250000.000 us, 6 of 6 collectives matched; computes 3.000 ms (+0.0 %)"));
  EXPECT_TRUE(
      has_note(r.report.read, "the all-reduces moved 24000 bytes in 0.600 ms (least over the ranks), 0.040 GB/s"));

  // Other collectives can be kept as what they moved.
  EXPECT_NE(error_of(trace_json(0, 400, "all_to_all"), {}).find("6 all_to_all"), std::string::npos);
  std::ofstream(path) << trace_json(250'000, 0, "all_to_all");
  const ImportResult kept = import_text(trace_json(0, 400, "all_to_all"), "rank0.json", options);
  EXPECT_TRUE(has_note(kept.report.guessed, "6 all_to_all are ops of their least time over the ranks, 0.600 ms"));
  ASSERT_EQ(kept.graph.ops.size(), 12U);
  EXPECT_EQ(kept.graph.ops[1].time, Duration::us(100));

  EXPECT_NE(error_of(trace_json(0, 400, "allreduce"), options).find("no offset of the clocks is certain"),
            std::string::npos);
  EXPECT_NE(error_of("node1 -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
                     "parameter_size=1\n",
                     options)
                .find("further ranks (--rank) are for Kineto and Chakra traces"),
            std::string::npos);
  std::ofstream(path) << trace_json(250'000, 0, "allreduce");
  options.rank_paths = {path, ::testing::TempDir() + "/./rank1.json"};
  EXPECT_NE(error_of(trace_json(0, 400, "allreduce"), options).find("the same file as"), std::string::npos);
  options.rank_paths.clear();
  options.graph_path = "graph.pb";
  EXPECT_NE(error_of(trace_json(0, 400, "allreduce"), options).find("a GraphDef (--graph) is for traces of TensorFlow"),
            std::string::npos);
  options.graph_path.clear();
  options.variables_path = "variables.json";
  EXPECT_NE(error_of(trace_json(0, 400, "allreduce"), options).find("a table of variables (--variables) is for"),
            std::string::npos);
}

}  // namespace
}  // namespace stretto::io
