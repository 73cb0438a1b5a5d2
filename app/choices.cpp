// SPDX-License-Identifier: Apache-2.0
#include "app/choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"

namespace stretto::app {

const std::vector<std::string>& output_formats() {
  static const std::vector<std::string> formats{"text", "json"};
  return formats;
}

void check_output_format(const std::string& format) {
  const std::vector<std::string>& formats = output_formats();
  if (std::find(formats.begin(), formats.end(), format) == formats.end())
    throw UserError(fmt::format("--format: unknown format '{}'", format), "valid: " + join(formats));
}

const std::vector<std::string>& network_kinds() {
  static const std::vector<std::string> kinds{"auto", "namespaces", "loopback"};
  return kinds;
}

}  // namespace stretto::app
