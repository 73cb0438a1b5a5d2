// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "io/import/kineto_format.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kHead = std::size_t{1} << 18;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr std::string_view kBackward = "autograd::engine::evaluate_function";

constexpr std::array<std::pair<std::string_view, std::int64_t>, 17> kTypes = {{{"float", 4},
                                                                               {"float32", 4},
                                                                               {"half", 2},
                                                                               {"float16", 2},
                                                                               {"bfloat16", 2},
                                                                               {"double", 8},
                                                                               {"float64", 8},
                                                                               {"int", 4},
                                                                               {"int32", 4},
                                                                               {"long", 8},
                                                                               {"int64", 8},
                                                                               {"short", 2},
                                                                               {"byte", 1},
                                                                               {"char", 1},
                                                                               {"bool", 1},
                                                                               {"float8_e4m3fn", 1},
                                                                               {"float8_e5m2", 1}}};

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" -> "allreduce"; "" for other kernels.
std::string collective_of(std::string_view name) {
  if (!same_word(name.substr(0, 4), "nccl") && !same_word(name.substr(0, 4), "rccl")) return "";
  const std::string text = lower_case(name);
  const std::size_t begin = text.find("kernel_");
  if (begin == std::string::npos) return "unknown";
  const std::string_view rest = std::string_view(text).substr(begin + 7);
  return std::string(rest.substr(0, rest.find_first_of("_(")));
}

// An event's members, in the order of kKeys; absent ones are null.
constexpr std::array<std::string_view, 12> kKeys = {"ph",
                                                    "cat",
                                                    "name",
                                                    "pid",
                                                    "tid",
                                                    "ts",
                                                    "dur",
                                                    "args/stream",
                                                    "args/correlation",
                                                    "args/Collective name",
                                                    "args/dtype",
                                                    "args/In msg nelems"};
enum Key : std::size_t {
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kStart,
  kLength,
  kStream,
  kCorrelation,
  kKind,
  kType,
  kCount,
  kKeyCount
};

using Cells = std::vector<json::Cell>;

struct Counts {
  std::size_t events = 0;
  std::size_t timeless = 0;  // X events without usable times
  std::size_t copies = 0;
  std::size_t text_times = 0;
};

class Keeper {
 public:
  Keeper(KinetoTrace& trace, Counts& counts) : trace_(trace), counts_(counts) {}

  void take(const Cells& e) {
    ++counts_.events;
    if (e[kPhase].text != "X") return;
    const std::string_view category = e[kCategory].text;
    const bool device = kineto::is_device_work(category);
    const bool launch = kineto::is_runtime_call(category) || same_word(category, "runtime");
    const bool backward = e[kName].text.starts_with(kBackward);
    const bool step = same_word(category, "user_annotation") && e[kName].text.starts_with("ProfilerStep");
    if (!device && !launch && !backward && !step) return;
    const auto start = time(e[kStart]);
    const auto length = time(e[kLength]);
    if (!kineto::usable(start, length)) {
      ++counts_.timeless;
      if (device) ++trace_.timeless_works;
      return;
    }
    if (device) {
      keep_kernel(e, *start, *length, same_word(category, "kernel"));
      return;
    }
    const auto correlation = kineto::whole_of(e[kCorrelation]);
    if (launch && !step && !backward && !correlation) return;
    const KinetoSpan span{step ? trace_.keep(e[kName].text) : std::string_view(), joined(e[kProcess], e[kThread]),
                          *start, *start + *length, correlation.value_or(0)};
    (step ? trace_.steps : backward ? trace_.backward : trace_.launches).push_back(span);
  }

 private:
  std::optional<std::int64_t> time(const json::Cell& cell) {
    const auto value = kineto::time_of(cell);
    if (value && cell.kind == json::Kind::String) ++counts_.text_times;
    return value;
  }

  std::string_view joined(const json::Cell& a, const json::Cell& b) {
    scratch_.assign(a.text).append("/").append(b.text);
    return trace_.keep(scratch_);
  }

