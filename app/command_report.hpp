// SPDX-License-Identifier: Apache-2.0
// `stretto report`: one HTML file of a result, an experiment or a sweep. `stretto plot`: a figure of a result.
#pragma once

#include <string>
#include <vector>

namespace stretto::app {

struct ReportOptions {
  std::string input;  // folder or result.json of `run --out`, results store, or experiment (YAML)
  std::string out = "report.html";
  std::vector<std::string> set;        // experiment only
  std::vector<std::string> attribute;  // policies whose causes are looked at; empty: none
  std::string sweep;                   // store only: number, name or hash; empty: the latest
  std::string bars = "100000";         // of each timeline, at most
  bool quiet = false;
  std::vector<std::string> command;  // the command line as typed
};

struct PlotOptions {
  std::string input;  // folder or result.json of `run --out`
  std::string out = "gains.svg";
};

int report_command(const ReportOptions& options);
int plot_command(const PlotOptions& options);

}  // namespace stretto::app
