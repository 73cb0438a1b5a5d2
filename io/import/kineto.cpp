// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "io/import/kineto_format.hpp"
#include "io/import/kineto_ranks.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using graph::OpId;
using graph::Phase;

constexpr std::size_t kNameLength = 60;

double ms(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// The launch with a kernel's correlation; none if it is not in the trace.
const KinetoSpan* launch_of(const KinetoTrace& trace, const KinetoKernel& k) {
  if (!k.correlation) return nullptr;
  const auto it = std::lower_bound(trace.launches.begin(), trace.launches.end(), *k.correlation,
                                   [](const KinetoSpan& s, std::int64_t c) { return s.correlation < c; });
  return it != trace.launches.end() && it->correlation == *k.correlation ? &*it : nullptr;
}

// Begins of the kernels' launches; of the kernels themselves where these are not known.
std::int64_t launched_at(const KinetoTrace& trace, const KinetoKernel& k) {
  const KinetoSpan* const launch = launch_of(trace, k);
  return launch != nullptr ? launch->start_ns : k.start_ns;
}

std::vector<KinetoKernel> choose_step(const KinetoTrace& trace, const std::string& path, ImportReport& report) {
  if (trace.steps.empty()) {
    report.guessed.emplace_back("the whole trace is one step: it has no ProfilerStep");
    return trace.kernels;
  }
  std::vector<KinetoSpan> steps(trace.steps.begin() + (trace.steps.size() > 1 ? 1 : 0), trace.steps.end());
  std::stable_sort(steps.begin(), steps.end(), [](const KinetoSpan& a, const KinetoSpan& b) {
    return a.end_ns - a.start_ns < b.end_ns - b.start_ns;
  });
  // From the median on the first one that has kernels; then those before it, and at last the first of the trace.
  std::rotate(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2), steps.end());
  if (trace.steps.size() > 1) steps.push_back(trace.steps.front());
  for (const KinetoSpan& step : steps) {
    std::vector<KinetoKernel> kernels;
    for (const KinetoKernel& k : trace.kernels) {
      const std::int64_t at = launched_at(trace, k);
      if (at >= step.start_ns && at < step.end_ns) kernels.push_back(k);
    }
    if (kernels.empty()) continue;
    report.read.push_back(fmt::format("{} of {} steps: {}", step.name, trace.steps.size(),
                                      fmt::format("{:.3f} ms", ms(step.end_ns - step.start_ns))));
    if (trace.steps.size() > 1)
      report.dropped.push_back(fmt::format("{} kernels of other steps", trace.kernels.size() - kernels.size()));
    return kernels;
  }
  refuse_file(path, "no kernel was launched within a ProfilerStep", "are runtime events (cuda_runtime) in the trace?");
}

// "5 sendrecv, 2 allgather"
std::string listed(const std::map<std::string, std::size_t>& kinds) {
  std::string text;
  for (const auto& [kind, n] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, kind);
  return text;
}

// Kernels that are left out, and NCCL kernels that cannot be.
std::vector<KinetoKernel> sort_out(std::vector<KinetoKernel> kernels, const std::string& path, ImportReport& report) {
  std::map<std::string, std::size_t> lost;
  std::map<std::string, std::size_t> kept_kinds;
  double kept_ms = 0;
  std::size_t dropped = 0;
  std::size_t sizeless = 0;
  std::vector<KinetoKernel> kept;
  for (KinetoKernel& k : kernels) {
    if (k.collective && (k.collective->kind == "broadcast" || k.collective->kind == "barrier")) {
      ++dropped;
      continue;
    }
    if (k.collective && k.collective->kind != "allreduce") {
      if (k.transfer_ns) {
        kept_ms += ms(*k.transfer_ns);
        ++kept_kinds[std::string(k.collective->kind)];
        k.duration_ns = *k.transfer_ns;
        k.collective.reset();
      } else {
        ++lost[std::string(k.collective->kind)];
      }
    }
    if (k.collective && k.collective->kind == "allreduce" && k.collective->bytes.value_or(0) <= 0) ++sizeless;
    kept.push_back(std::move(k));
  }
  if (!lost.empty()) {
    refuse_file(
        path, fmt::format("NCCL kernels of a step move what a workload cannot hold: {}", listed(lost)),
        "a workload has gradients that are summed over all workers: all-reduces; with the traces of other ranks "
        "(--rank) others are kept as ops of fixed time");
  }
  if (!kept_kinds.empty())
    report.guessed.push_back(
        fmt::format("{} are ops of their least time over the ranks, {:.3f} ms: another network "
                    "does not change them",
                    listed(kept_kinds), kept_ms));
  if (sizeless > 0)
    refuse_file(path, fmt::format("{} NCCL all-reduces do not say their size (\"In msg nelems\", \"dtype\")", sizeless),
                "PyTorch 2.2 or later writes it");
  if (dropped > 0) report.dropped.push_back(fmt::format("{} NCCL broadcasts or barriers", dropped));
  return kept;
}

