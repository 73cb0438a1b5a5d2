// SPDX-License-Identifier: Apache-2.0
#include "study/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include "experiment/run/runner.hpp"
#include "experiment/run/sweep_costs.hpp"
#include "io/file/sha256.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "study/figures.hpp"

namespace stretto::study {

namespace {

constexpr auto kTick = std::chrono::milliseconds(100);

// Points out to threads, results back. Threads wait while kWaiting results have not been taken.
class Exchange {
 public:
  // `todo`: the points to run.
  explicit Exchange(const std::vector<bool>& todo) : todo_(todo) {}

  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    while (!stopped_ && at_ < todo_.size()) {
      const std::size_t i = at_++;
      if (todo_[i]) return i;
    }
    return std::nullopt;
  }

  void put(StoredPoint point) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopped_ || results_.size() < kWaiting; });
    results_.push_back(std::move(point));
    full_.notify_one();
  }

  void leave_out() {
    const std::scoped_lock lock(mutex_);
    ++left_out_;
  }

  void finished() {
    const std::scoped_lock lock(mutex_);
    ++finished_;
    full_.notify_one();
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    room_.notify_all();
  }

  struct Taken {
    std::vector<StoredPoint> points;
    std::size_t left_out = 0;  // in all
    bool end = false;
  };
  Taken take(std::size_t threads) {
    std::unique_lock lock(mutex_);
    full_.wait_for(lock, kTick, [&] { return !results_.empty() || finished_ == threads; });
    Taken taken{std::move(results_), left_out_, finished_ == threads};
    results_.clear();
    room_.notify_all();
    return taken;
  }

 private:
  const std::vector<bool>& todo_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable full_;
  std::vector<StoredPoint> results_;
  std::size_t at_ = 0;
  std::size_t left_out_ = 0;
  std::size_t finished_ = 0;
  bool stopped_ = false;
};

// Stops and joins the threads on every way out.
class Crew {
 public:
  Crew(Exchange& exchange, std::size_t n, const std::function<void()>& work) : exchange_(exchange) {
    for (std::size_t t = 0; t < n; ++t) threads_.emplace_back(work);
  }
  ~Crew() { exchange_.stop(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

 private:
  Exchange& exchange_;
  std::vector<std::jthread> threads_;
};

void fail(StoredPoint& stored, std::string error) {
  stored.status = PointStatus::Failed;
  stored.error = std::move(error);
  stored.results.clear();
}

// None where a constraint leaves the point out.
std::optional<StoredPoint> run_point(experiment::SweepPoints& points, std::size_t i, const SweepInfo& sweep,
                                     experiment::Workloads& workloads, const std::function<double()>& clock) {
  StoredPoint stored;
  stored.index = static_cast<std::int64_t>(i);
  stored.values = points.values(i);
  const double start = clock();
  try {
    std::optional<experiment::Point> point = points.point(i);
    if (!point) return std::nullopt;
    stored.key = file::sha256_hex(sweep.version + '\n' + sweep.inputs + '\n' + experiment::effective_yaml(point->spec));
    experiment::Experiment one;
    one.points.push_back(std::move(*point));
    experiment::RunOptions options;
    options.advice = false;
    options.threads = 1;
    options.workloads = &workloads;
    stored.results = stored_results(experiment::run(one, options, {}).result);
    for (const StoredResult& r : stored.results)
      if (!r.deadlock.empty()) stored.status = PointStatus::Deadlock;
  } catch (const UserError& e) {
    fail(stored, render(e.diagnostics()));
  } catch (const OutOfRange& e) {
    fail(stored, fmt::format("goes beyond what can be counted ({})", e.what()));
  } catch (const std::bad_alloc&) {
    fail(stored, "out of memory");
  } catch (const std::exception& e) {
    fail(stored, fmt::format("this is a bug in stretto: {}", e.what()));
  }
  stored.seconds = clock() - start;
  return stored;
}

}  // namespace

std::vector<std::uint32_t> divide(const std::vector<std::uint64_t>& costs, std::uint64_t shards) {
  STRETTO_ASSERT(shards > 0 && costs.size() <= std::numeric_limits<std::uint32_t>::max(), "{} shards", shards);
  std::vector<std::uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t stream = stream_key(0, "shards");
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (costs[a] != costs[b]) return costs[a] > costs[b];
    const std::uint64_t drawn_a = hash_draw(stream, a);
    const std::uint64_t drawn_b = hash_draw(stream, b);
    return drawn_a != drawn_b ? drawn_a < drawn_b : a < b;
  });
  using Load = std::pair<std::uint64_t, std::uint32_t>;  // cost so far, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint64_t s = 1; s <= shards; ++s) loads.emplace(0, static_cast<std::uint32_t>(s));
  std::vector<std::uint32_t> shard(costs.size());
  for (const std::uint32_t i : order) {
    const auto [load, least] = loads.top();
    loads.pop();
    shard[i] = least;
    loads.emplace(load + costs[i], least);
  }
  return shard;
}

