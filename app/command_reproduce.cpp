// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/shipped.hpp"
#include "experiment/run/manifest.hpp"
#include "experiment/run/runner.hpp"
#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "report/json.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/version.hpp"

namespace stretto::app {

namespace {

constexpr int kDifferencesShown = 10;

// The first lines of two texts that differ, by number.
std::string differences(const std::string& before, const std::string& now) {
  std::istringstream a(before);
  std::istringstream b(now);
  std::string out;
  int shown = 0;
  for (int number = 1;; ++number) {
    std::string left;
    std::string right;
    const bool has_left = static_cast<bool>(std::getline(a, left));
    const bool has_right = static_cast<bool>(std::getline(b, right));
    if (!has_left && !has_right) return out;
    if (has_left == has_right && left == right) continue;
    if (shown++ == kDifferencesShown) return out + "...\n";
    out += fmt::format("line {}\n  was {}\n  now {}\n", number, has_left ? escape_control(left) : "absent",
                       has_right ? escape_control(right) : "absent");
  }
}

}  // namespace

int reproduce_command(const ReproduceOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = options.result;
  if (fs::is_directory(path, error)) path /= "manifest.json";
  const experiment::Manifest manifest = experiment::parse_manifest(file::read(path.string()), path.string());
  for (const std::string& change : experiment::changed_inputs(manifest))
    print_error(fmt::format("warning: {}\n", escape_control(change)));
  if (manifest.version != version() || manifest.commit != commit())
    print_error(fmt::format("warning: made by stretto {} (commit {}), this is {} (commit {})\n",
                            escape_control(manifest.version), escape_control(manifest.commit), version(), commit()));
  experiment::Options spec_options;
  spec_options.shipped = shipped_configs();
  const experiment::Experiment experiment =
      experiment::read_experiment(manifest.configuration, "configuration in " + path.string(), {}, spec_options);
  std::string json;
  {
    ProgressLine progress(options.quiet);
    json = report::json(experiment::run(experiment, {}, std::ref(progress)).result);
  }
  const fs::path result = path.parent_path() / "result.json";
  const bool beside = fs::exists(result, error);
  const std::string before = beside ? file::read(result.string()) : "";
  const bool reproduced = file::sha256_hex(json) == manifest.result_sha256;
  if (beside && file::sha256_hex(before) != manifest.result_sha256) {
    print(fmt::format(
        "not reproduced: {} is not what the manifest says was written{}\n{}", escape_control(result.string()),
        reproduced ? ", the new result is" : ", and neither is the new result", differences(before, json)));
    return 1;
  }
  if (!beside)
    print_error(fmt::format("warning: there is no {}: only the manifest's hash of it is compared\n",
                            escape_control(result.string())));
  if (reproduced) {
    print("reproduced: the result is equal byte for byte\n");
    return 0;
  }
  print("not reproduced: the result differs\n" + (beside ? differences(before, json) : ""));
  return 1;
}

}  // namespace stretto::app
