// SPDX-License-Identifier: Apache-2.0
#include "io/export/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "io/json/writer.hpp"
#include "sim/base/assert.hpp"

namespace stretto::io {

namespace {

struct Track {
  std::size_t process = 0;
  std::string name;
  std::vector<std::size_t> spans;
  std::size_t first_lane = 0;  // index over all lanes of the trace
  std::size_t lanes = 0;
};

struct Tracks {
  std::vector<std::string> processes;
  std::vector<Track> tracks;
};

Tracks collect(const std::vector<Span>& spans) {
  Tracks out;
  std::map<std::string, std::size_t> processes;
  std::map<std::pair<std::size_t, std::string>, std::size_t> tracks;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    STRETTO_ASSERT(span.start <= span.end, "span {} ends at {} ps, before its start at {} ps", span.name, span.end.ps(),
                   span.start.ps());
    const auto [process, new_process] = processes.emplace(span.process, out.processes.size());
    if (new_process) out.processes.push_back(span.process);
    const auto [track, new_track] = tracks.emplace(std::pair(process->second, span.track), out.tracks.size());
    if (new_track) out.tracks.push_back({process->second, span.track, {}, 0, 0});
    out.tracks[track->second].spans.push_back(i);
  }
  return out;
}

// Gives every span of a track the lowest lane that is free at its start; lanes count from 0 within the track.
void assign_lanes(const std::vector<Span>& spans, Track& track, std::vector<std::size_t>& lane_of) {
  std::sort(track.spans.begin(), track.spans.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(spans[a].start, spans[a].end, a) < std::tuple(spans[b].start, spans[b].end, b);
  });
  using Busy = std::pair<Time, std::size_t>;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> idle;
  for (const std::size_t i : track.spans) {
    for (; !busy.empty() && busy.top().first <= spans[i].start; busy.pop()) idle.push(busy.top().second);
    if (idle.empty()) idle.push(track.lanes++);
    lane_of[i] = idle.top();
    busy.emplace(spans[i].end, idle.top());
    idle.pop();
  }
}

// Microseconds with picoseconds as decimals.
std::string microseconds(std::int64_t ps) {
  constexpr std::int64_t kUnit = 1'000'000;
  return fmt::format("{}{}.{:06}", ps < 0 ? "-" : "", ps / kUnit * (ps < 0 ? -1 : 1), ps % kUnit * (ps < 0 ? -1 : 1));
}

void write_metadata(json::Writer& w, std::string_view what, std::size_t pid, std::size_t tid, std::string_view key,
                    const std::function<void()>& value) {
  w.begin_object(json::Writer::Style::Inline);
  w.member("ph", "M").member("name", what).member("pid", pid).member("tid", tid);
  w.key("args").begin_object().key(key);
  value();
  w.end_object().end_object();
}

}  // namespace

std::string write_chrome_trace(const std::vector<Span>& spans) {
  Tracks all = collect(spans);
  std::vector<std::size_t> lane_of(spans.size());
  std::size_t lanes = 0;
  std::vector<std::size_t> track_of(spans.size());
  for (std::size_t t = 0; t < all.tracks.size(); ++t) {
    Track& track = all.tracks[t];
    assign_lanes(spans, track, lane_of);
    for (const std::size_t i : track.spans) track_of[i] = t;
    track.first_lane = lanes;
    lanes += track.lanes;
  }
  // Viewers take the thread whose tid equals its pid for the main thread: numbers of threads start after those of
  // processes and are unique in the trace.
  const auto pid = [](std::size_t process) { return process + 1; };
  const auto tid = [&](std::size_t lane) { return all.processes.size() + 1 + lane; };
  json::Writer w(1);
  w.begin_object().member("displayTimeUnit", "ns");
  w.key("traceEvents").begin_array();
  for (std::size_t p = 0; p < all.processes.size(); ++p) {
    write_metadata(w, "process_name", pid(p), 0, "name", [&] { w.value(all.processes[p]); });
    write_metadata(w, "process_sort_index", pid(p), 0, "sort_index", [&] { w.value(p); });
  }
  for (const Track& track : all.tracks) {
    for (std::size_t k = 0; k < track.lanes; ++k) {
      const std::size_t lane = track.first_lane + k;
      const std::string name = k == 0 ? track.name : fmt::format("{} ({})", track.name, k + 1);
      write_metadata(w, "thread_name", pid(track.process), tid(lane), "name", [&] { w.value(name); });
      write_metadata(w, "thread_sort_index", pid(track.process), tid(lane), "sort_index", [&] { w.value(lane); });
    }
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const Track& track = all.tracks[track_of[i]];
    w.begin_object(json::Writer::Style::Inline);
    w.member("ph", "X").member("name", span.name);
    w.member("pid", pid(track.process)).member("tid", tid(track.first_lane + lane_of[i]));
    w.key("ts").number(microseconds(span.start.ps()));
    w.key("dur").number(microseconds((span.end - span.start).ps()));
    if (!span.args.empty()) {
      w.key("args").begin_object();
      for (const auto& [key, value] : span.args) w.member(key, value);
      w.end_object();
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::io