std::string short_name(std::size_t number, std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return fmt::format("{} {}", number, name.substr(0, std::min(name.find('<'), kNameLength)));
}

// Was the kernel launched inside the backward pass?
bool in_backward(const KinetoTrace& trace, const KinetoKernel& k) {
  const KinetoSpan* const launch = launch_of(trace, k);
  if (launch == nullptr) return false;
  // The last span of the thread that begins no later; spans of one thread may contain each other.
  auto it = std::upper_bound(trace.backward.begin(), trace.backward.end(), *launch,
                             [](const KinetoSpan& a, const KinetoSpan& b) {
                               return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
                             });
  if (it == trace.backward.begin()) return false;
  --it;
  return it->thread == launch->thread && launch->start_ns < it->end_ns;
}

class Builder {
 public:
  Builder(const KinetoTrace& trace, const std::vector<KinetoKernel>& kernels) : trace_(trace), kernels_(kernels) {}

  void build(graph::Graph& g, ImportReport& report) {
    make_ops(g);
    make_phases(g, report);
    make_reads(g, report);
    if (streams_ > 1) report.guessed.emplace_back("an op waits for what had ended on other streams before it began");
  }

  // Times of the step in which no kernel ran.
  std::string idle_text() const {
    std::int64_t covered = 0;
    std::int64_t until = kernels_.front().start_ns;
    for (const KinetoKernel& k : kernels_) {
      covered += std::max<std::int64_t>(0, k.end_ns() - std::max(until, k.start_ns));
      until = std::max(until, k.end_ns());
    }
    return fmt::format("{:.3f} ms in which the device was idle", ms(until - kernels_.front().start_ns - covered));
  }

  // Of a graph that has passed graph::check, so that its sums fit.
  void report_totals(const graph::Graph& g, ImportReport& report) const {
    double busy_ms = 0;
    double waiting_ms = 0;
    std::int64_t bytes = 0;
    for (const KinetoKernel& k : kernels_) {
      (reduces(k) ? waiting_ms : busy_ms) += ms(k.duration_ns);
      if (reduces(k)) bytes += *k.collective->bytes;
    }
    report.read.push_back(fmt::format("{} ops on {} streams, {:.3f} ms; {} all-reduces of {} bytes",
                                      g.ops.size() - g.parameters.size(), streams_, busy_ms, g.parameters.size(),
                                      bytes));
    report.dropped.push_back(idle_text());
    if (waiting_ms > 0)
      report.dropped.push_back(fmt::format(
          "{:.3f} ms of the all-reduces, waiting for other ranks included: the network gives it", waiting_ms));
    double least_ms = 0;
    double least_bytes = 0;
    for (const KinetoKernel& k : kernels_)
      if (reduces(k) && k.transfer_ns) {
        least_ms += ms(*k.transfer_ns);
        least_bytes += static_cast<double>(*k.collective->bytes);
      }
    if (least_ms > 0)
      report.read.push_back(
          fmt::format("the all-reduces moved {:.0f} bytes in {:.3f} ms (least over the ranks), {:.3f} "
                      "GB/s",
                      least_bytes, least_ms, least_bytes / least_ms * 1e-6));
  }

 private:
  static bool reduces(const KinetoKernel& k) { return k.collective.has_value(); }

  // Kernels are ordered by begin, so what had ended at a begin is found by going forward in each stream.
  void make_ops(graph::Graph& g) {
    struct Lane {
      OpId last;                                        // begun last
      std::set<std::pair<std::int64_t, OpId>> running;  // by end
      OpId done;                                        // of those that had ended, the one that ended last
    };
    std::map<std::string_view, Lane> lanes;
    for (const KinetoKernel& k : kernels_) {
      const OpId id(g.ops.size());
      graph::Op op;
      for (auto& [stream, lane] : lanes) {
        while (!lane.running.empty() && lane.running.begin()->first <= k.start_ns) {
          lane.done = lane.running.begin()->second;
          lane.running.erase(lane.running.begin());
        }
        const bool own = !reduces(k) && stream == k.stream;
        const OpId before = own ? lane.last : lane.done;
        if (before != OpId::none()) op.inputs.push_back(before);
      }
      if (reduces(k)) {
        graph::Parameter p;
        op.name = p.name = fmt::format("all-reduce {}", g.parameters.size());
        p.bytes = Bytes(*k.collective->bytes);
        p.gradient = id;
        g.parameters.push_back(std::move(p));
      } else {
        op.name = short_name(g.ops.size(), k.name);
        op.time = Duration::ns(k.duration_ns);
        Lane& lane = lanes[k.stream];
        lane.last = id;
        lane.running.emplace(k.end_ns(), id);
      }
      g.ops.push_back(std::move(op));
    }
    streams_ = lanes.size();
  }

