// SPDX-License-Identifier: Apache-2.0
#include "study/export.hpp"

#include <fmt/format.h>

#include "io/export/csv.hpp"

namespace stretto::study {

void export_csv(Store& store, const SweepInfo& sweep, const std::function<void(std::string_view)>& write) {
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::string out = "point";
  const auto add = [](std::string& line, std::string_view text) {
    line += ',';
    line += text;
  };
  for (const std::string& path : sweep.paths) add(out, io::csv_cell(path));
  out += ",status,error,policy,bound,busiest,deadlock";
  for (const std::string& name : figure_names()) add(out, name);
  out += '\n';
  store.each_point(sweep.id, [&](const StoredPoint& p) {
    std::string head = std::to_string(p.index);
    for (std::size_t i = 0; i < sweep.paths.size(); ++i)
      add(head, i < p.values.size() ? io::csv_cell(p.values[i]) : std::string());
    add(head, status_text(p.status));
    add(head, io::csv_cell(p.error));
    if (p.results.empty()) {
      out += head;
      out.append(4 + figure_names().size(), ',');
      out += '\n';
    }
    for (const StoredResult& r : p.results) {
      out += head;
      for (const std::string* text : {&r.policy, &r.bound, &r.busiest, &r.deadlock}) add(out, io::csv_cell(*text));
      for (const auto& figure : r.figures) add(out, figure ? fmt::format("{}", *figure) : std::string());
      out += '\n';
    }
    if (out.size() < kPart) return;
    write(out);
    out.clear();
  });
  write(out);
}

}  // namespace stretto::study
