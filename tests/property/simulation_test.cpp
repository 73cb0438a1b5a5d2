// SPDX-License-Identifier: Apache-2.0
// Random step programs: the same run however it is cut, and the theorems on orders of transfers and ops that hold for
// one channel and one GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "sim/program/joined.hpp"
#include "sim/program/simulation.hpp"
#include "tests/property/random_program.hpp"
#include "tests/support/recorder.hpp"
#include "tests/support/trials.hpp"

namespace stretto::testing {
namespace {

using channel::HandOver;
using program::ActivityId;
using program::PoolRule;
using program::Simulation;
using program::Status;

void expect_same(const Recorder& a, const Recorder& b, std::size_t skipped_of_a, std::uint64_t trial) {
  ASSERT_EQ(a.records.size() - skipped_of_a, b.records.size());
  for (std::size_t i = 0; i < b.records.size(); ++i)
    ASSERT_TRUE(same(a.records[skipped_of_a + i], b.records[i])) << "program " << trial << " record " << i;
}

// Links of `program`, numbered from `first`.
std::vector<network::LinkId> links_from(const program::StepProgram& program, std::size_t first) {
  std::vector<network::LinkId> links;
  for (std::size_t l = 0; l < program.wires.links.size(); ++l) links.emplace_back(first + l);
  return links;
}

// Two programs side by side on links of their own run as each alone.
TEST(RandomPrograms, PartsThatShareNothingDoNotMeet) {
  RandomStream random(1, "simulation/parts");
  for (const test::Trial trial : test::Trials(200, 10'000)) {
    const RandomProgram a = random_program(random, static_cast<std::uint32_t>(2 + random.below(20)));
    const RandomProgram b = random_program(random, static_cast<std::uint32_t>(2 + random.below(20)));
    if (a.program.network_model != b.program.network_model || a.program.chunk != b.program.chunk) continue;
    constexpr std::uint32_t kIterations = 4;
    std::vector<Recorder> alone(2);
    for (std::size_t i = 0; i < 2; ++i) {
      const RandomProgram& r = i == 0 ? a : b;
      const program::Part part{&r.program, links_from(r.program, 0), i + 1};
      const program::Joined joined = program::join(std::span(&part, 1), r.program.wires.links, false);
      const program::OrderTable order = program::join(joined, std::span(&r.order, 1), 7);
      Simulation s(joined.program, order, kIterations);
      s.observe(&alone[i]);
      ASSERT_EQ(s.run(), Status::Reached) << "program " << trial;
    }
    const std::array<program::Part, 2> parts{
        program::Part{&a.program, links_from(a.program, 0), 1},
        program::Part{&b.program, links_from(b.program, a.program.wires.links.size()), 2}};
    std::vector<network::Link> links = a.program.wires.links;
    links.insert(links.end(), b.program.wires.links.begin(), b.program.wires.links.end());
    const program::Joined joined = program::join(parts, links, false);
    const std::array<program::OrderTable, 2> tables{a.order, b.order};
    const program::OrderTable order = program::join(joined, tables, 7);
    Simulation s(joined.program, order, kIterations);
    std::vector<Recorder> together(2);
    program::PartObservers split(joined, {&together[0], &together[1]});
    s.observe(&split);
    ASSERT_EQ(s.run(), Status::Reached) << "program " << trial;
    for (std::size_t i = 0; i < 2; ++i) {
      // Records of one instant may come in another order.
      const auto before = [](const auto& x, const auto& y) {
        return std::tuple(x.end, x.activity, x.iteration) < std::tuple(y.end, y.activity, y.iteration);
      };
      for (auto* records : {&alone[i].records, &together[i].records})
        std::stable_sort(records->begin(), records->end(), before);
      ASSERT_EQ(alone[i].records.size(), together[i].records.size());
      for (std::size_t k = 0; k < alone[i].records.size(); ++k) {
        ASSERT_EQ(alone[i].records[k].activity, together[i].records[k].activity) << "program " << trial;
        ASSERT_EQ(alone[i].records[k].end, together[i].records[k].end) << "program " << trial;
      }
    }
  }
}

TEST(RandomPrograms, ResetCopyAndPausesChangeNothing) {
  RandomStream random(1, "simulation/cuts");
  for (const test::Trial trial : test::Trials(300, 20'000)) {
    const RandomProgram r = random_program(random, static_cast<std::uint32_t>(2 + random.below(25)));
    const RandomProgram other = random_program(random, 10);
    constexpr std::uint32_t kIterations = 4;
    Simulation s(r.program, r.order, kIterations);
    Recorder expected;
    s.observe(&expected);
    ASSERT_EQ(s.run(), Status::Reached) << "program " << trial;
    s.reset(r.order, kIterations);
    Recorder again;
    s.observe(&again);
    Simulation in_between(other.program, other.order, kIterations);
    const auto cut = static_cast<std::uint32_t>(random.below(kIterations + 1));
    ASSERT_EQ(s.run_until(cut), Status::Reached);
    in_between.run_until(1);
    Simulation copy = s;
    const std::size_t before = again.records.size();
    Recorder after_copy;
    copy.observe(&after_copy);
    ASSERT_EQ(s.run(), Status::Reached);
    expect_same(expected, again, 0, trial);
    in_between.run();
    ASSERT_EQ(copy.run(), Status::Reached);
    ASSERT_EQ(after_copy.records.size() + before, expected.records.size());
    for (std::size_t i = 0; i < after_copy.records.size(); ++i)
      ASSERT_EQ(after_copy.records[i].end, expected.records[before + i].end) << "program " << trial;
    ASSERT_EQ(copy.late_arrivals(), s.late_arrivals());
    ASSERT_FALSE(HasFatalFailure());
  }
}

// One GPU, one channel that moves one message at a time, no other cost. Times in us.
struct OneWorker {
  std::vector<std::int64_t> transfer;
  std::vector<std::int64_t> op;
  std::vector<std::vector<std::uint32_t>> needs;  // transfers that the op itself needs
  std::vector<std::vector<std::uint32_t>> after;  // ops before it

  program::StepProgram compile(PoolRule rule) const {
    program::ProgramBuilder b;
    const auto link = b.wires().add_link("wire", Bandwidth::bytes_per_second(1'000'000));
    channel::Channel c;
    c.route = b.wires().add_route(std::array{link});
    const auto channel = b.add_channel(c);
    const auto gpu = b.add_pool({"gpu", 1, rule});
    for (const std::int64_t t : transfer) b.add_message(channel, Bytes(t));
    for (const std::int64_t t : op) b.add_compute(gpu, Duration::us(t));
    for (std::size_t o = 0; o < op.size(); ++o) {
      for (const std::uint32_t t : needs[o]) b.add_edge(ActivityId(t), ActivityId(transfer.size() + o));
      for (const std::uint32_t p : after[o])
        b.add_edge(ActivityId(transfer.size() + p), ActivityId(transfer.size() + o));
    }
    return b.finish();
  }
  // Ranks: transfers by their place in `sequence`; ops at random (used by Priority pools).
  program::OrderTable order(const std::vector<std::uint32_t>& sequence, RandomStream& random) const {
    program::OrderTable table;
    table.discipline = {HandOver::Strict};
    table.rank.assign(transfer.size(), 0);
    for (std::uint32_t k = 0; k < sequence.size(); ++k) table.rank[sequence[k]] = k;
    for (std::size_t o = 0; o < op.size(); ++o) table.rank.push_back(static_cast<std::uint32_t>(random.below(4)));
    table.ranked = {static_cast<std::uint32_t>(transfer.size())};
    table.stream = random();
    return table;
  }
};

OneWorker random_worker(RandomStream& random, bool chain) {
  OneWorker w;
  for (std::uint64_t t = 1 + random.below(5); t > 0; --t)
    w.transfer.push_back(static_cast<std::int64_t>(random.below(12)));
  const std::uint64_t ops = 1 + random.below(7);
  for (std::uint32_t o = 0; o < ops; ++o) {
    w.op.push_back(static_cast<std::int64_t>(random.below(12)));
    w.needs.emplace_back();
    w.after.emplace_back();
    for (std::uint32_t t = 0; t < w.transfer.size(); ++t)
      if (random.below(4) == 0) w.needs.back().push_back(t);
    if (chain && o > 0) w.after.back().push_back(o - 1);
    if (!chain)
      for (std::uint32_t p = 0; p < o; ++p)
        if (random.below(4) == 0) w.after.back().push_back(p);
  }
  return w;
}

// Every order of the GPU that never idles over a ready op gives P + max(0, max over k of [ m(S_k) - f(S_{k-1}) ]):
// S_k the first k transfers, m their sum, f the sum of the ops that need no others.
TEST(Theorems, EveryWorkConservingGpuOrderGivesTheSameMakespan) {
  RandomStream random(2, "simulation/t1");
  for (const test::Trial trial : test::Trials(1'000, 50'000)) {
    const OneWorker w = random_worker(random, false);
    std::vector<std::vector<bool>> all(w.op.size(), std::vector<bool>(w.transfer.size(), false));
    for (std::size_t o = 0; o < w.op.size(); ++o) {
      for (const std::uint32_t t : w.needs[o]) all[o][t] = true;
      for (const std::uint32_t p : w.after[o])
        for (std::size_t t = 0; t < w.transfer.size(); ++t) all[o][t] = all[o][t] || all[p][t];
    }
    const auto sequence = random_permutation(w.transfer.size(), random);
    std::vector<bool> in(w.transfer.size(), false);
    std::int64_t m = 0, worst = 0;
    for (const std::uint32_t t : sequence) {
      std::int64_t f = 0;
      for (std::size_t o = 0; o < w.op.size(); ++o) {
        bool inside = true;
        for (std::size_t k = 0; k < in.size(); ++k) inside = inside && (in[k] || !all[o][k]);
        if (inside) f += w.op[o];
      }
      m += w.transfer[t];
      worst = std::max(worst, m - f);
      in[t] = true;
    }
    const std::int64_t makespan = std::accumulate(w.op.begin(), w.op.end(), std::int64_t{0}) + worst;
    for (const PoolRule rule : {PoolRule::Fifo, PoolRule::Random, PoolRule::Priority}) {
      const program::StepProgram p = w.compile(rule);
      const program::OrderTable order = w.order(sequence, random);
      Simulation s(p, order, 1);
      ASSERT_EQ(s.run(), Status::Reached);
      ASSERT_EQ(s.now(), Time::ps(1'000'000 * makespan)) << "trial " << trial << " rule " << static_cast<int>(rule);
    }
  }
}

// For ops in a chain no order of transfers beats the order of first use.
TEST(Theorems, OrderOfFirstUseIsBestForAChain) {
  RandomStream random(3, "simulation/t2");
  for (const test::Trial trial : test::Trials(200, 5'000)) {
    const OneWorker w = random_worker(random, true);
    const program::StepProgram p = w.compile(PoolRule::Fifo);
    std::vector<std::uint32_t> first_use;
    const auto use = [&](std::uint32_t t) {
      if (std::find(first_use.begin(), first_use.end(), t) == first_use.end()) first_use.push_back(t);
    };
    for (const auto& needs : w.needs)
      for (const std::uint32_t t : needs) use(t);
    for (std::uint32_t t = 0; t < w.transfer.size(); ++t) use(t);
    program::OrderTable order = w.order(first_use, random);
    Simulation s(p, order, 1);
    ASSERT_EQ(s.run(), Status::Reached);
    const Time fifo = s.now();
    std::vector<std::uint32_t> sequence(w.transfer.size());
    std::iota(sequence.begin(), sequence.end(), 0U);
    Time best = Time::never();
    do {
      order = w.order(sequence, random);
      s.reset(order, 1);
      ASSERT_EQ(s.run(), Status::Reached);
      best = std::min(best, s.now());
    } while (std::next_permutation(sequence.begin(), sequence.end()));
    ASSERT_EQ(fifo, best) << "trial " << trial;
  }
}

}  // namespace
}  // namespace stretto::testing