  void make_phases(graph::Graph& g, ImportReport& report) const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < kernels_.size() && !first; ++i)
      if (!reduces(kernels_[i]) && in_backward(trace_, kernels_[i])) first = i;
    if (first) {
      // Inputs stand before their op, so that nothing later is forward.
      for (std::size_t i = *first; i < g.ops.size(); ++i) g.ops[i].phase = Phase::Backward;
    }
    bool guessed = false;
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
      graph::Op& op = g.ops[i];
      if (!reduces(kernels_[i])) continue;
      guessed = guessed || op.phase == Phase::Forward;
      op.phase = Phase::Backward;
      if (!first)
        for (const OpId input : op.inputs) g.ops[input.index()].phase = Phase::Backward;
    }
    for (graph::Op& op : g.ops)
      if (std::any_of(op.inputs.begin(), op.inputs.end(),
                      [&](OpId i) { return g.ops[i.index()].phase == Phase::Backward; }))
        op.phase = Phase::Backward;
    if (guessed) report.guessed.emplace_back("backward are the ops before all-reduces, and all that depends on them");
    if (!first && g.parameters.empty())
      report.guessed.emplace_back("all ops are forward: no kernel was launched by autograd");
  }

  static void make_reads(graph::Graph& g, ImportReport& report) {
    if (g.parameters.empty()) {
      report.guessed.emplace_back("there are no parameters: the step has no NCCL all-reduce that would say their size");
      return;
    }
    graph::Op& reader = g.ops.front();
    if (reader.phase != Phase::Forward) return;
    for (std::size_t p = 0; p < g.parameters.size(); ++p) reader.reads.emplace_back(p);
    report.guessed.push_back("the first op reads all parameters: the trace does not say who reads which");
  }

  const KinetoTrace& trace_;
  const std::vector<KinetoKernel>& kernels_;
  std::size_t streams_ = 0;
};

ImportResult to_workload(const KinetoTrace& trace, ImportReport report, const std::string& path,
                         const ImportOptions& options) {
  ImportResult result;
  result.report = std::move(report);
  if (trace.kernels.empty()) kineto::refuse_no_work(path, trace.timeless_works, "profile with ProfilerActivity.CUDA");
  const std::vector<KinetoKernel> kernels = sort_out(choose_step(trace, path, result.report), path, result.report);
  if (kernels.empty()) refuse_file(path, "the step has only broadcasts and barriers");
  result.device = "gpu";
  Builder builder(trace, kernels);
  builder.build(result.graph, result.report);
  finish_graph(result, path, options, {"kineto", "PyTorch Kineto trace", "trace", builder.idle_text()});
  builder.report_totals(result.graph, result.report);
  return result;
}

double computing_ms(const KinetoTrace& trace) {
  std::int64_t sum = 0;
  for (const KinetoKernel& k : trace.kernels) sum += k.collective ? 0 : k.duration_ns;
  return ms(sum);
}

// Aligns the further ranks with the first and says what they add.
void match_ranks(KinetoTrace& trace, const std::string& path, const ImportOptions& options, ImportReport& report) {
  if (options.rank_paths.empty()) return;
  const double own_ms = computing_ms(trace);
  report.read.push_back(fmt::format("{} ranks; {} computes {:.3f} ms", options.rank_paths.size() + 1,
                                    escape_control(leaf_of(path)), own_ms));
  check_rank_paths(path, options.rank_paths);
  for (const std::string& other_path : options.rank_paths) {
    ImportReport other_report;
    const KinetoTrace other = read_kineto_file(other_path, other_report);
    const auto match = match_rank(trace, other);
    if (!match)
      refuse_file(other_path,
                  fmt::format("its collectives do not match those of {}: no offset of the clocks is certain",
                              escape_control(path)),
                  "the files must be of the same steps of one job, each of one rank");
    report.read.push_back(fmt::format(
        "{}: clock {:+.3f} us, {} of {} collectives matched; computes {:.3f} ms ({:+.1f} %)",
        escape_control(leaf_of(other_path)), static_cast<double>(match->offset_ns) * 1e-3, match->pairs,
        match->collectives, computing_ms(other), own_ms > 0 ? (computing_ms(other) / own_ms - 1) * 100 : 0.0));
    for (const std::string& note : other_report.repaired)
      report.repaired.push_back(fmt::format("{}: {}", escape_control(leaf_of(other_path)), note));
  }
}

}  // namespace

ImportResult import_kineto(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportReport report;
  KinetoTrace trace = read_kineto(text, path, report);
  match_ranks(trace, path, options, report);
  return to_workload(trace, std::move(report), path, options);
}

ImportResult import_kineto_file(const std::string& path, const ImportOptions& options) {
  ImportReport report;
  KinetoTrace trace = read_kineto_file(path, report);
  match_ranks(trace, path, options, report);
  return to_workload(trace, std::move(report), path, options);
}

}  // namespace stretto::io
