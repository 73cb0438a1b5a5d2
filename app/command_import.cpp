// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/import_text.hpp"
#include "app/output.hpp"
#include "app/targets.hpp"
#include "app/workload_text.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/workload.hpp"

namespace stretto::app {

int import_command(const ImportOptions& options) {
  std::vector<std::string> inputs{options.file, options.graph, options.variables};
  inputs.insert(inputs.end(), options.ranks.begin(), options.ranks.end());
  keep_inputs("--out", options.out, inputs);
  io::ImportOptions import;
  import.format = options.format;
  import.name = options.name;
  import.source = options.source;
  import.graph_path = options.graph;
  import.variables_path = options.variables;
  import.rank_paths = options.ranks;
  import.batch = batch_option(options.batch);
  const io::ImportResult result = io::import_any(options.file, import);
  if (options.summary) {
    print(import_notes(result) + '\n' + workload_text(result.graph));
    if (options.out.empty()) return 0;
  } else {
    print_error(import_notes(result));
    if (const std::string left_out = left_out_text(result.graph); !left_out.empty())
      print_error(fmt::format("left out: {}\n", left_out));
  }
  const std::string text = io::write_workload(result.graph);
  if (options.out.empty())
    print(text);
  else
    file::write_atomic(options.out, text);
  return 0;
}

}  // namespace stretto::app