std::vector<ShardLoad> shard_loads(const std::vector<std::uint64_t>& costs, std::uint64_t shards) {
  std::vector<ShardLoad> loads(shards);
  const std::vector<std::uint32_t> shard = divide(costs, shards);
  const auto all = static_cast<double>(std::accumulate(costs.begin(), costs.end(), std::uint64_t{0}));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    ++loads[shard[i] - 1].points;
    loads[shard[i] - 1].share += static_cast<double>(costs[i]) / all;
  }
  return loads;
}

std::string version_text(const Program& program) { return fmt::format("{} ({})", program.version, program.commit); }

Program program_of(const SweepInfo& sweep) {
  const std::string& text = sweep.version;
  const std::size_t bracket = text.find(" (");
  if (bracket == std::string::npos) return {text, ""};
  return {text.substr(0, bracket), text.substr(bracket + 2, text.size() - bracket - 3)};
}

SweepInfo describe(const experiment::SweepPoints& points, const std::string& version) {
  SweepInfo info;
  info.name = points.first().spec.name;
  info.version = version;
  info.configuration = points.configuration();
  for (const experiment::InputFile& f : experiment::hash_inputs(points.inputs()))
    info.inputs += f.sha256 + "  " + f.path + '\n';
  info.paths = points.paths();
  info.size = static_cast<std::int64_t>(points.size());
  info.hash = sweep_hash(info);
  return info;
}

std::vector<experiment::InputFile> inputs_of(const SweepInfo& sweep) {
  std::vector<experiment::InputFile> inputs;
  for (std::size_t at = 0; at < sweep.inputs.size();) {
    const std::size_t end = std::min(sweep.inputs.find('\n', at), sweep.inputs.size());
    const std::string line = sweep.inputs.substr(at, end - at);
    const std::size_t gap = line.find("  ");
    if (gap != std::string::npos) inputs.push_back({line.substr(gap + 2), line.substr(0, gap)});
    at = end + 1;
  }
  return inputs;
}

SweepRun run_sweep(const experiment::SweepPoints& points, const SweepInfo& sweep, Store& store,
                   const SweepOptions& options) {
  STRETTO_ASSERT(options.threads > 0 && options.clock, "{} threads", options.threads);
  const std::vector<bool> stored = store.stored(sweep);
  const std::vector<std::uint32_t> shard =
      options.shard.count > 1 ? divide(experiment::sweep_costs(points, options.threads), options.shard.count)
                              : std::vector<std::uint32_t>(stored.size(), 1);
  std::vector<bool> todo(stored.size());
  SweepRun run;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (shard[i] != options.shard.index) continue;
    ++run.total;
    if (stored[i]) ++run.before;
    todo[i] = !stored[i];
  }
  Exchange exchange(todo);
  const auto work = [&] {
    experiment::SweepPoints mine = points;
    experiment::Workloads workloads;
    while (const auto i = exchange.next()) {
      if (auto point = run_point(mine, *i, sweep, workloads, options.clock))
        exchange.put(std::move(*point));
      else
        exchange.leave_out();
    }
    exchange.finished();
  };
  const double start = options.clock();
  SweepProgress progress;
  progress.total = run.total;
  const Crew crew(exchange, options.threads, work);
  for (bool end = false; !end;) {
    const Exchange::Taken taken = exchange.take(options.threads);
    end = taken.end;
    if (!taken.points.empty()) store.add(sweep.id, taken.points);
    run.run += taken.points.size();
    run.left_out = taken.left_out;
    for (const StoredPoint& p : taken.points)
      if (p.status != PointStatus::Done) ++progress.failed;
    progress.run = run.run;
    progress.done = run.before + run.run + run.left_out;
    const double seconds = options.clock() - start;
    const std::size_t fresh = run.run + run.left_out;
    if (fresh > 0 && seconds > 0) {
      progress.per_second = static_cast<double>(fresh) / seconds;
      progress.seconds_left = static_cast<double>(run.total - progress.done) / progress.per_second;
    }
    if (!options.progress || run.interrupted || options.progress(progress)) continue;
    run.interrupted = true;
    exchange.stop();  // points under way are waited for and stored
  }
  return run;
}

}  // namespace stretto::study
