// SPDX-License-Identifier: Apache-2.0
// The answer for several jobs on one network as text: one row per job and compared policy.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "analysis/result.hpp"

namespace stretto::report {

// All results are of one point and have a job. At most `width` columns where names allow.
std::string jobs_text(std::span<const analysis::PolicyResult> point, std::size_t width);

}  // namespace stretto::report
