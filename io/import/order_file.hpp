// SPDX-License-Identifier: Apache-2.0
// Orders by names.
//   order file      TicTac's form: text, one line per parameter, name TAB priority (a whole number, least first; equal
//                   priorities share a rank). Blank lines are skipped.
//   arrival orders  JSON, "format": "stretto-arrivals", "version": 1, "orders": a list of lists of parameter names,
//                   each the order in which the parameters arrived in one step.
// gzip is accepted. At most 64 MiB of text. Names are matched with a graph later (plan::ranks_of).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/plan/named.hpp"

namespace stretto::io {

inline constexpr std::string_view kArrivalsFormat = "stretto-arrivals";
inline constexpr std::int64_t kArrivalsVersion = 1;

// UserError with the places of all lines that are wrong, at most 20.
plan::NamedOrder read_order_file(const std::string& path);
plan::NamedOrder parse_order_file(std::string_view text, const std::string& path);

std::vector<plan::NamedOrder> read_arrivals(const std::string& path);
std::vector<plan::NamedOrder> parse_arrivals(const std::string& text, const std::string& path);

}  // namespace stretto::io
