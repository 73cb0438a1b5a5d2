// SPDX-License-Identifier: Apache-2.0
// Max-min fair sharing on the small cases that SimGrid and an exact rational solution agree on (maxmin_cases.txt gives
// the links and flows, maxmin_cases.csv the ends).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fluid_reference.hpp"
#include "tests/support/paths.hpp"

namespace stretto::testing {
namespace {

struct Case {
  FlowSystem system;
  std::vector<std::string> flows;
};

// Lines "case NAME", "link NAME BYTES_PER_SECOND LATENCY_S", "flow NAME START_S BYTES CAP LINK..."; "#" to the end.
std::map<std::string, Case> read_cases(std::istream& in) {
  std::map<std::string, Case> cases;
  Case* current = nullptr;
  std::map<std::string, std::pair<network::LinkId, double>> links;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string kind, name;
    if (!(words >> kind >> name)) continue;
    if (kind == "case") {
      current = &cases[name];
      links.clear();
    } else if (kind == "link") {
      double rate = 0, latency = 0;
      words >> rate >> latency;
      links[name] = {current->system.wires.add_link(name, Bandwidth::bytes_per_second(std::llround(rate))), latency};
    } else {
      double start = 0, bytes = 0, cap = 0;
      words >> start >> bytes >> cap;
      std::vector<network::LinkId> path;
      double begin = start;
      for (std::string link; words >> link;) {
        path.push_back(links.at(link).first);
        begin += links.at(link).second;
      }
      FlowSpec flow;
      flow.route =
          current->system.wires
              .add_route(path, cap > 0 ? Bandwidth::bytes_per_second(std::llround(cap)) : Bandwidth::unlimited())
              .index();
      flow.bytes = std::llround(bytes);
      flow.start_ps = Duration::seconds(begin).ps();
      current->system.flows.push_back(flow);
      current->flows.push_back(name);
    }
  }
  return cases;
}

TEST(MaxMin, EveryFlowOfThePublishedCasesEndsOnTime) {
  std::ifstream text(data_path("../peers/simgrid/maxmin_cases.txt"));
  std::ifstream table(data_path("../peers/simgrid/maxmin_cases.csv"));
  if (!text || !table) GTEST_SKIP() << "no " << data_path("../peers/simgrid/maxmin_cases.txt") << " and .csv";
  const auto cases = read_cases(text);
  std::map<std::pair<std::string, std::string>, double> ends;
  for (const auto& [name, c] : cases) {
    network::FluidNetwork net(c.system.wires);
    const auto end = solver_ends(net, c.system, [&](const auto& state, const auto& moving) {
      EXPECT_EQ(max_min_fault(state, c.system, moving), "") << name;
    });
    for (std::size_t f = 0; f < end.size(); ++f) ends[{name, c.flows[f]}] = static_cast<double>(end[f]) * 1e-12;
  }
  std::string line;
  std::getline(table, line);
  ASSERT_EQ(line.substr(0, 10), "case,flow,");
  std::size_t checked = 0;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 10U) << line;
    EXPECT_NEAR(ends.at({cells[0], cells[1]}), std::stod(cells[7]), 1e-9) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 58U);
  EXPECT_EQ(cases.size(), 15U);
}

}  // namespace
}  // namespace stretto::testing
