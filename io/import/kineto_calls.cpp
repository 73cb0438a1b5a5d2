// SPDX-License-Identifier: Apache-2.0
#include "io/import/kineto_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "io/import/kineto_format.hpp"

namespace stretto::io {

namespace {

using timeline::DeviceWait;
using timeline::HostDevice;

constexpr std::int64_t kNoCorrelation = -1;

constexpr std::array<std::string_view, 11> kKeys = {"ph",
                                                    "cat",
                                                    "name",
                                                    "pid",
                                                    "tid",
                                                    "ts",
                                                    "dur",
                                                    "args/stream",
                                                    "args/correlation",
                                                    "args/wait_on_stream",
                                                    "args/wait_on_cuda_event_record_corr_id"};
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
  kWaitStream,
  kWaitRecord
};

using Cells = std::vector<json::Cell>;

// Calls in which the host may wait for the device; copies of pageable memory among them.
bool may_wait(std::string_view name) {
  if (name.starts_with("hip"))
    name.remove_prefix(3);
  else if (name.starts_with("cuda"))
    name.remove_prefix(4);
  else
    return false;
  constexpr std::array<std::string_view, 6> calls = {
      "DeviceSynchronize", "StreamSynchronize", "EventQuery", "EventSynchronize", "Memcpy", "MemcpyAsync"};
  return std::find(calls.begin(), calls.end(), name) != calls.end();
}

// Numbers of texts, in order of appearance.
class Names {
 public:
  std::uint32_t of(std::string_view text) {
    scratch_.assign(text);
    if (const auto it = ids_.find(scratch_); it != ids_.end()) return it->second;
    list_.push_back(scratch_);
    return ids_.emplace(scratch_, static_cast<std::uint32_t>(ids_.size())).first->second;
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> list_;
  std::string scratch_;
};

class Collector {
 public:
  void take(const Cells& e) {
    ++events_;
    if (e[kPhase].text != "X") return;
    const std::string_view category = e[kCategory].text;
    const bool call = kineto::is_runtime_call(category);
    const bool op = same_word(category, "cpu_op");
    const bool work = kineto::is_device_work(category);
    const bool sync = same_word(category, "cuda_sync");
    const bool annotation = same_word(category, "user_annotation");
    if (!call && !op && !work && !sync && !annotation) return;
    const auto start = kineto::time_of(e[kStart]);
    const auto length = kineto::time_of(e[kLength]);
    if (!kineto::usable(start, length)) {
      ++timeless_;
      if (work) ++timeless_works_;
      return;
    }
    const std::int64_t end = *start + *length;
    const std::int64_t correlation = kineto::whole_of(e[kCorrelation]).value_or(kNoCorrelation);
    if (call || op) {
      if (call && correlation >= 0) calls_.emplace(correlation, static_cast<std::int64_t>(out_.calls.size()));
      out_.calls.push_back(
          {names_.of(e[kName].text), key(e[kProcess], e[kThread]), *start, end, call && may_wait(e[kName].text)});
    } else if (work) {
      out_.works.push_back({names_.of(e[kName].text), key(e[kProcess], kineto::stream_of(e[kStream], e[kThread])),
                            *start, end, correlation, -1});
    } else if (annotation) {
      out_.annotations.push_back({names_.of(e[kName].text), *start, end});
    } else {
      syncs_.push_back({std::string(e[kName].text), key(e[kProcess], e[kStream]), key(e[kProcess], e[kWaitStream]),
                        correlation, kineto::whole_of(e[kWaitRecord]).value_or(kNoCorrelation), end});
    }
  }

  void restart() { *this = {}; }

