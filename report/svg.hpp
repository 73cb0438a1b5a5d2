// SPDX-License-Identifier: Apache-2.0
// The gains of a result as a figure for papers (SVG 1.1, light ground, no script): per point of `vary` a row per
// policy, fastest first, with its step time and the lower bound of its layout on the left, and on the right its gain
// over `random` with a 95 % interval, and where the bound begins. Colours are told apart by people of any colour
// vision. Names are escaped. Cost: linear in the result.
#pragma once

#include <string>
#include <string_view>

#include "analysis/result.hpp"

namespace stretto::report {

std::string gains_svg(const analysis::RunResult& result);

// `text` as character data of XML: markup escaped, control characters and bytes that are no UTF-8 made visible.
std::string xml_text(std::string_view text);

}  // namespace stretto::report