  void keep_kernel(const Cells& e, std::int64_t start, std::int64_t length, bool kernel) {
    KinetoKernel k;
    k.stream = joined(e[kProcess], kineto::stream_of(e[kStream], e[kThread]));
    k.start_ns = start;
    k.duration_ns = length;
    k.correlation = kineto::whole_of(e[kCorrelation]);
    if (kernel) {
      const std::string kind = e[kKind].text.empty() ? collective_of(e[kName].text) : lower_case(e[kKind].text);
      if (!kind.empty()) {
        KinetoCollective c;
        c.kind = trace_.keep(kind);
        const std::string name = lower_case(e[kType].text);
        const auto* const type =
            std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.first == name; });
        const auto elements = kineto::whole_of(e[kCount]);
        if (elements && type != kTypes.end() && *elements >= 0 && *elements <= kMostElements)
          c.bytes = *elements * type->second;
        k.collective = c;
      }
    }
    k.name = trace_.keep(e[kName].text);
    trace_.kernels.push_back(k);
  }

  KinetoTrace& trace_;
  Counts& counts_;
  std::string scratch_;
};

void sort(KinetoTrace& trace, Counts& counts) {
  const auto key = [](const KinetoKernel& k) {
    return std::make_tuple(k.start_ns, std::string_view(k.stream), k.end_ns(), std::string_view(k.name),
                           k.correlation.value_or(-1));
  };
  auto& kernels = trace.kernels;
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const KinetoKernel& a, const KinetoKernel& b) { return key(a) < key(b); });
  const auto end = std::unique(kernels.begin(), kernels.end(),
                               [&](const KinetoKernel& a, const KinetoKernel& b) { return key(a) == key(b); });
  counts.copies = static_cast<std::size_t>(kernels.end() - end);
  kernels.erase(end, kernels.end());
  const auto by = [](std::vector<KinetoSpan>& spans, const auto& order) {
    std::stable_sort(spans.begin(), spans.end(),
                     [&](const KinetoSpan& a, const KinetoSpan& b) { return order(a) < order(b); });
  };
  by(trace.launches, [](const KinetoSpan& s) { return std::make_tuple(s.correlation, s.start_ns); });
  by(trace.backward, [](const KinetoSpan& s) { return std::make_tuple(std::string_view(s.thread), s.start_ns); });
  by(trace.steps, [](const KinetoSpan& s) { return std::make_tuple(s.start_ns, s.end_ns); });
}

// Sorts, drops copies and reports.
void finish(KinetoTrace& trace, Counts& counts, ImportReport& report) {
  sort(trace, counts);
  report.read.push_back(fmt::format("{} events, {} of them on the device", counts.events, trace.kernels.size()));
  note_count(report.dropped, counts.timeless, kineto::kTimeless);
  note_count(report.dropped, counts.copies, "exact copies of kernels");
  note_count(report.repaired, counts.text_times, "times written as text");
}

}  // namespace

std::string_view KinetoTrace::keep(std::string_view text) {
  scratch_.assign(text);
  return *texts_.insert(scratch_).first;
}

bool is_kineto(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  const std::string_view head = text.substr(0, kHead);
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  if (!has("\"traceEvents\"")) return false;
  return has("\"deviceProperties\"") || has("\"distributedInfo\"") || has("\"cpu_op\"") || has("\"cuda_runtime\"") ||
         has("\"External id\"") || has("\"baseTimeNanoseconds\"");
}

namespace {

template <class Read>
KinetoTrace read_with(ImportReport& report, const Read& read) {
  KinetoTrace trace;
  Counts counts;
  Keeper keeper(trace, counts);
  ChromeReading reading;
  reading.keys.assign(kKeys.begin(), kKeys.end());
  reading.visit = [&](const Cells& cells) { keeper.take(cells); };
  reading.restart = [&] {
    trace = {};
    counts = {};
  };
  report.repaired = read(reading);
  finish(trace, counts, report);
  return trace;
}

}  // namespace

KinetoTrace read_kineto(const std::string& text, const std::string& path, ImportReport& report) {
  return read_with(report, [&](const ChromeReading& r) { return read_chrome_events(text, path, r); });
}

KinetoTrace read_kineto_file(const std::string& path, ImportReport& report) {
  return read_with(report, [&](const ChromeReading& r) { return read_chrome_file(path, r); });
}

}  // namespace stretto::io
