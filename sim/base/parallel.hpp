// SPDX-License-Identifier: Apache-2.0
// Runs independent work on several threads. Which thread does what never shows in the result: work i writes result i.
#pragma once

#include <cstddef>
#include <functional>

namespace stretto {

// Calls work(i) once for each i < n, on up to `threads` threads (at least 1; this thread is one of them). The first
// exception in the order of i is thrown again after all have ended.
void parallel_for(std::size_t n, std::size_t threads, const std::function<void(std::size_t)>& work);

// Number of cores this process may use, at least 1.
std::size_t available_threads();

}  // namespace stretto
