// SPDX-License-Identifier: Apache-2.0
#include "report/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "analysis/words.hpp"
#include "io/json/writer.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::Stragglers;
using analysis::StragglerShare;
using json::Writer;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShown = 8;
constexpr Writer::Style kInline = Writer::Style::Inline;

std::string label(const StragglerShare& share) { return share.name.empty() ? fmt::format("{}", share.id) : share.name; }

std::string shares_text(const char* title, const std::vector<StragglerShare>& shares) {
  Table table{{{title, Align::Left}, {"S"}, {"slower by"}}, {}};
  for (std::size_t i = 0; i < std::min(shares.size(), kShown); ++i)
    table.rows.push_back({{label(shares[i]), ""},
                          {fmt::format("{:.4f}", shares[i].slowdown), ""},
                          {analysis::percent(shares[i].slowdown - 1), ""}});
  std::string out = '\n' + render(table, kWidth);
  if (shares.size() > kShown) out += fmt::format("and {} more, each less\n", shares.size() - kShown);
  return out;
}

std::string shares_of_slowdown(const Stragglers& r) {
  if (!r.worker_share || !r.last_stage_share)
    return wrap("M_W and M_S are not defined: the job is not slower than the ideal one.", kWidth);
  std::string ranks;
  for (const std::int32_t id : r.worst_workers) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", id);
  const std::size_t worst = r.worst_workers.size();
  const std::string who =
      worst == 1
          ? fmt::format("worst of {} workers (rank {}): 3 % of them, at least one", r.workers.size(), ranks)
          : fmt::format("{} worst of {} workers (ranks {}): 3 % of them, rounded up", worst, r.workers.size(), ranks);
  return wrap(fmt::format("M_W: {} of the slowdown goes with the {}.", analysis::percent(*r.worker_share), who),
              kWidth) +
         wrap(fmt::format("M_S: {} of it goes with the last stage.", analysis::percent(*r.last_stage_share)), kWidth);
}

Table times_table(const Stragglers& r) {
  const auto row = [](const char* what, double seconds) {
    return std::vector<Cell>{{what, ""}, {analysis::seconds_text(std::abs(seconds)), ""}};
  };
  Table table{{{"mean step", Align::Left}, {"time"}}, {}};
  table.rows.push_back(row("measured", r.measured_s));
  table.rows.push_back(row("replayed with every delay", r.replayed_s));
  table.rows.push_back(row("T: replayed without delays of launches", r.no_delay_s));
  table.rows.push_back(row("T_ideal: every op takes what is typical of its kind", r.ideal_s));
  return table;
}

void shares_json(Writer& w, const char* key, const char* id, const std::vector<StragglerShare>& shares) {
  w.key(key).begin_array();
  for (const StragglerShare& s : shares) {
    w.begin_object(kInline).key(id);
    if (s.name.empty())
      w.value(s.id);
    else
      w.value(s.name);
    w.member("slowdown", s.slowdown).end_object();
  }
  w.end_array();
}

}  // namespace

std::string stragglers_text(const Stragglers& r, std::string_view name) {
  std::string out = wrap(fmt::format("{}: stragglers make {} steps {} slower: S = {:.4f}", escape_control(name),
                                     r.steps.size(), analysis::percent(r.slowdown - 1), r.slowdown),
                         kWidth);
  out += '\n' + render(times_table(r), kWidth) + '\n';
  out += shares_of_slowdown(r);
  out += shares_text("kind of op alone", r.kinds);
  out += shares_text("dp rank alone", r.dp_ranks);
  out += shares_text("stage alone", r.stages);
  out += shares_text("rank (lesser of dp rank and stage)", r.workers);
  std::string notes;
  const auto note = [&](std::size_t n, const char* what) {
    if (n > 0) notes += wrap(fmt::format("{} {}", n, what), kWidth, 2);
  };
  note(r.dropped_steps, "steps left out: their ops differ from those of most steps");
  note(r.clipped_transfers, "transfers end 10 ms or more before their last participant began: taken as 0");
  note(r.clipped_delays, "ops begin 10 ms or more before what they need has ended: taken as at once");
  return notes.empty() ? out : out + '\n' + notes;
}

std::string stragglers_json(const Stragglers& r, std::string_view name) {
  Writer w;
  w.begin_object();
  w.member("format", kStragglersFormat).member("version", kStragglersVersion).member("name", name);
  w.member("measured_s", r.measured_s).member("replayed_s", r.replayed_s);
  w.member("no_delay_s", r.no_delay_s).member("ideal_s", r.ideal_s).member("slowdown", r.slowdown);
  w.member("worker_share", r.worker_share);
  w.member("last_stage_share", r.last_stage_share);
  w.key("worst_workers").begin_array(kInline);
  for (const std::int32_t id : r.worst_workers) w.value(id);
  w.end_array();
  shares_json(w, "kinds", "kind", r.kinds);
  shares_json(w, "dp_ranks", "dp_rank", r.dp_ranks);
  shares_json(w, "stages", "stage", r.stages);
  shares_json(w, "workers", "rank", r.workers);
  w.key("steps").begin_array();
  for (const analysis::StragglerStep& s : r.steps) {
    w.begin_object(kInline).member("step", s.step).member("measured_s", s.measured_s);
    w.member("replayed_s", s.replayed_s).member("no_delay_s", s.no_delay_s).member("slowdown", s.slowdown);
    w.end_object();
  }
  w.end_array();
  w.member("dropped_steps", r.dropped_steps).member("clipped_transfers", r.clipped_transfers);
  w.member("clipped_delays", r.clipped_delays).end_object();
  return w.finish();
}

}  // namespace stretto::report
