// SPDX-License-Identifier: Apache-2.0
// The independent checker of all-reduce against the engine on random setups and orders: its collectives are those of
// the engine, the replay gives the engine's step ends, the timeline passes the audit, and one with a fault does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <tuple>

#include "experiment/check/collectives.hpp"
#include "experiment/check/verify.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "models/training/collective.hpp"
#include "schedulers/check/replay.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/trials.hpp"

namespace stretto {
namespace {

using plan::Discipline;
using What = check::CollectiveEvent::What;

constexpr std::uint32_t kSteps = 4;

struct Case {
  experiment::Setup setup;
  plan::Plan plan;
};

plan::DirectionOrder direction(const plan::Layout& layout, RandomStream& random) {
  constexpr std::array kDisciplines{Discipline::Free,     Discipline::Strict,      Discipline::Priority,
                                    Discipline::Credit,   Discipline::ChainWindow, Discipline::CreditSkip,
                                    Discipline::Unordered};
  plan::DirectionOrder order;
  order.discipline = kDisciplines[random.below(kDisciplines.size())];
  if (!plan::traits(order.discipline).ranks) return order;
  if (order.discipline == Discipline::ChainWindow) order.window = static_cast<std::uint32_t>(1 + random.below(3));
  if (order.discipline == Discipline::Credit) order.credit = Bytes(1 + static_cast<std::int64_t>(random.below(60'000)));
  if (order.discipline == Discipline::CreditSkip)
    for (const Bytes bytes : plan::bucket_bytes(layout)) order.credit = std::max(order.credit, bytes * 2);
  order.rank = random_permutation(layout.transfers.size(), random);
  if (random.below(4) == 0)
    for (std::uint32_t& rank : order.rank) rank /= 3;
  if (random.below(4) == 0)
    for (std::uint32_t& rank : order.rank)
      if (random.below(3) == 0) rank = plan::kUnranked;
  return order;
}

// Odd sizes and times, so that only what is equal by construction happens at one time.
Case random_case(std::uint64_t seed) {
  RandomStream random(seed, "tests/property/verify_all_reduce");
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.below(n + 1)); };
  Case c;
  graph::Graph graph = test::random_graph({test::kShapes[random.below(4)], static_cast<std::size_t>(2 + upto(6)),
                                           static_cast<std::size_t>(1 + upto(7)), true, 6, 6},
                                          random());
  for (graph::Op& op : graph.ops) op.time = op.time * 1000 + Duration::ps(upto(999'999));
  for (graph::Parameter& p : graph.parameters) p.bytes = p.bytes * 1000 + Bytes(upto(4000));
  if (random.below(4) == 0) graph.parameters.front().gradient = {};
  if (std::none_of(graph.parameters.begin(), graph.parameters.end(),
                   [](const graph::Parameter& p) { return p.gradient.valid(); }))
    graph.parameters.front().gradient = graph::OpId(graph.ops.size() - 1);
  c.setup.graph = std::make_shared<const graph::Graph>(std::move(graph));
  training::Options& o = c.setup.training;
  o.exchange = training::Exchange::AllReduce;
  o.barrier = random.below(2) == 0;
  o.passes = static_cast<std::uint32_t>(1 + upto(1));
  if (random.below(5) == 0) o.input_time = Duration::us(upto(30'000));
  const std::uint32_t workers = static_cast<std::uint32_t>(1 + upto(5));
  o.all_reduce.algorithm = static_cast<training::Algorithm>(random.below(4));
  o.all_reduce.streams = static_cast<std::uint32_t>(1 + upto(2));
  std::uint32_t per_host = random.below(2) == 0 ? 1 : static_cast<std::uint32_t>(1 + upto(2));
  if (o.all_reduce.algorithm == training::Algorithm::Hierarchical)
    while (workers % std::min(per_host, workers) != 0) --per_host;
  o.all_reduce.per_round = Duration::ps(upto(2'000'000));
  const auto rate = [&] { return Bandwidth(8'000'000 + 8 * (upto(6'000'000) + upto(99))); };
  const std::optional<Bandwidth> nvlink = random.below(2) == 0 ? std::optional(rate()) : std::nullopt;
  const Bandwidth pcie = random.below(3) == 0 ? rate() : Bandwidth::unlimited();
  cluster::Cluster& cluster = c.setup.cluster;
  const bool equal = random.below(2) == 0;
  for (std::uint32_t w = 0; w < workers; ++w) {
    cluster::Worker worker = equal && w > 0 ? cluster.workers.front() : cluster::Worker();
    if (!equal || w == 0) {
      worker.nic = {rate(), rate()};
      worker.device.speed = random.below(2) == 0 ? 1 : 0.7 + 0.01 * static_cast<double>(upto(60));
      if (random.below(3) == 0) {
        worker.send = {Duration::ps(1 + upto(1'500'000)), 0.25};
        worker.receive = {Duration::ps(1 + upto(1'500'000)), 0};
        worker.threads = static_cast<std::uint32_t>(upto(1));
      }
    }
    worker.name = fmt::format("worker {}", w);
    worker.with_worker.reset();
    if (w % per_host != 0) worker.with_worker = w - w % per_host;
    worker.nvlink = nvlink;
    worker.nvlink_latency = nvlink ? Duration::us(2) : Duration();
    worker.pcie = pcie;
    cluster.workers.push_back(worker);
  }
  cluster.network.latency = Duration::ps(upto(2'000'000));
  if (random.below(3) == 0) cluster.network.rate_cap = rate();
  if (random.below(4) == 0) cluster.step_overhead = Duration::us(upto(5000));
  c.setup.fusion = Bytes(upto(30'000));
  c.setup.split = random.below(2) == 0;
  experiment::place(c.setup);
  if (random.below(3) == 0) {
    c.setup.layout = plan::partition(c.setup.layout, Bytes(2500));
    plan::fuse(*c.setup.graph, c.setup.layout, Bytes(upto(8000)));
    c.setup.layout.split = c.setup.split;
  }
  c.plan.layout = c.setup.layout;
  c.plan.order = {direction(c.plan.layout, random), direction(c.plan.layout, random), {}};
  if (random.below(5) == 0)
    for (std::uint32_t w = 0; w < workers; ++w) c.plan.order.start_offsets.push_back(Duration::us(upto(20'000)));
  return c;
}

std::string text(const std::optional<check::Violation>& v) { return v ? v->rule + ": " + v->text : ""; }

// Written from the definitions, by two hands.
TEST(VerifyAllReduce, CollectivesAreTheEngines) {
  for (std::uint32_t algorithm = 0; algorithm < 4; ++algorithm)
    for (std::uint32_t n = 1; n <= 17; ++n)
      for (std::uint32_t g = 1; g <= 4; ++g) {
        if (algorithm == 3 && n % std::min(g, n) != 0) continue;
        check::CollectiveJob job;
        job.algorithm = static_cast<check::Algorithm>(algorithm);
        job.per_host = g;
        job.workers.resize(n);
        for (const training::Part part : {training::Part::Whole, training::Part::Reduce, training::Part::Gather}) {
          const Bytes bytes(1001);
          const auto theirs = training::rounds({static_cast<training::Algorithm>(algorithm), part, n, g}, bytes);
          const auto ours = check::rounds(job, bytes, part != training::Part::Gather, part != training::Part::Reduce);
          ASSERT_EQ(ours.size(), theirs.size()) << algorithm << ' ' << n << ' ' << g;
          for (std::size_t r = 0; r < ours.size(); ++r) {
            std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> a, b;
            for (const auto& s : ours[r]) a.emplace_back(s.from, s.to, s.bytes.count());
            for (const auto& s : theirs[r]) b.emplace_back(s.from, s.to, s.bytes.count());
            std::sort(a.begin(), a.end());
            std::sort(b.begin(), b.end());
            ASSERT_EQ(a, b) << algorithm << ' ' << n << ' ' << g << ' ' << r;
          }
        }
      }
}

TEST(VerifyAllReduce, ReplayIsTheEngine) {
  std::uint64_t compared = 0;
  std::uint64_t exact = 0;
  for (const test::Trial seed : test::Trials(700)) {
    const Case c = random_case(seed);
    const check::CollectiveJob job = experiment::make_collective_job(c.setup, c.plan);
    const auto engine = experiment::run_collectives_for_check(c.setup, c.plan, kSteps);
    if (!engine.deadlock) {
      ASSERT_EQ(text(check::audit(job, engine.timeline)), "");
    }
    if (!check::why_no_replay(job).empty()) continue;
    const check::Machine machine{&job.pools, &job.links, {}};
    const auto replayed = [&](check::Variant variant) {
      return check::replay(machine, check::unroll(job, kSteps), variant);
    };
    const check::Replay replay = replayed(check::Variant::Plain);
    ASSERT_EQ(replay.finished, !engine.deadlock.has_value()) << engine.deadlock.value_or("");
    if (!replay.finished) continue;
    ++compared;
    const double difference = check::difference(replay.ends, engine.timeline.ends, Duration::ps(400));
    if (difference <= experiment::kExact) {
      ++exact;
      continue;
    }
    EXPECT_LE(difference, std::max(experiment::kSpreads * check::spread(replay, replayed),
                                   replay.ties > 0 ? experiment::kTies : 0.0));
  }
  EXPECT_GT(compared, test::trials(700) / 2);
  EXPECT_GT(exact, compared * 95 / 100);
  std::printf("%llu of %llu without a difference\n", static_cast<unsigned long long>(exact),
              static_cast<unsigned long long>(compared));
}

struct Planted {
  const char* name;
  std::vector<std::string> rules;  // any of them
  std::function<bool(const Case&, const check::CollectiveJob&, check::CollectiveTimeline&, RandomStream&)> plant;
};

constexpr Duration kFar = Duration::ps(1'000'000);

check::CollectiveEvent* some(check::CollectiveTimeline& timeline, RandomStream& random,
                             const std::function<bool(const check::CollectiveEvent&)>& fits) {
  std::vector<check::CollectiveEvent*> list;
  for (check::CollectiveEvent& e : timeline.events)
    if (fits(e)) list.push_back(&e);
  return list.empty() ? nullptr : list[random.below(list.size())];
}

std::vector<Planted> planted() {
  using Event = check::CollectiveEvent;
  using Job = check::CollectiveJob;
  using Timeline = check::CollectiveTimeline;
  return {
      {"an event is missing",
       {"once"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         t.events.erase(t.events.begin() + static_cast<std::ptrdiff_t>(random.below(t.events.size())));
         return true;
       }},
      {"an event stands twice",
       {"once"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         t.events.push_back(t.events[random.below(t.events.size())]);
         return true;
       }},
      {"a message carries too little",
       {"once"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [](const Event& x) { return x.what == What::Message; });
         if (e != nullptr) e->bytes = e->bytes - Bytes(1);
         return e != nullptr;
       }},
      {"an op is too short",
       {"duration"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [](const Event& x) { return x.what == What::Op && x.end - x.begin > kFar; });
         if (e != nullptr) e->begin = e->begin + Duration::ps(500);
         return e != nullptr;
       }},
      {"a collective begins before a gradient",
       {"dependency", "duration"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         Event* e = some(t, random,
                         [](const Event& x) { return x.what == What::Turn && !x.gather && x.ready > Time() + kFar; });
         if (e != nullptr) e->ready = Time();
         return e != nullptr;
       }},
      {"a round begins before the one before",
       {"dependency"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [](const Event& x) {
           return x.what == What::Message && x.round > 0 && x.ready > Time() + kFar;
         });
         if (e == nullptr) return false;
         e->ready = Time::ps(e->ready.ps() - kFar.ps());
         return true;
       }},
      {"a message moves too fast",
       {"wire"},
       [](const Case&, const Job& job, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [&](const Event& x) {
           return x.what == What::Message && x.arrived - x.begin > kFar &&
                  !job.channels[x.worker * job.ranks() + x.to].links.empty();
         });
         if (e != nullptr) e->arrived = e->begin;
         return e != nullptr;
       }},
      {"the order of turns is another one",
       {"order", "streams"},
       [](const Case&, const Job& job, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [&](const Event& x) {
           return x.what == What::Turn && x.handed > x.ready + kFar &&
                  job.direction(x.gather).discipline != Discipline::Free;
         });
         if (e != nullptr) e->handed = e->ready;
         return e != nullptr;
       }},
      {"a worker does more collectives than it has streams",
       {"streams", "dependency"},
       [](const Case&, const Job&, Timeline& t, RandomStream& random) {
         Event* e = some(t, random, [](const Event& x) { return x.what == What::Enter && x.begin > x.ready + kFar; });
         if (e != nullptr) e->begin = e->ready;
         return e != nullptr;
       }},
      {"a step ends too late",
       {"end"},
       [](const Case&, const Job&, Timeline& t, RandomStream&) {
         for (auto& list : t.ends) list.back() = list.back() + kFar;
         return true;
       }},
  };
}

TEST(VerifyAllReduce, EveryPlantedFaultIsNamed) {
  for (const Planted& fault : planted()) {
    SCOPED_TRACE(fault.name);
    std::uint64_t found = 0;
    for (std::uint64_t seed = 0; seed < 800 && found < 15; ++seed) {
      SCOPED_TRACE(seed);
      const Case c = random_case(seed);
      RandomStream random(seed, "tests/property/verify_all_reduce/faults");
      const check::CollectiveJob job = experiment::make_collective_job(c.setup, c.plan);
      auto engine = experiment::run_collectives_for_check(c.setup, c.plan, kSteps);
      if (engine.deadlock || !fault.plant(c, job, engine.timeline, random)) continue;
      ++found;
      const auto violation = check::audit(job, engine.timeline);
      ASSERT_TRUE(violation.has_value());
      EXPECT_NE(std::find(fault.rules.begin(), fault.rules.end(), violation->rule), fault.rules.end())
          << text(violation);
    }
    EXPECT_EQ(found, 15U);
  }
}

}  // namespace
}  // namespace stretto
