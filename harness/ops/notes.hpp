// SPDX-License-Identifier: Apache-2.0
// What the ops of one library note, for StrettoDrain.
#pragma once

#include <cstdint>

namespace stretto_tf {

struct Note {
  std::int64_t tag;
  std::int64_t start;
  std::int64_t end;
};

// ns of CLOCK_MONOTONIC.
std::int64_t now_ns();

void add_note(Note note);

}  // namespace stretto_tf