  HostDevice finish(const std::string& path, ImportReport& report) {
    for (timeline::DeviceWork& w : out_.works) {
      const auto it = calls_.find(w.launch);
      w.launch = it == calls_.end() ? -1 : it->second;
      unlaunched_ += w.launch < 0 ? 1U : 0U;
    }
    drop_copies();
    refuse_empty(path);
    for (std::uint32_t i = 0; i < out_.works.size(); ++i)
      if (out_.works[i].launch >= 0) launches_[out_.works[i].stream].emplace_back(begin(out_.works[i].launch), i);
    for (auto& [stream, list] : launches_) std::sort(list.begin(), list.end());
    for (const Sync& s : syncs_) resolve(s);
    std::stable_sort(out_.annotations.begin(), out_.annotations.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    out_.names = names_.take();
    report.read.push_back(fmt::format("{} events: {} calls of the host, {} works of the device, {} waits", events_,
                                      out_.calls.size(), out_.works.size(), out_.waits.size()));
    const auto note = [&](std::size_t n, const char* what) { note_count(report.dropped, n, what); };
    note(timeless_, kineto::kTimeless);
    note(copies_, "exact copies of works");
    note(unlaunched_, "works whose launch is not in the trace: no path leads through them");
    note(unresolved_, "waits for events that were recorded before anything was launched, or outside the trace");
    return std::move(out_);
  }

 private:
  struct Sync {
    std::string name;
    std::uint32_t stream = 0;
    std::uint32_t wait_stream = 0;
    std::int64_t correlation = 0;
    std::int64_t record = 0;
    std::int64_t end_ns = 0;
  };

  std::uint32_t key(const json::Cell& process, const json::Cell& lane) {
    scratch_.assign(process.text).append("/").append(lane.text);
    return lanes_.of(scratch_);
  }

  std::int64_t begin(std::int64_t call) const { return out_.calls[static_cast<std::size_t>(call)].start_ns; }

  void drop_copies() {
    auto& works = out_.works;
    const auto order = [](const timeline::DeviceWork& w) {
      return std::tuple(w.start_ns, w.stream, w.end_ns, w.name, w.launch);
    };
    std::sort(works.begin(), works.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    const auto end =
        std::unique(works.begin(), works.end(), [&](const auto& a, const auto& b) { return order(a) == order(b); });
    copies_ = static_cast<std::size_t>(works.end() - end);
    works.erase(end, works.end());
  }

  void refuse_empty(const std::string& path) const {
    constexpr const char* kHint = "profile with ProfilerActivity.CPU and ProfilerActivity.CUDA";
    if (out_.works.empty()) kineto::refuse_no_work(path, timeless_works_, kHint);
    if (out_.calls.empty()) refuse_file(path, "no calls of the host (category cpu_op or cuda_runtime)", kHint);
  }

  // The work that was launched last on a stream no later than `at`; -1: none.
  std::int64_t launched_before(std::uint32_t stream, std::int64_t at) const {
    const auto list = launches_.find(stream);
    if (list == launches_.end()) return -1;
    const auto it = std::upper_bound(list->second.begin(), list->second.end(), std::pair(at, ~std::uint32_t{0}));
    return it == list->second.begin() ? -1 : static_cast<std::int64_t>(std::prev(it)->second);
  }

  void resolve(const Sync& s) {
    const auto call = calls_.find(s.correlation);
    if (call == calls_.end()) {
      ++unresolved_;
      return;
    }
    if (s.name == "Stream Sync") {
      out_.waits.push_back({DeviceWait::Of::Stream, call->second, -1, s.stream, s.end_ns});
      return;
    }
    if (s.name == "Context Sync") {
      out_.waits.push_back({DeviceWait::Of::Device, call->second, -1, 0, s.end_ns});
      return;
    }
    const auto record = calls_.find(s.record);
    const std::int64_t source = record == calls_.end() ? -1 : launched_before(s.wait_stream, begin(record->second));
    if (source < 0) {
      ++unresolved_;
      return;
    }
    if (s.name == "Event Sync") {
      out_.waits.push_back({DeviceWait::Of::Work, call->second, source, 0, s.end_ns});
      return;
    }
    const auto list = launches_.find(s.stream);  // "Stream Wait Event"
    if (list == launches_.end()) return;
    const auto next =
        std::lower_bound(list->second.begin(), list->second.end(), std::pair(begin(call->second), std::uint32_t{0}));
    if (next != list->second.end()) out_.works[next->second].after = source;
  }

  HostDevice out_;
  Names names_;
  Names lanes_;                                           // threads and streams
  std::unordered_map<std::int64_t, std::int64_t> calls_;  // by correlation
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::uint32_t>>> launches_;
  std::vector<Sync> syncs_;
  std::string scratch_;
  std::size_t events_ = 0;
  std::size_t timeless_ = 0;
  std::size_t timeless_works_ = 0;
  std::size_t copies_ = 0;
  std::size_t unlaunched_ = 0;
  std::size_t unresolved_ = 0;
};

template <class Read>
HostDevice read_with(const std::string& path, ImportReport& report, const Read& read) {
  Collector collector;
  ChromeReading reading;
  reading.keys.assign(kKeys.begin(), kKeys.end());
  reading.visit = [&](const Cells& cells) { collector.take(cells); };
  reading.restart = [&] { collector.restart(); };
  report.repaired = read(reading);
  return collector.finish(path, report);
}

}  // namespace

HostDevice read_kineto_calls(const std::string& text, const std::string& path, ImportReport& report) {
  return read_with(path, report, [&](const ChromeReading& r) { return read_chrome_events(text, path, r); });
}

HostDevice read_kineto_calls_file(const std::string& path, ImportReport& report) {
  return read_with(path, report, [&](const ChromeReading& r) { return read_chrome_file(path, r); });
}

}  // namespace stretto::io
