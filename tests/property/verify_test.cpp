// SPDX-License-Identifier: Apache-2.0
// The independent checker against the engine on random setups, orders and modes: the replay gives the engine's step
// ends, the engine's timeline passes the audit, and a timeline with a planted fault does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "experiment/check/job.hpp"
#include "experiment/check/verify.hpp"
#include "schedulers/check/replay.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/trials.hpp"

namespace stretto {
namespace {

using experiment::Setup;
using plan::Discipline;
using training::Synchronization;

struct Case {
  Setup setup;
  plan::Plan plan;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : stream_(seed, "tests/property/verify") {}
  std::int64_t upto(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(n) + 1));
  }
  bool one_in(std::int64_t n) { return upto(n - 1) == 0; }
  RandomStream& stream() { return stream_; }

  // Odd values, so that only what is equal by construction happens at one time.
  Bandwidth rate() {
    return one_in(5) ? Bandwidth::unlimited() : Bandwidth(8'000'000 + 8 * (upto(6'000'000) + upto(99)));
  }
  cluster::ServiceCost cost() {
    if (!one_in(3)) return {};
    return {Duration::ps(1 + upto(1'500'000)), one_in(2) ? 0 : static_cast<double>(upto(40'000)) + 0.25};
  }
  // All units the same in a quarter of the cases: then much ends at once.
  Case make(bool ties);

 private:
  void graph(Setup& setup, bool ties);
  void mode(Setup& setup);
  void cluster(Setup& setup);
  plan::DirectionOrder direction(const plan::Layout& layout, bool push);
  RandomStream stream_;
};

void Random::graph(Setup& setup, bool ties) {
  test::RandomGraphSpec spec;
  spec.shape = test::kShapes[stream_.below(test::kShapes.size())];
  spec.ops = static_cast<std::size_t>(2 + upto(8));
  spec.parameters = static_cast<std::size_t>(1 + upto(9));
  spec.training = !one_in(4);
  graph::Graph graph = test::random_graph(spec, stream_());
  if (!ties) {
    for (graph::Op& op : graph.ops) op.time = Duration::ps(op.time.ps() + upto(999'999));
    for (graph::Parameter& p : graph.parameters) p.bytes = p.bytes * 1000 + Bytes(upto(4000));
    for (graph::Op& op : graph.ops) op.time = op.time * 1000;
  }
  // Some variables are read by nobody, some frozen.
  if (one_in(4)) graph.parameters.push_back({"idle", Bytes(1 + upto(5000)), true, {}});
  if (one_in(4)) graph.parameters.front().gradient = {};
  setup.graph = std::make_shared<const graph::Graph>(std::move(graph));
  setup.training.mode = spec.training ? training::Mode::Training : training::Mode::Inference;
}

void Random::mode(Setup& setup) {
  setup.training.barrier = one_in(2);
  if (setup.training.mode == training::Mode::Inference) return;
  switch (upto(5)) {
    case 0:
      setup.training.synchronization = Synchronization::Async;
      setup.training.barrier = false;
      break;
    case 1:
      setup.training.synchronization = Synchronization::Ssp;
      setup.training.barrier = false;
      setup.training.staleness = static_cast<std::uint32_t>(upto(2));
      break;
    case 2:
      setup.training.synchronization = Synchronization::Local;
      break;
    default:
      break;
  }
  if (one_in(3)) setup.training.passes = static_cast<std::uint32_t>(1 + upto(2));
}

void Random::cluster(Setup& setup) {
  const bool equal = one_in(2);  // all workers and all servers alike
  cluster::Cluster& c = setup.cluster;
  const std::int64_t workers = 1 + upto(3);
  for (std::int64_t w = 0; w < workers; ++w) {
    cluster::Worker worker;
    if (equal && w > 0) {
      worker = c.workers.front();
    } else {
      worker.device.cores = one_in(4) ? 2 : 1;
      worker.device.speed = one_in(2) ? 1 : 0.7 + 0.01 * static_cast<double>(upto(60));
      worker.nic = {rate(), rate()};
      worker.threads = static_cast<std::uint32_t>(upto(2));
      worker.send = cost();
      worker.receive = cost();
      if (one_in(5)) worker.pcie = rate();
      if (one_in(4)) worker.device.copy_in = rate();
      if (one_in(4)) worker.device.copy_out = rate();
      if (one_in(8)) worker.device.copy_launch = Duration::ps(1 + upto(900'000));
    }
    worker.name = fmt::format("worker {}", w);
    worker.with_worker.reset();
    worker.port = static_cast<std::uint32_t>(upto(1));
    if (w > 0 && one_in(5)) {
      worker.with_worker = 0;
      worker.nic = c.workers.front().nic;
    }
    c.workers.push_back(worker);
  }
  const std::int64_t servers = 1 + upto(2);
  for (std::int64_t s = 0; s < servers; ++s) {
    cluster::Server server;
    if (equal && s > 0) {
      server = c.servers.front();
    } else {
      server.nic = {rate(), rate()};
      server.threads = static_cast<std::uint32_t>(upto(2));
      server.send = cost();
      server.receive = cost();
      if (one_in(2)) server.update_rate = rate();
      if (one_in(2)) server.aggregate_rate = rate();
    }
    server.name = fmt::format("server {}", s);
    server.port = static_cast<std::uint32_t>(upto(1));
    server.on_worker.reset();
    server.with_server.reset();
    if (one_in(6)) server.on_worker = static_cast<std::uint32_t>(upto(workers - 1));
    if (s > 0 && one_in(6)) {
      server.with_server = 0;
      server.on_worker = c.servers.front().on_worker;
    }
    c.servers.push_back(server);
  }
  c.network.latency = one_in(3) ? Duration() : Duration::ps(1 + upto(2'000'000));
  c.network.streams = static_cast<std::uint32_t>(upto(3));
  c.network.efficiency = one_in(2) ? 1 : 0.956;
  if (one_in(4)) c.network.rate_cap = rate();
  if (one_in(2)) c.network.loopback = rate();
  if (one_in(3))
    c.network.fabric = cluster::make_racks({rate(), rate()}, {rate(), rate()}, Duration::ps(upto(300'000)));
  if (one_in(4)) c.step_overhead = Duration::ps(1 + upto(5'000'000));
  if (one_in(6)) setup.training.input_time = Duration::ps(1 + upto(40'000'000'000));
}

plan::DirectionOrder Random::direction(const plan::Layout& layout, bool push) {
  constexpr std::array kDisciplines{Discipline::Strict,      Discipline::Priority,   Discipline::Credit,
                                    Discipline::ChainWindow, Discipline::CreditSkip, Discipline::Free};
  plan::DirectionOrder order;
  order.discipline = kDisciplines[static_cast<std::size_t>(upto(push ? 5 : 4))];
  if (order.discipline == Discipline::Free) return order;
  if (order.discipline == Discipline::Credit) order.credit = Bytes(1 + upto(one_in(2) ? 4000 : 40'000));
  if (order.discipline == Discipline::ChainWindow) order.window = static_cast<std::uint32_t>(1 + upto(3));
  if (order.discipline == Discipline::CreditSkip) {
    for (const plan::Transfer& t : layout.transfers) order.credit = std::max(order.credit, t.bytes);
    order.credit += Bytes(upto(order.credit.count() * 3));
  }
  order.rank = random_permutation(layout.transfers.size(), stream_);
  if (one_in(4))  // equal ranks
    for (std::uint32_t& rank : order.rank) rank /= 3;
  if (one_in(3))
    for (std::uint32_t& rank : order.rank)
      if (one_in(4)) rank = plan::kUnranked;
  return order;
}

Case Random::make(bool ties) {
  Case c;
  graph(c.setup, ties);
  mode(c.setup);
  cluster(c.setup);
  const bool cut = one_in(2);
  c.setup.placement = cut ? "partitioned" : "round_robin";
  if (cut) c.setup.placement_options.slice = Bytes(1 + upto(3000) + (ties ? 0 : 1500));
  if (cut && ties) c.setup.placement_options.slice = Bytes(4 * (1 + upto(3)));
  experiment::place(c.setup);
  c.plan.layout = c.setup.layout;
  c.plan.order.pull = direction(c.setup.layout, false);
  c.plan.order.push = direction(c.setup.layout, true);
  if (one_in(5))
    for (std::size_t w = 0; w < c.setup.cluster.workers.size(); ++w)
      c.plan.order.start_offsets.push_back(Duration::ps(upto(20'000'000'000)));
  return c;
}

std::string text(const std::optional<check::Violation>& v) { return v ? v->rule + ": " + v->text : ""; }

constexpr std::uint32_t kSteps = 4;

constexpr Duration kRounding = Duration::ps(200);

struct Compared {
  bool deadlock = false;
  bool ties = false;
  bool exact = false;
};

// Step ends of the replay and of the engine, whose timeline must pass the audit.
Compared compare(const Case& c) {
  const check::Job job = experiment::make_check_job(c.setup, c.plan);
  EXPECT_EQ(check::why_no_replay(job), "");
  const auto engine = experiment::run_for_check(c.setup, c.plan, kSteps);
  const check::Replay replay = check::replay(job, kSteps);
  Compared result;
  result.ties = replay.ties > 0;
  EXPECT_EQ(replay.finished, !engine.deadlock.has_value()) << engine.deadlock.value_or("");
  result.deadlock = !replay.finished || engine.deadlock;
  if (result.deadlock) return result;
  EXPECT_EQ(text(check::audit(job, engine.timeline)), "");
  EXPECT_EQ(replay.ends.size(), engine.timeline.ends.size());
  EXPECT_EQ(replay.events.size(), engine.timeline.events.size());
  const double difference = check::difference(replay.ends, engine.timeline.ends, kRounding);
  result.exact = difference <= experiment::kExact;
  if (result.exact) return result;
  const double spread = check::spread(job, kSteps, replay);
  EXPECT_LE(difference, std::max(experiment::kSpreads * spread, result.ties ? experiment::kTies : 0.0)) << spread;
  return result;
}

void compare_all(bool equal_units, std::uint64_t seeds) {
  std::uint64_t compared = 0;
  std::uint64_t with_ties = 0;
  std::uint64_t exact = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Compared c = compare(Random(seed).make(equal_units));
    if (c.deadlock) continue;
    ++compared;
    if (c.ties) ++with_ties;
    if (c.exact) ++exact;
  }
  EXPECT_GT(compared, seeds * 2 / 3);
  EXPECT_GT(with_ties, compared / 4);
  EXPECT_LT(with_ties, compared * 3 / 4);
  EXPECT_GT(exact, compared * 97 / 100);
}

TEST(Verify, ReplayIsTheEngine) { compare_all(false, test::trials(1200)); }
TEST(Verify, ReplayIsTheEngineWhereMuchHappensAtOnce) { compare_all(true, test::trials(400)); }

// The unordered and windowed disciplines are not replayed, and their timelines are audited all the same.
TEST(Verify, DrawnOrdersPassTheAudit) {
  for (const test::Trial seed : test::Trials(200)) {
    Random random(seed);
    Case c = random.make(false);
    for (plan::DirectionOrder* order : {&c.plan.order.pull, &c.plan.order.push}) {
      *order = {};
      order->discipline = random.one_in(2) ? Discipline::Window : Discipline::Unordered;
      if (order->discipline == Discipline::Unordered) continue;
      order->window = static_cast<std::uint32_t>(1 + random.upto(3));
      order->rank = random_permutation(c.plan.layout.transfers.size(), random.stream());
    }
    if (seed % 3 == 0) c.setup.cluster.network.model = cluster::LinkModel::Fifo;
    const check::Job job = experiment::make_check_job(c.setup, c.plan);
    EXPECT_NE(check::why_no_replay(job), "");
    const auto engine = experiment::run_for_check(c.setup, c.plan, kSteps, seed);
    if (!engine.deadlock) {
      EXPECT_EQ(text(check::audit(job, engine.timeline)), "");
    }
  }
}

// A fault is planted into a sound timeline; what it is must be said, whatever the case.
using Plant = std::function<bool(const check::Job&, check::Timeline&, Random&)>;  // false: cannot be planted here

check::Event* some(check::Timeline& timeline, Random& random, const std::function<bool(const check::Event&)>& fits) {
  std::vector<check::Event*> list;
  for (check::Event& e : timeline.events)
    if (fits(e)) list.push_back(&e);
  return list.empty() ? nullptr
                      : list[static_cast<std::size_t>(random.upto(static_cast<std::int64_t>(list.size()) - 1))];
}

bool is_message(const check::Event& e) {
  return e.what == check::Event::What::Pull || e.what == check::Event::What::Push;
}

constexpr Duration kFar = Duration::ps(1'000'000);

struct Planted {
  const char* name;
  std::vector<std::string> rules;  // any of them
  Plant plant;
};

std::vector<Planted> planted() {
  using What = check::Event::What;
  return {
      {"an event is missing",
       {"once"},
       [](const check::Job&, check::Timeline& t, Random& random) {
         t.events.erase(t.events.begin() + random.upto(static_cast<std::int64_t>(t.events.size()) - 1));
         return true;
       }},
      {"an event stands twice",
       {"once"},
       [](const check::Job&, check::Timeline& t, Random& random) {
         t.events.push_back(*some(t, random, [](const check::Event&) { return true; }));
         return true;
       }},
      {"an op is too short",
       {"duration"},
       [](const check::Job&, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [](const check::Event& x) {
           return x.what == What::Op && x.end - x.begin > Duration::ps(1000);
         });
         if (e != nullptr) e->begin = e->begin + Duration::ps(500);
         return e != nullptr;
       }},
      {"an op starts before its pull",
       {"dependency"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return x.what == What::Op && x.pass == 0 && !job.graph.ops[x.item].reads.empty();
         });
         if (e == nullptr) return false;
         const graph::ParameterId p = job.graph.ops[e->item].reads.front();
         const check::Event* pull = some(t, random, [&](const check::Event& x) {
           return x.what == What::Pull && x.step == e->step && x.worker == e->worker &&
                  job.layout.transfers[x.item].parameter == p;
         });
         const Duration length = e->end - e->begin;
         e->begin = pull->end + Duration::ps(-kFar.ps());
         e->ready = std::min(e->ready, e->begin);
         e->end = e->begin + length;
         return e->ready >= Time();
       }},
      {"a push is ready before its gradient",
       {"dependency"},
       [](const check::Job&, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [](const check::Event& x) { return x.what == What::Push; });
         if (e != nullptr) e->ready = Time();
         return e != nullptr;
       }},
      {"a message moves too fast",
       {"wire", "order"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           if (!is_message(x)) return false;
           return !job.channel(x.what == What::Push, x.worker, x.item).links.empty();
         });
         if (e != nullptr) e->begin = e->arrived;
         return e != nullptr;
       }},
      {"two messages cross a full link at one time",
       {"capacity", "wire"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         // One that came behind another moves together with it.
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return is_message(x) && x.arrived - x.begin > kFar &&
                  !job.channel(x.what == What::Push, x.worker, x.item).links.empty();
         });
         if (e == nullptr) return false;
         const auto& links = job.channel(e->what == What::Push, e->worker, e->item).links;
         const check::Event* other = some(t, random, [&](const check::Event& x) {
           if (!is_message(x) || &x == e || x.begin < e->arrived) return false;
           const auto& theirs = job.channel(x.what == What::Push, x.worker, x.item).links;
           return std::find(theirs.begin(), theirs.end(), links.front()) != theirs.end();
         });
         if (other == nullptr || job.streams != 0) return false;
         // All of the link's later traffic is one burst.
         for (check::Event& x : t.events) {
           if (!is_message(x) || x.begin < e->arrived) continue;
           const auto& theirs = job.channel(x.what == What::Push, x.worker, x.item).links;
           if (std::find(theirs.begin(), theirs.end(), links.front()) == theirs.end()) continue;
           x.arrived = std::min(x.arrived, x.begin + Duration::ps(kFar.ps()));
         }
         return true;
       }},
      {"two ops run on one core",
       {"device", "dependency", "end"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return x.what == What::Op && x.end - x.begin > kFar && job.pools[job.workers[x.worker].device].units == 1;
         });
         if (e == nullptr) return false;
         check::Event* other = some(t, random, [&](const check::Event& x) {
           return x.what == What::Op && &x != e && x.worker == e->worker && x.step == e->step &&
                  x.end - x.begin > kFar && x.begin >= e->end && x.ready <= e->begin;
         });
         if (other == nullptr) return false;
         const Duration length = other->end - other->begin;
         other->begin = e->begin;
         other->end = e->begin + length;
         return true;
       }},
      {"a step ends too late",
       {"end"},
       [](const check::Job&, check::Timeline& t, Random&) {
         for (auto& list : t.ends) list.back() = list.back() + kFar;
         return true;
       }},
      {"a step ends too early",
       {"end", "dependency"},
       [](const check::Job&, check::Timeline& t, Random&) {
         t.ends.front().back() = t.ends.front().back() + Duration::ps(-kFar.ps());
         return true;
       }},
      {"a message does not wait for its turn",
       {"order"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return is_message(x) && x.handed > x.ready + kFar && x.on_wire == x.handed &&
                  !plan::has_credit(job.direction(x.what == What::Push).discipline);
         });
         if (e != nullptr) e->handed = e->on_wire = e->ready;
         return e != nullptr;
       }},
      {"a message waits for no reason",
       {"order", "dependency"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return is_message(x) && x.handed == x.ready && x.ready > Time::ps(2 * kFar.ps()) &&
                  job.direction(x.what == What::Push).discipline == Discipline::Priority;
         });
         if (e != nullptr) e->ready = Time::ps(e->ready.ps() - kFar.ps());
         return e != nullptr;
       }},
      {"more than the credit is under way",
       {"order"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return is_message(x) && x.handed > x.ready + kFar && x.on_wire == x.handed &&
                  plan::has_credit(job.direction(x.what == What::Push).discipline);
         });
         if (e != nullptr) e->handed = e->on_wire = e->ready;
         return e != nullptr;
       }},
      {"a server thread does two things",
       {"threads", "end"},
       [](const check::Job& job, check::Timeline& t, Random& random) {
         check::Event* e = some(t, random, [&](const check::Event& x) {
           return x.what == What::Sum && x.end - x.begin > kFar &&
                  job.pools[job.servers[job.layout.transfers[x.item].server].threads].units == 1;
         });
         if (e == nullptr) return false;
         check::Event* other = some(t, random, [&](const check::Event& x) {
           return x.what == What::Sum && &x != e && x.step == e->step && x.end - x.begin > kFar && x.begin >= e->end &&
                  x.ready <= e->begin && job.layout.transfers[x.item].server == job.layout.transfers[e->item].server;
         });
         if (other == nullptr) return false;
         const Duration length = other->end - other->begin;
         other->begin = e->begin;
         other->end = e->begin + length;
         return true;
       }},
  };
}

TEST(Verify, EveryPlantedFaultIsNamed) {
  for (const Planted& fault : planted()) {
    SCOPED_TRACE(fault.name);
    std::uint64_t found = 0;
    for (std::uint64_t seed = 0; seed < 1200 && found < 20; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Case c = random.make(false);
      const check::Job job = experiment::make_check_job(c.setup, c.plan);
      auto engine = experiment::run_for_check(c.setup, c.plan, kSteps);
      if (engine.deadlock || !fault.plant(job, engine.timeline, random)) continue;
      ++found;
      const auto violation = check::audit(job, engine.timeline);
      ASSERT_TRUE(violation.has_value());
      EXPECT_NE(std::find(fault.rules.begin(), fault.rules.end(), violation->rule), fault.rules.end())
          << text(violation);
    }
    EXPECT_EQ(found, 20U);
  }
}

}  // namespace
}  // namespace stretto
