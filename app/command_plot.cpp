// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "app/command_report.hpp"
#include "app/output.hpp"
#include "app/targets.hpp"
#include "io/file/file.hpp"
#include "report/read_result.hpp"
#include "report/svg.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::app {

int plot_command(const PlotOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = options.input;
  if (fs::is_directory(path, error)) path /= "result.json";
  if (!fs::exists(path, error))
    throw UserError(fmt::format("'{}': no such file", path.string()),
                    "`stretto run FILE.yaml --out DIR` writes DIR/result.json, of which `stretto plot DIR` draws");
  check_target("--out", options.out, {path.string()});
  const std::string svg = report::gains_svg(report::read_result(file::read(path.string()), path.string()));
  file::write_atomic(options.out, svg);
  print(report::wrap(escape_control(fmt::format("Wrote {}.", options.out)), 100, 2));
  return 0;
}

}  // namespace stretto::app
