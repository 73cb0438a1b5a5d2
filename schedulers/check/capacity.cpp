// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "schedulers/check/audit.hpp"
#include "schedulers/check/use.hpp"

namespace stretto::check {

namespace {

using What = Event::What;

// Sums by place, of which all from one on can be raised. The largest among the places that are open, and its place.
class SuffixSums {
 public:
  explicit SuffixSums(std::vector<double> start) : start_(std::move(start)) {
    while (n_ < start_.size()) n_ *= 2;
    nodes_.assign(2 * n_, {-std::numeric_limits<double>::infinity(), 0, 0});
    for (std::size_t i = 0; i < n_; ++i) nodes_[n_ + i].place = i;
  }
  void open(std::size_t place) {
    std::size_t k = n_ + place;
    nodes_[k].most = start_[place] + nodes_[k].added;
    while (k > 1) pull(k /= 2);
  }
  void add_from(std::size_t place, double amount) { add(1, 0, n_, place, amount); }
  double most() const { return nodes_[1].most; }
  std::size_t where() const { return nodes_[1].place; }

 private:
  struct Node {
    double most;
    double added;  // to all below
    std::size_t place;
  };
  void pull(std::size_t k) {
    const Node& a = nodes_[2 * k];
    const Node& b = nodes_[2 * k + 1];
    const Node& best = b.most > a.most ? b : a;
    nodes_[k].most = best.most + nodes_[k].added;
    nodes_[k].place = best.place;
  }
  void add(std::size_t k, std::size_t low, std::size_t high, std::size_t place, double amount) {
    if (high <= place) return;
    if (low >= place) {
      nodes_[k].most += amount;
      nodes_[k].added += amount;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    add(2 * k, low, middle, place, amount);
    add(2 * k + 1, middle, high, place, amount);
    pull(k);
  }
  std::vector<double> start_;
  std::size_t n_ = 1;
  std::vector<Node> nodes_;
};

std::optional<Violation> check_pool(const Pool& pool, const char* rule, std::vector<Use> jobs, const EventName& name) {
  if (pool.units == 0) return std::nullopt;
  std::sort(jobs.begin(), jobs.end(),
            [](const Use& a, const Use& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::vector<Time> ends;  // of jobs under way, least first
  for (const Use& b : jobs) {
    while (!ends.empty() && ends.front() <= b.begin + kSlack) {
      std::pop_heap(ends.begin(), ends.end(), std::greater<>());
      ends.pop_back();
    }
    if (ends.size() >= pool.units)
      return Violation{
          rule, fmt::format("{} works for {} at {} while it is busy with {} others; it has {} unit{}", pool.name,
                            name(b.event), time_text(b.begin), ends.size(), pool.units, pool.units == 1 ? "" : "s")};
    ends.push_back(b.end);
    std::push_heap(ends.begin(), ends.end(), std::greater<>());
  }
  return std::nullopt;
}

// Messages are added in the order of falling begin; what ends by place b has then sum(b) bytes, and sum(b) - rate x b
// must not be above -rate x a.
std::optional<Violation> check_link(const Link& link, std::vector<Use> messages, const EventName& name) {
  if (link.rate.is_unlimited() || messages.empty()) return std::nullopt;
  const double rate = link.rate.bytes_per_ps();
  std::vector<Time> arrivals;
  for (const Use& m : messages) arrivals.push_back(m.end);
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<double> start;
  for (const Time t : arrivals) start.push_back(-rate * static_cast<double>(t.ps()));
  SuffixSums sums(std::move(start));
  std::sort(messages.begin(), messages.end(), [](const Use& a, const Use& b) { return a.begin > b.begin; });
  double bytes = 0;
  double messages_so_far = 0;
  for (const Use& m : messages) {
    bytes += m.bytes;
    const auto place = std::lower_bound(arrivals.begin(), arrivals.end(), m.end) - arrivals.begin();
    sums.open(static_cast<std::size_t>(place));
    sums.add_from(static_cast<std::size_t>(place), m.bytes);
    const double over = sums.most() + rate * static_cast<double>(m.begin.ps());
    // A picosecond for each message.
    const double rounding = rate * (2 * static_cast<double>(kSlack.ps()) + ++messages_so_far +
                                    kRelative * static_cast<double>(m.begin.ps())) +
                            kRelative * bytes;
    if (over <= rounding) continue;
    const Time until = arrivals[sums.where()];
    return Violation{"capacity",
                     fmt::format("between {} and {} {} carries {:.0f} bytes more than the {:.0f} that it can, {} among "
                                 "them",
                                 time_text(m.begin), time_text(until), link.name, over,
                                 rate * static_cast<double>((until - m.begin).ps()), name(m.event))};
  }
  return std::nullopt;
}

}  // namespace

void Uses::add_message(const Channel& c, Bytes bytes, const Happening& e, std::size_t event) {
  if (!c.send.none())
    pools_[c.send.pool].push_back({e.on_wire + Duration::ps(-c.send.of(bytes).ps()), e.on_wire, 0, event});
  if (!c.receive.none())
    pools_[c.receive.pool].push_back({e.end + Duration::ps(-c.receive.of(bytes).ps()), e.end, 0, event});
  for (const std::uint32_t l : c.links)
    links_[l].push_back({e.begin, e.arrived, static_cast<double>(bytes.count()), event});
}

std::optional<Violation> Uses::check(const EventName& name) {
  std::vector<bool> device(pools_.size(), false);
  for (const Worker& w : job_.workers) {
    device[w.device] = true;
    if (w.copy_in) device[w.copy_in->pool] = true;
    if (w.copy_out) device[w.copy_out->pool] = true;
  }
  for (std::size_t p = 0; p < pools_.size(); ++p)
    if (auto v = check_pool(job_.pools[p], device[p] ? "device" : "threads", std::move(pools_[p]), name)) return v;
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (auto v = check_link(job_.links[l], std::move(links_[l]), name)) return v;
  return std::nullopt;
}

std::optional<Violation> audit_capacity(const Job& job, const Timeline& timeline) {
  Uses uses(job);
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    const Event& e = timeline.events[i];
    switch (e.what) {
      case What::Op:
        uses.add_work(job.workers[e.worker].device, e, i);
        break;
      case What::CopyIn:
        if (const auto& engine = job.workers[e.worker].copy_in) uses.add_work(engine->pool, e, i);
        break;
      case What::CopyOut:
        if (const auto& engine = job.workers[e.worker].copy_out) uses.add_work(engine->pool, e, i);
        break;
      case What::Sum:
      case What::Update:
        uses.add_work(job.servers[job.layout.transfers[e.item].server].threads, e, i);
        break;
      case What::Pull:
      case What::Push:
        uses.add_message(job.channel(e.what == What::Push, e.worker, e.item), job.layout.transfers[e.item].bytes, e, i);
        break;
    }
  }
  return uses.check([&](std::size_t i) { return event_name(job, timeline.events[i]); });
}

}  // namespace stretto::check
