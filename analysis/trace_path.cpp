// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace_path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/diagnostic.hpp"

namespace stretto::analysis {

namespace {

using timeline::DeviceWait;
using timeline::DeviceWork;
using timeline::HostCall;
using timeline::HostDevice;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

struct Point {
  std::int64_t at_ns = 0;
  TracePathItem item;
  bool begin = false;
};

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t owner = kNone;  // of call links: the point of the call whose time it is
  TraceLink link = TraceLink::Call;
  bool idle = false;  // weighs nothing
};

class Finder {
 public:
  Finder(const HostDevice& trace, std::int64_t from_ns, std::int64_t to_ns) : in_(trace), from_(from_ns), to_(to_ns) {}

  TracePath run() {
    add_points();
    if (points_.empty()) throw UserError("there are no host calls of any duration in that span");
    add_calls();
    add_works();
    return longest();
  }

 private:
  void add_points() {
    call_.assign(in_.calls.size(), kNone);
    work_.assign(in_.works.size(), kNone);
    for (std::uint32_t i = 0; i < in_.calls.size(); ++i) {
      const HostCall& c = in_.calls[i];
      if (c.end_ns <= c.start_ns || c.start_ns < from_ || c.start_ns > to_) continue;
      call_[i] = add(c.start_ns, c.end_ns, {false, i});
    }
    for (std::uint32_t i = 0; i < in_.works.size(); ++i) {
      const DeviceWork& w = in_.works[i];
      const bool inside = w.launch >= 0 && call_[static_cast<std::size_t>(w.launch)] != kNone;
      if (inside) work_[i] = add(w.start_ns, w.end_ns, {true, i});
    }
  }

  // The begin's point; the end's is the next.
  std::uint32_t add(std::int64_t start, std::int64_t end, TracePathItem item) {
    const auto id = static_cast<std::uint32_t>(points_.size());
    points_.push_back({start, item, true});
    points_.push_back({end, item, false});
    return id;
  }

  void connect(std::uint32_t from, std::uint32_t to, TraceLink link, bool idle, std::uint32_t owner = kNone) {
    if (points_[from].at_ns > points_[to].at_ns)
      ++backward_;
    else
      edges_.push_back({from, to, owner, link, idle});
  }

