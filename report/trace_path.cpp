// SPDX-License-Identifier: Apache-2.0
#include "report/trace_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/words.hpp"
#include "io/json/writer.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::TraceLink;
using analysis::TracePath;
using json::Writer;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShown = 10;
constexpr std::size_t kNameLength = 60;

struct Total {
  std::int64_t ns = 0;
  std::size_t count = 0;
};

std::uint32_t name_of(const timeline::HostDevice& trace, const analysis::TracePathItem& item) {
  return item.device ? trace.works[item.index].name : trace.calls[item.index].name;
}

// By (device, name), the longest first.
std::vector<std::pair<std::pair<bool, std::uint32_t>, Total>> totals(const TracePath& path,
                                                                     const timeline::HostDevice& trace) {
  std::map<std::pair<bool, std::uint32_t>, Total> by_name;
  for (std::size_t i = 0; i < path.items.size(); ++i) {
    Total& t = by_name[{path.items[i].device, name_of(trace, path.items[i])}];
    t.ns += path.item_ns[i];
    ++t.count;
  }
  std::vector<std::pair<std::pair<bool, std::uint32_t>, Total>> list(by_name.begin(), by_name.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return list;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

std::string trace_path_text(const TracePath& path, const timeline::HostDevice& trace, std::string_view name) {
  const double whole = seconds(path.end_ns - path.begin_ns);
  std::string out = wrap(
      fmt::format("{}: the critical path takes {}, {} of it work; {} calls and works lie on it", escape_control(name),
                  analysis::seconds_text(whole), analysis::seconds_text(seconds(path.weight_ns)), path.items.size()),
      kWidth);
  const auto share = [&](double part) { return whole > 0 ? analysis::percent(part / whole) : "-"; };
  Table kinds{{{"along the path", Align::Left}, {"links"}, {"time"}, {"share"}}, {}};
  for (std::size_t k = 0; k < analysis::kTraceLinks; ++k)
    if (path.links[k] > 0)
      kinds.rows.push_back({{std::string(analysis::trace_link_words(static_cast<TraceLink>(k))), ""},
                            {fmt::format("{}", path.links[k]), ""},
                            {analysis::seconds_text(seconds(path.elapsed_ns[k])), ""},
                            {share(seconds(path.elapsed_ns[k])), ""}});
  out += '\n' + render(kinds, kWidth);
  Table names{{{"mostly", Align::Left}, {"on"}, {"times"}, {"time"}, {"share"}}, {}};
  for (const auto& [key, total] : totals(path, trace)) {
    if (names.rows.size() == kShown) break;
    names.rows.push_back({{escape_control(std::string_view(trace.names[key.second]).substr(0, kNameLength)), ""},
                          {key.first ? "device" : "host", ""},
                          {fmt::format("{}", total.count), ""},
                          {analysis::seconds_text(seconds(total.ns)), ""},
                          {share(seconds(total.ns)), ""}});
  }
  out += '\n' + render(names, kWidth);
  if (path.backward_edges > 0)
    out += '\n' + wrap(fmt::format("{} links would lead back in time (the clocks of host and device differ) and are "
                                   "left out",
                                   path.backward_edges),
                       kWidth);
  return out;
}

std::string trace_path_json(const TracePath& path, const timeline::HostDevice& trace, std::string_view name) {
  Writer w;
  w.begin_object();
  w.member("format", kTracePathFormat).member("version", kTracePathVersion).member("name", name);
  w.member("begin_ns", path.begin_ns).member("end_ns", path.end_ns).member("work_ns", path.weight_ns);
  w.member("points", path.points).member("backward_links", path.backward_edges);
  w.key("links").begin_array();
  for (std::size_t k = 0; k < analysis::kTraceLinks; ++k)
    w.begin_object(Writer::Style::Inline)
        .member("kind", analysis::trace_link_key(static_cast<TraceLink>(k)))
        .member("count", path.links[k])
        .member("time_ns", path.elapsed_ns[k])
        .end_object();
  w.end_array();
  w.key("path").begin_array();
  for (std::size_t i = 0; i < path.items.size(); ++i) {
    const analysis::TracePathItem& item = path.items[i];
    const auto [start, end] = item.device ? std::pair(trace.works[item.index].start_ns, trace.works[item.index].end_ns)
                                          : std::pair(trace.calls[item.index].start_ns, trace.calls[item.index].end_ns);
    w.begin_object(Writer::Style::Inline)
        .member("on", item.device ? "device" : "host")
        .member("name", trace.names[name_of(trace, item)])
        .member("start_ns", start)
        .member("end_ns", end)
        .member("path_ns", path.item_ns[i])
        .end_object();
  }
  w.end_array();
  w.end_object();
  return w.finish();
}

}  // namespace stretto::report
