// SPDX-License-Identifier: Apache-2.0
#include "study/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "experiment/runner.hpp"
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
  Exchange(const std::vector<bool>& stored, const Shard& shard) : stored_(stored), shard_(shard) {}

  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    while (!stopped_ && at_ < stored_.size()) {
      const std::size_t i = at_++;
      if (!stored_[i] && in_shard(shard_, i)) return i;
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
  const std::vector<bool>& stored_;
  const Shard shard_;
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

bool in_shard(const Shard& shard, std::uint64_t point) {
  if (shard.count <= 1) return true;
  // The place of the point in its block is shifted by a draw per block.
  const std::uint64_t block = point / shard.count;
  return (point % shard.count + hash_draw(stream_key(0, "shards"), block) % shard.count) % shard.count ==
         shard.index - 1;
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
  SweepRun run;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!in_shard(options.shard, i)) continue;
    ++run.total;
    if (stored[i]) ++run.before;
  }
  Exchange exchange(stored, options.shard);
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
