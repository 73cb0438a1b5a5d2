// SPDX-License-Identifier: Apache-2.0
#include "app/workload_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/words.hpp"
#include "models/graph/statistics.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLargestShown = 10;

std::string bytes_of(Bytes bytes) { return analysis::bytes_text(static_cast<double>(bytes.count())); }

std::string time_of(Duration time) { return analysis::seconds_text(time.seconds()); }

}  // namespace

std::string left_out_text(const graph::Graph& graph) {
  const graph::Statistics s = graph::statistics(graph);
  if (s.gradients > 0 || s.backward_ops == 0) return "";
  double forward = s.forward_time.seconds();
  double backward = s.backward_time.seconds();
  std::string amount = fmt::format("{} ops", s.backward_ops);
  if (backward > 0) {
    amount = fmt::format("{}, {} of the device time", time_of(s.backward_time),
                         analysis::percent(backward / (forward + backward)));
  } else if (forward == 0) {  // a graph without times
    for (const graph::Op& op : graph.ops) (op.phase == graph::Phase::Forward ? forward : backward) += op.flops;
    if (backward > 0)
      amount += fmt::format(", {} of the operations", analysis::percent(backward / (forward + backward)));
  }
  return fmt::format("the backward pass ({}): the workload has no gradients, so it runs as inference", amount);
}

std::string workload_text(const graph::Graph& graph) {
  using report::Align;
  const graph::Statistics s = graph::statistics(graph);
  std::string out = report::wrap(escape_control(graph.name), kWidth);
  if (!graph.source.empty()) out += report::wrap("source: " + escape_control(graph.source), kWidth, 2);
  const auto row = [&](const char* name, const std::string& text) { out += fmt::format("  {:<12}{}\n", name, text); };
  row("batch", fmt::format("{} samples a step", graph.batch));
  row("ops", fmt::format("{} forward, {} backward, {} dependencies", s.forward_ops, s.backward_ops, s.edges));
  row("compute", fmt::format("{} forward, {} backward; longest path {}", time_of(s.forward_time),
                             time_of(s.backward_time), time_of(s.critical_path)));
  row("parameters", fmt::format("{}, {}; {} with a gradient ({}); {} that no op reads", s.parameters, bytes_of(s.bytes),
                                s.gradients, bytes_of(s.gradient_bytes), s.unread_parameters));
  if (const std::string left_out = left_out_text(graph); !left_out.empty()) row("left out", left_out);
  const double forward = s.forward_time.seconds();
  const auto total = static_cast<double>(s.bytes.count());
  if (forward > 0 && total > 0)
    row("ratio 1",
        fmt::format("at {:.4g} Gbit/s all parameters take as long as the forward pass", total * 8e-9 / forward));
  if (graph.parameters.empty()) return out;

  std::vector<const graph::Parameter*> largest;
  for (const graph::Parameter& p : graph.parameters) largest.push_back(&p);
  std::stable_sort(largest.begin(), largest.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const std::size_t shown = std::min(kLargestShown, largest.size());
  report::Table table{{{"largest parameters", Align::Left}, {"bytes"}, {"of all"}}, {}};
  for (std::size_t i = 0; i < shown; ++i)
    table.rows.push_back({{escape_control(largest[i]->name), ""},
                          {bytes_of(largest[i]->bytes), ""},
                          {analysis::percent(static_cast<double>(largest[i]->bytes.count()) / total), ""}});
  return out + '\n' + report::render(table, kWidth);
}

}  // namespace stretto::app
