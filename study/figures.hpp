// SPDX-License-Identifier: Apache-2.0
// What of a result the store keeps: every single figure of result.json, per policy. Lists (resources, servers, the
// histogram of staleness) are left out, and so are what-ifs and verdict, which a sweep does not make.
#pragma once

#include <vector>

#include "experiment/run/runner.hpp"
#include "study/store.hpp"

namespace stretto::study {

std::vector<StoredResult> stored_results(const analysis::RunResult& result);

}  // namespace stretto::study
