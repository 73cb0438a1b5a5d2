// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "io/import/decimal.hpp"
#include "io/json/reader.hpp"
#include "io/json/repair.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

constexpr int kUsToNs = 3;
constexpr std::int64_t kMostNs = 100'000'000'000'000;          // 28 hours
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  // the year 2096
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

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" -> "allreduce"; "" for other kernels.
std::string collective_of(std::string_view name) {
  const std::string text = lower(name);
  if (!text.starts_with("nccl") && !text.starts_with("rccl")) return "";
  const std::size_t begin = text.find("kernel_");
  if (begin == std::string::npos) return "unknown";
  const std::string_view rest = std::string_view(text).substr(begin + 7);
  return std::string(rest.substr(0, rest.find_first_of("_(")));
}

struct Event {
  std::string phase;
  std::string category;
  std::string name;
  std::string process;
  std::string thread;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> duration_ns;
  std::string stream;
  std::optional<std::int64_t> correlation;
  std::string collective;
  std::string type;
  std::optional<std::int64_t> elements;
};

struct Counts {
  std::size_t events = 0;
  std::size_t timeless = 0;  // X events without usable times
  std::size_t copies = 0;
  std::size_t text_times = 0;
};

class Reader {
 public:
  Reader(KinetoTrace& trace, Counts& counts) : trace_(trace), counts_(counts) {}

  void read(const json::Value& root) {
    bool found = false;
    root.members([&](std::string_view key, const json::Value& value) {
      if (key != "traceEvents") return;
      found = true;
      value.elements([&](const json::Value& event) { read_event(event); });
    });
    if (!found) root.error("there is no traceEvents");
  }

 private:
  // A text or number as text; "" for anything else.
  static std::string label(const json::Value& value) {
    if (value.kind() == json::Kind::String) return value.string().value_or("");
    if (value.kind() == json::Kind::Number) return value.number_text().value_or("");
    return "";
  }

  std::optional<std::int64_t> time(const json::Value& value) {
    const json::Kind kind = value.kind();
    const std::string text = label(value);
    const auto scaled = parse_scaled(text, kUsToNs);
    if (!scaled) return std::nullopt;
    if (kind == json::Kind::String) ++counts_.text_times;
    return scaled->value;
  }

  static std::optional<std::int64_t> whole(const json::Value& value) {
    const auto scaled = parse_scaled(label(value), 0);
    return scaled && scaled->exact ? std::optional(scaled->value) : std::nullopt;
  }

  void read_arguments(const json::Value& arguments, Event& e) {
    if (arguments.kind() != json::Kind::Object) return;
    arguments.members([&](std::string_view key, const json::Value& v) {
      if (key == "stream")
        e.stream = label(v);
      else if (key == "correlation")
        e.correlation = whole(v);
      else if (key == "Collective name")
        e.collective = lower(label(v));
      else if (key == "In msg nelems")
        e.elements = whole(v);
      else if (key == "dtype")
        e.type = lower(label(v));
    });
  }

  void read_event(const json::Value& value) {
    ++counts_.events;
    if (value.kind() != json::Kind::Object) {
      value.error("an event is no object");
      return;
    }
    Event e;
    value.members([&](std::string_view key, const json::Value& v) {
      if (key == "ph")
        e.phase = label(v);
      else if (key == "cat")
        e.category = lower(label(v));
      else if (key == "name")
        e.name = label(v);
      else if (key == "pid")
        e.process = label(v);
      else if (key == "tid")
        e.thread = label(v);
      else if (key == "ts")
        e.start_ns = time(v);
      else if (key == "dur")
        e.duration_ns = time(v);
      else if (key == "args")
        read_arguments(v, e);
    });
    if (e.phase == "X") keep(e);
  }

  void keep(Event& e) {
    const bool device = e.category == "kernel" || e.category == "gpu_memcpy" || e.category == "gpu_memset";
    const bool launch = e.category == "cuda_runtime" || e.category == "cuda_driver" || e.category == "runtime";
    const bool backward = e.name.starts_with(kBackward);
    const bool step = e.category == "user_annotation" && e.name.starts_with("ProfilerStep");
    if (!device && !launch && !backward && !step) return;
    if (!e.start_ns || *e.start_ns > kLatestNs || !e.duration_ns || *e.duration_ns > kMostNs) {
      ++counts_.timeless;
      return;
    }
    if (device) {
      keep_kernel(e);
      return;
    }
    KinetoSpan span{step ? e.name : "", e.process + "/" + e.thread, *e.start_ns, *e.start_ns + *e.duration_ns,
                    e.correlation.value_or(0)};
    if (step)
      trace_.steps.push_back(std::move(span));
    else if (backward)
      trace_.backward.push_back(std::move(span));
    else if (e.correlation)
      trace_.launches.push_back(std::move(span));
  }

  void keep_kernel(Event& e) {
    KinetoKernel k;
    k.stream = e.process + "/" + (e.stream.empty() ? e.thread : e.stream);
    k.start_ns = *e.start_ns;
    k.duration_ns = *e.duration_ns;
    k.correlation = e.correlation;
    const std::string kind = e.collective.empty() ? collective_of(e.name) : e.collective;
    if (!kind.empty() && e.category == "kernel") {
      KinetoCollective c;
      c.kind = kind;
      const auto* const type =
          std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.first == e.type; });
      if (e.elements && type != kTypes.end() && *e.elements >= 0 && *e.elements <= kMostElements)
        c.bytes = *e.elements * type->second;
      k.collective = c;
    }
    k.name = std::move(e.name);
    trace_.kernels.push_back(std::move(k));
  }

  KinetoTrace& trace_;
  Counts& counts_;
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

void parse(const std::string& text, const std::string& path, KinetoTrace& trace, Counts& counts) {
  json::Document document(text, path);
  document.read([&](const json::Value& root) { Reader(trace, counts).read(root); });
}

}  // namespace

bool is_kineto(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  const std::string_view head = text.substr(0, kHead);
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  if (!has("\"traceEvents\"")) return false;
  return has("\"deviceProperties\"") || has("\"distributedInfo\"") || has("\"cpu_op\"") || has("\"cuda_runtime\"") ||
         has("\"External id\"") || has("\"baseTimeNanoseconds\"");
}

KinetoTrace read_kineto(const std::string& text, const std::string& path, ImportReport& report) {
  KinetoTrace trace;
  Counts counts;
  try {
    parse(text, path, trace, counts);
  } catch (const UserError&) {
    const json::Repair repaired = json::repair(text);
    if (!repaired.changed()) throw;
    trace = {};
    counts = {};
    parse(repaired.text, path, trace, counts);
    report.repaired = repaired.notes();
  }
  sort(trace, counts);
  report.read.push_back(fmt::format("{} events, {} of them on the device", counts.events, trace.kernels.size()));
  const auto note = [](std::vector<std::string>& list, std::size_t n, const char* what) {
    if (n > 0) list.push_back(fmt::format("{} {}", n, what));
  };
  note(report.dropped, counts.timeless, "events without begin or duration, or of more than 28 hours");
  note(report.dropped, counts.copies, "exact copies of kernels");
  note(report.repaired, counts.text_times, "times written as text");
  return trace;
}

}  // namespace stretto::io