  void add_calls() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < call_.size(); ++i)
      if (call_[i] != kNone) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const HostCall& x = in_.calls[a];
      const HostCall& y = in_.calls[b];
      return std::tuple(x.thread, x.start_ns, -x.end_ns, a) < std::tuple(y.thread, y.start_ns, -y.end_ns, b);
    });
    for (std::size_t k = 0; k < order.size();) {
      const std::size_t first = k;
      while (k < order.size() && in_.calls[order[k]].thread == in_.calls[order[first]].thread) ++k;
      add_thread({order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(k)});
    }
  }

  // The calls of one thread, those that contain others before them.
  void add_thread(const std::vector<std::uint32_t>& calls) {
    std::vector<std::uint32_t> open;
    std::uint32_t last = kNone;      // point reached
    std::uint32_t last_top = kNone;  // end of the last call that no other contains
    const auto close = [&] {
      const std::uint32_t call = open.back();
      open.pop_back();
      connect(last, call_[call] + 1, TraceLink::Call, in_.calls[call].waits, call_[call]);
      last = call_[call] + 1;
      if (open.empty()) last_top = std::exchange(last, kNone);
    };
    for (const std::uint32_t call : calls) {
      while (!open.empty() && in_.calls[open.back()].end_ns <= in_.calls[call].start_ns) close();
      if (open.empty() && last_top != kNone) connect(last_top, call_[call], TraceLink::Gap, true);
      if (last != kNone) connect(last, call_[call], TraceLink::Call, false, call_[open.back()]);
      last = call_[call];
      open.push_back(call);
    }
    while (!open.empty()) close();
  }

  // Begins of the calls that launched on one stream, in order: with their works.
  using Launches = std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::uint32_t>>>;

  void add_works() {
    Launches launches;
    for (std::uint32_t i = 0; i < in_.works.size(); ++i)
      if (in_.works[i].launch >= 0) launches[in_.works[i].stream].emplace_back(begin_of_launch(i), i);
    for (auto& [stream, list] : launches) std::sort(list.begin(), list.end());
    // In order of begin; a wait looks at what had begun when it ended.
    std::vector<std::tuple<std::int64_t, bool, std::uint32_t>> order;
    for (std::uint32_t i = 0; i < work_.size(); ++i)
      if (work_[i] != kNone) order.emplace_back(in_.works[i].start_ns, false, i);
    for (std::uint32_t i = 0; i < in_.waits.size(); ++i) order.emplace_back(in_.waits[i].at_ns, true, i);
    std::sort(order.begin(), order.end());
    std::map<std::uint32_t, std::uint32_t> last;  // end of the last work of each stream
    for (const auto& [at, is_wait, i] : order) {
      if (is_wait) {
        add_wait(in_.waits[i], last);
      } else {
        add_work(i, launches, last);
        last[in_.works[i].stream] = work_[i] + 1;
      }
    }
  }

  std::int64_t begin_of_launch(std::uint32_t work) const {
    return in_.calls[static_cast<std::size_t>(in_.works[work].launch)].start_ns;
  }

  void add_wait(const DeviceWait& wait, const std::map<std::uint32_t, std::uint32_t>& last) {
    if (wait.call < 0 || call_[static_cast<std::size_t>(wait.call)] == kNone) return;
    const std::uint32_t to = call_[static_cast<std::size_t>(wait.call)] + 1;
    if (wait.of == DeviceWait::Of::Work) {
      if (wait.work >= 0 && work_[static_cast<std::size_t>(wait.work)] != kNone)
        connect(work_[static_cast<std::size_t>(wait.work)] + 1, to, TraceLink::Wait, true);
      return;
    }
    for (const auto& [stream, end] : last)
      if (wait.of == DeviceWait::Of::Device || stream == wait.stream) connect(end, to, TraceLink::Wait, true);
  }

  void add_work(std::uint32_t i, const Launches& launches, const std::map<std::uint32_t, std::uint32_t>& last) {
    const DeviceWork& work = in_.works[i];
    const std::uint32_t begin = work_[i];
    connect(begin, begin + 1, TraceLink::Work, false, begin);
    const std::uint32_t event = work.after >= 0 && work_[static_cast<std::size_t>(work.after)] != kNone
                                    ? work_[static_cast<std::size_t>(work.after)] + 1
                                    : kNone;
    if (event != kNone) connect(event, begin, TraceLink::Event, true);
    const auto it = last.find(work.stream);
    const std::uint32_t before = it == last.end() ? kNone : it->second;
    const std::int64_t launch = begin_of_launch(i);
    const auto ended = [&](std::uint32_t point) { return point == kNone || points_[point].at_ns < launch; };
    // Is the next work of the stream launched after this one began?
    const auto& list = launches.at(work.stream);
    const auto next = std::upper_bound(list.begin(), list.end(), std::pair(launch, kNone));
    const bool alone = next == list.end() || next->first > work.start_ns;
    if (alone && ended(before) && ended(event))
      connect(call_[static_cast<std::size_t>(work.launch)], begin, TraceLink::Launch, false);
    else if (before != kNone && (event == kNone || points_[event].at_ns < points_[before].at_ns))
      connect(before, begin, TraceLink::Turn, true);
  }

  std::int64_t weight(const Edge& e) const { return e.idle ? 0 : points_[e.to].at_ns - points_[e.from].at_ns; }

  TracePath longest() {
    const std::size_t n = points_.size();
    std::vector<std::uint32_t> first(n + 1, 0);  // edges by where they start
    std::vector<std::uint32_t> open(n, 0);
    for (const Edge& e : edges_) {
      ++first[e.from + 1];
      ++open[e.to];
    }
    for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> out(edges_.size());
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    for (std::uint32_t e = 0; e < edges_.size(); ++e) out[fill[edges_[e].from]++] = e;

    std::vector<std::int64_t> sum(n, 0);
    std::vector<std::uint32_t> by(n, kNone);  // the edge that gave `sum`
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < n; ++i)
      if (open[i] == 0) ready.push_back(i);
    std::uint32_t end = ready.empty() ? 0 : ready.front();
    while (!ready.empty()) {
      const std::uint32_t point = ready.back();
      ready.pop_back();
      const bool on_device = points_[point].item.device;
      const auto rank = [&](std::uint32_t p, bool device) { return std::tuple(sum[p], -points_[p].at_ns, device); };
      if (rank(point, on_device) > rank(end, points_[end].item.device)) end = point;
      for (std::uint32_t k = first[point]; k < first[point + 1]; ++k) {
        const Edge& e = edges_[out[k]];
        const std::int64_t through = sum[point] + weight(e);
        if (by[e.to] == kNone || through > sum[e.to]) {
          sum[e.to] = through;
          by[e.to] = out[k];
        }
        if (--open[e.to] == 0) ready.push_back(e.to);
      }
    }
    return describe(end, by, sum[end]);
  }

  TracePath describe(std::uint32_t end, const std::vector<std::uint32_t>& by, std::int64_t sum) const {
    std::vector<std::uint32_t> chain;  // edges
    std::uint32_t at = end;
    for (; by[at] != kNone; at = edges_[by[at]].from) chain.push_back(by[at]);
    std::reverse(chain.begin(), chain.end());
    TracePath path;
    path.begin_ns = points_[at].at_ns;
    path.end_ns = points_[end].at_ns;
    path.weight_ns = sum;
    path.points = chain.size() + 1;
    path.backward_edges = backward_;
    std::map<std::pair<bool, std::uint32_t>, std::size_t> seen;
    const auto place = [&](TracePathItem item) {
      const auto [it, is_new] = seen.emplace(std::pair(item.device, item.index), path.items.size());
      if (is_new) {
        path.items.push_back(item);
        path.item_ns.push_back(0);
      }
      return it->second;
    };
    place(points_[at].item);
    for (const std::uint32_t i : chain) {
      const Edge& e = edges_[i];
      const std::int64_t took = points_[e.to].at_ns - points_[e.from].at_ns;
      path.elapsed_ns[static_cast<std::size_t>(e.link)] += took;
      ++path.links[static_cast<std::size_t>(e.link)];
      place(points_[e.to].item);
      if (e.owner == kNone || e.idle) continue;
      // A call that is only passed through between two others inside it is not on the path by its own points.
      const auto it = seen.find({points_[e.owner].item.device, points_[e.owner].item.index});
      if (it != seen.end()) path.item_ns[it->second] += took;
    }
    return path;
  }

  const HostDevice& in_;
  std::int64_t from_;
  std::int64_t to_;
  std::vector<Point> points_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> call_;  // per call: the point of its begin; kNone: left out
  std::vector<std::uint32_t> work_;
  std::size_t backward_ = 0;
};

}  // namespace

std::string_view trace_link_key(TraceLink link) {
  constexpr std::array<std::string_view, kTraceLinks> keys = {"call", "gap", "launch", "work", "turn", "event", "wait"};
  return keys[static_cast<std::size_t>(link)];
}

std::string_view trace_link_words(TraceLink link) {
  constexpr std::array<std::string_view, kTraceLinks> words = {"host, in ops and calls",
                                                               "host, between calls",
                                                               "from launch to begin on the device",
                                                               "device, in kernels and copies",
                                                               "device, between works of a stream",
                                                               "device, between streams (events)",
                                                               "until the host went on (synchronisation)"};
  return words[static_cast<std::size_t>(link)];
}

TracePath trace_path(const timeline::HostDevice& trace, std::int64_t from_ns, std::int64_t to_ns) {
  return Finder(trace, from_ns, to_ns).run();
}

TracePath trace_path(const timeline::HostDevice& trace) {
  return trace_path(trace, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

}  // namespace stretto::analysis
