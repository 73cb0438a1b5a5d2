// SPDX-License-Identifier: Apache-2.0
// The page of a report as text, made from report/web/ by bundle.py at build time: what stands before the data and
// behind it.
#pragma once

#include <string_view>

namespace stretto::report {

extern const std::string_view kPageHead;
extern const std::string_view kPageTail;

}  // namespace stretto::report
