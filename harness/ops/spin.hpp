// SPDX-License-Identifier: Apache-2.0
// Between spin.cu, which knows CUDA, and the op, which knows TensorFlow. Both functions return an error's text or null.
#pragma once

#include <cstdint>

struct StrettoSpin {
  void* begin;  // events around the kernel
  void* end;
};

// Starts a kernel that takes `ns` on a stream (cudaStream_t). After an error there is nothing to end.
const char* stretto_spin_begin(void* stream, std::int64_t ns, StrettoSpin* spin_out);

// Waits for it; `ns` is what it took, by its events.
const char* stretto_spin_end(StrettoSpin spin_in, double* ns);
