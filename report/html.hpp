// SPDX-License-Identifier: Apache-2.0
// The report of `stretto report`: one HTML file that needs nothing else. Its page (report/web/) is fixed; what is
// reported lies in it as JSON in script elements that no browser runs, and the page's scripts put it on the screen as
// text only. Names may be hostile: "<", ">", "&" and the line separators of JavaScript are escaped in the JSON, and the
// page's policy (Content-Security-Policy) lets no script run but its own, known by their hashes, and nothing be loaded.
// Cost: linear in the data; about 50 B per bar of a timeline.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attribution.hpp"
#include "analysis/result.hpp"
#include "analysis/step_view.hpp"

namespace stretto::report {

// How what is reported was made.
struct Origin {
  std::string version;
  std::string commit;
  std::vector<std::string> command;
  std::string configuration;                                // effective YAML
  std::vector<std::pair<std::string, std::string>> inputs;  // path, SHA-256
};

struct Page {
  std::optional<analysis::RunResult> result;
  std::vector<analysis::StepView> steps;  // of the result's first point
  std::string steps_note;                 // where they come from, or why there are none
  std::optional<analysis::AttributionResult> attribution;
  std::string sweep;  // JSON of sweep_json(); empty: none
  Origin origin;
};

std::string html(const Page& page);

// JSON text that may stand in a script element of HTML: the same value, without "<", ">", "&", U+2028 and U+2029.
std::string script_safe(std::string_view json);

}  // namespace stretto::report
