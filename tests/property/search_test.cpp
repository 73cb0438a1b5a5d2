// SPDX-License-Identifier: Apache-2.0
// Searches over orders: exact search against enumeration, proofs on random graphs, and what no search may do (get worse
// than its start, depend on threads or on interruptions).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "schedulers/search/forward.hpp"
#include "schedulers/search/moves.hpp"
#include "schedulers/search/peel.hpp"
#include "schedulers/search/search.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/trials.hpp"

namespace stretto::search {
namespace {

using Order = std::vector<std::uint32_t>;

bounds::ForwardProblem random_problem(RandomStream& random, std::size_t transfers, std::size_t ops, test::Shape shape) {
  test::RandomGraphSpec spec;
  spec.shape = shape;
  spec.ops = ops;
  spec.parameters = transfers;
  const graph::Graph g = test::random_graph(spec, random());
  std::vector<Duration> times;
  for (const graph::Parameter& p : g.parameters)
    times.push_back(Duration::ns(p.bytes.count() * static_cast<std::int64_t>(50 + random.below(300))));
  return bounds::forward_problem(g, times);
}

bounds::ForwardProblem random_problem(RandomStream& random, std::size_t transfers, std::size_t ops) {
  return random_problem(random, transfers, ops, test::kShapes[random.below(test::kShapes.size())]);
}

Duration enumerated(const bounds::ForwardProblem& problem) {
  Order order(problem.transfer.size());
  std::iota(order.begin(), order.end(), 0U);
  Duration best = kAbove;
  do best = std::min(best, bounds::makespan(problem, order));
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}

bool is_permutation_of_all(Order order) {
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

void check(const bounds::ForwardProblem& problem, const ForwardResult& result) {
  ASSERT_EQ(result.order.size(), problem.transfer.size());
  EXPECT_TRUE(is_permutation_of_all(result.order));
  EXPECT_EQ(bounds::makespan(problem, result.order), result.cost);
  EXPECT_LE(result.bound, result.cost);
  EXPECT_GE(result.bound, bounds::tail_bound(problem));
}

TEST(BestFirst, IsEnumeration) {
  RandomStream random(1, "search/enumeration");
  for (const test::Trial trial : test::Trials(400)) {
    const auto problem = random_problem(random, 1 + random.below(7), 1 + random.below(9));
    const Duration optimum = enumerated(problem);
    const ForwardResult exact = best_first(problem, 100'000);
    check(problem, exact);
    EXPECT_TRUE(exact.proven);
    EXPECT_EQ(exact.cost, optimum);
    const ForwardResult cut = best_first(problem, 1);
    check(problem, cut);
    EXPECT_LE(cut.bound, optimum);
    const ForwardResult wide = beam(problem, 4);
    check(problem, wide);
    EXPECT_LE(wide.bound, optimum);
    EXPECT_GE(wide.cost, optimum);
  }
}

// Never more than the optimum, never less than the tail bound; sometimes the optimum where that is not.
TEST(PeelBound, LiesBetweenTailBoundAndOptimum) {
  RandomStream random(1, "search/peel");
  std::uint64_t higher = 0;
  std::uint64_t exact = 0;
  for (const test::Trial trial : test::Trials(600)) {
    const auto problem = random_problem(random, 1 + random.below(7), 1 + random.below(12));
    std::vector<std::int64_t> time;
    for (const Duration m : problem.transfer) time.push_back(m.ps());
    std::vector<PeelGroup> groups;
    std::int64_t work = 0;
    for (std::size_t o = 0; o < problem.compute.size(); ++o) {
      PeelGroup group{problem.compute[o].ps(), {}};
      graph::for_each_bit(problem.needs.row(o),
                          [&](std::size_t r) { group.needs.push_back(static_cast<std::uint32_t>(r)); });
      work += group.work;
      if (!group.needs.empty()) groups.push_back(std::move(group));
    }
    std::int64_t free = work;
    for (const PeelGroup& group : groups) free -= group.work;
    std::uint64_t steps = 0;
    const Duration peeled = Duration::ps(work - free + peel_bound(time, groups, steps));
    const Duration bound = std::max(bounds::load_bound(problem), peeled);
    const Duration optimum = enumerated(problem);
    ASSERT_LE(bound, optimum);
    ASSERT_GE(bound, bounds::tail_bound(problem));
    higher += bound > std::max(bounds::tail_bound(problem), bounds::load_bound(problem)) ? 1 : 0;
    exact += bound == optimum ? 1 : 0;
  }
  EXPECT_GT(higher, test::trials(600) / 20);
  EXPECT_GT(exact, test::trials(600) / 2);
}

TEST(BestFirst, ProvesRandomGraphsOfUpToFortyTransfers) {
  RandomStream random(1, "search/forty");
  for (const test::Trial trial : test::Trials(200)) {
    const auto problem = random_problem(random, 5 + random.below(36), 5 + random.below(56));
    const ForwardResult exact = best_first(problem, 50'000);
    check(problem, exact);
    EXPECT_TRUE(exact.proven) << problem.transfer.size() << " transfers, " << exact.states << " states";
  }
}

// Graphs of one size and shape as models have them: every op reads a few variables, most of them one or two.
bounds::ForwardProblem sparse_problem(RandomStream& random, std::size_t transfers, test::Shape shape) {
  test::RandomGraphSpec spec;
  spec.shape = shape;
  spec.ops = transfers + random.below(transfers);
  spec.parameters = transfers;
  graph::Graph g = test::random_graph(spec, random());
  if (shape == test::Shape::Bipartite)
    for (graph::Op& op : g.ops) {
      op.reads.clear();
      for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
        const graph::ParameterId p(random.below(transfers));
        if (std::find(op.reads.begin(), op.reads.end(), p) == op.reads.end()) op.reads.push_back(p);
      }
    }
  std::vector<Duration> times;
  Duration sum;
  Duration work;
  for (const graph::Parameter& p : g.parameters) {
    times.push_back(Duration::ns(p.bytes.count() * static_cast<std::int64_t>(50 + random.below(300))));
    sum += times.back();
  }
  for (const graph::Op& op : g.ops) work += op.time;
  // Transfers take half of what the ops take, as much or twice as much.
  const double ratio = std::array{0.5, 1.0, 2.0}[random.below(3)];
  for (Duration& t : times) t = t.scaled(ratio * work.seconds() / sum.seconds());
  return bounds::forward_problem(g, times);
}

// The forward problem as the search sees an engine.
class Closed : public Evaluator {
 public:
  explicit Closed(const bounds::ForwardProblem& problem) : problem_(problem) {}
  Duration evaluate(const plan::Order& order, Duration stop_above) override {
    Order list(order.pull.rank.size());
    for (std::uint32_t t = 0; t < list.size(); ++t) list[order.pull.rank[t]] = t;
    const Duration cost = bounds::makespan(problem_, list);
    return cost <= stop_above ? cost : kAbove;
  }
  std::unique_ptr<Evaluator> clone() const override { return std::make_unique<Closed>(problem_); }

 private:
  const bounds::ForwardProblem& problem_;
};

plan::Layout layout_of(std::size_t transfers) {
  plan::Layout layout;
  layout.first.push_back(0);
  for (std::size_t t = 0; t < transfers; ++t) {
    layout.transfers.push_back({graph::ParameterId(t), 0, Bytes(4), 0});
    layout.first.push_back(static_cast<std::uint32_t>(t + 1));
  }
  return layout;
}

// What the whole search finds from the order of an exact search that did not end.
Duration searched(const bounds::ForwardProblem& forward, const ForwardResult& exact) {
  const Closed evaluator(forward);
  const plan::Layout layout = layout_of(forward.transfer.size());
  Problem problem;
  problem.evaluator = &evaluator;
  problem.layout = &layout;
  for (const Order& list : {exact.order, beam(forward, 128).order}) {
    plan::Order order;
    order.pull.discipline = plan::Discipline::Strict;
    order.pull.rank.resize(list.size());
    for (std::uint32_t place = 0; place < list.size(); ++place) order.pull.rank[list[place]] = place;
    problem.starts.push_back({"exact", order});
  }
  Options options;
  options.methods = {"local", "annealing"};
  options.evaluations = 40'000;
  return search(problem, options).cost;
}

// Two hundred graphs, of which the quick run takes a tenth.
TEST(BestFirst, TwoHundredRandomGraphs) {
  struct Size {
    std::size_t least, most, graphs;
  };
  const bool soak = test::soaks();
  RandomStream random(1, "search/two hundred");
  const std::array<std::pair<test::Shape, const char*>, 3> shapes{
      std::pair(test::Shape::Layered, "layered"), std::pair(test::Shape::SeriesParallel, "series-parallel"),
      std::pair(test::Shape::Bipartite, "bipartite")};
  std::printf("transfers shape graphs proven mean_gap_percent largest_gap_percent states\n");
  for (const Size size : {Size{5, 40, 90}, Size{41, 100, 30}, Size{101, 199, 30}, Size{200, 200, 60}}) {
    double sum = 0;
    std::size_t graphs = 0;
    for (const auto& [shape, name] : shapes) {
      double mine = 0;
      double most = 0;
      std::size_t proven = 0;
      std::uint64_t states = 0;
      const std::size_t n = size.graphs / 3 / (soak ? 1 : 10);
      for (std::size_t k = 0; k < n; ++k) {
        SCOPED_TRACE(fmt::format("{} {} {}", size.most, name, k));
        const auto problem = sparse_problem(random, size.least + random.below(size.most - size.least + 1), shape);
        const ForwardResult exact = best_first(problem, size.most <= 40 ? 1'000'000 : soak ? 20'000 : 2'000);
        check(problem, exact);
        const Duration cost = exact.proven ? exact.cost : searched(problem, exact);
        const double gap = 100 * (cost.seconds() / exact.bound.seconds() - 1);
        mine += gap;
        most = std::max(most, gap);
        proven += exact.proven ? 1 : 0;
        states += exact.states;
        EXPECT_TRUE(exact.proven || size.most > 40);
      }
      std::printf("%zu-%zu %s %zu %zu %.4f %.4f %llu\n", size.least, size.most, name, n, proven,
                  mine / static_cast<double>(std::max<std::size_t>(n, 1)), most,
                  static_cast<unsigned long long>(states));
      sum += mine;
      graphs += n;
    }
    EXPECT_LE(sum / static_cast<double>(graphs), 1) << size.least << " to " << size.most << " transfers";
  }
}

struct Fixture {
  bounds::ForwardProblem forward;
  Closed evaluator;
  plan::Layout layout;
  Problem problem;

  Fixture(RandomStream& random, std::size_t transfers)
      : forward(random_problem(random, transfers, transfers + 5)), evaluator(forward), layout(layout_of(transfers)) {
    problem.evaluator = &evaluator;
    problem.layout = &layout;
    for (int s = 0; s < 2; ++s) {
      plan::Order order;
      order.pull.discipline = plan::Discipline::Strict;
      order.pull.rank = random_permutation(transfers, random);
      problem.starts.push_back({fmt::format("start {}", s), order});
    }
  }
};

bool same(const State& a, const State& b) {
  return a.cost == b.cost && a.best.pull.rank == b.best.pull.rank && a.evaluations == b.evaluations &&
         a.found_by == b.found_by && a.done == b.done;
}

TEST(Search, NeverWorseThanItsStartsNorBetterThanTheBound) {
  RandomStream random(1, "search/never worse");
  std::uint64_t improved = 0;
  for (const test::Trial trial : test::Trials(60)) {
    Fixture f(random, 3 + random.below(20));
    for (const char* method : {"local", "annealing"}) {
      Options options;
      options.methods = {method};
      options.evaluations = 600;
      const State state = search(f.problem, options);
      ASSERT_TRUE(state.done);
      EXPECT_LE(state.evaluations, options.evaluations);
      const Duration start = *std::min_element(state.starts.begin(), state.starts.end());
      EXPECT_LE(state.cost, start);
      EXPECT_EQ(f.evaluator.evaluate(state.best, kAbove), state.cost);
      EXPECT_GE(state.cost, best_first(f.forward, 50'000).bound);
      improved += state.cost < start;
    }
  }
  EXPECT_GT(improved, test::trials(60) / 2);
}

TEST(Search, ThreadsAndInterruptionsChangeNothing) {
  RandomStream random(1, "search/threads");
  for (const test::Trial trial : test::Trials(12)) {
    Fixture f(random, 12 + random.below(20));
    Options options;
    options.methods = {"local", "annealing"};
    options.evaluations = 3'000;
    options.seed = trial;
    const State whole = search(f.problem, options);
    options.threads = 3;
    EXPECT_TRUE(same(search(f.problem, options), whole));
    State parts;
    std::uint64_t rounds = 0;
    while (!parts.done) {
      std::uint64_t until = ++rounds;
      options.after_round = [&](const State&) { return --until > 0; };
      parts = search(f.problem, options, std::move(parts));
    }
    EXPECT_GT(rounds, 3U);
    EXPECT_TRUE(same(parts, whole));
    options.after_round = nullptr;
    options.seed = trial + 1'000;
    EXPECT_FALSE(search(f.problem, options).best.pull.rank == whole.best.pull.rank && trial == 0);
  }
}

TEST(Search, EndsAtTheBound) {
  RandomStream random(1, "search/bound");
  for (const test::Trial trial : test::Trials(40)) {
    Fixture f(random, 3 + random.below(20));
    Relaxation relaxation;
    relaxation.pulls = f.forward;
    for (std::uint32_t t = 0; t < f.layout.transfers.size(); ++t) relaxation.pull.push_back({t});
    f.problem.relaxation = &relaxation;
    f.problem.bound = bounds::load_bound(f.forward);
    const State state = search(f.problem, {});
    EXPECT_TRUE(is_optimal(f.problem, state));
    EXPECT_LT(state.evaluations, 20U);
    EXPECT_EQ(state.cost, best_first(f.forward, 100'000).cost);
  }
}

TEST(Moves, KeepPermutationsAndUnrankedTransfers) {
  RandomStream random(1, "search/moves");
  plan::Order order;
  order.pull.discipline = plan::Discipline::Strict;
  order.pull.rank = {7, plan::kUnranked, 7, 2, 90};
  order.push.discipline = plan::Discipline::Credit;
  order.push.rank = {5, 4, 3, plan::kUnranked, plan::kUnranked};
  make_dense(order);
  EXPECT_EQ(order.pull.rank, (Order{1, plan::kUnranked, 2, 0, 3}));
  EXPECT_EQ(order.push.rank, (Order{2, 1, 0, plan::kUnranked, plan::kUnranked}));
  const std::vector<Wait> waits{{false, 4, Duration::us(3)}, {true, 0, Duration::us(1)}};
  std::size_t first = 0;
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(change(order, waits, random));
    for (const plan::DirectionOrder* d : {&order.pull, &order.push}) {
      Order ranks;
      for (const std::uint32_t rank : d->rank)
        if (rank != plan::kUnranked) ranks.push_back(rank);
      ASSERT_TRUE(is_permutation_of_all(ranks));
    }
    ASSERT_EQ(order.pull.rank[1], plan::kUnranked);
    ASSERT_EQ(order.push.rank[3], plan::kUnranked);
    first += order.pull.rank[4] == 0;
  }
  EXPECT_GT(first, 800U);  // the transfer that is waited for is drawn to the front
  plan::Order nothing;
  EXPECT_FALSE(change(nothing, {}, random));
}

}  // namespace
}  // namespace stretto::search
