// SPDX-License-Identifier: Apache-2.0
// A target as libFuzzer calls it. The executable's name without "fuzz_" chooses it. `fuzz_NAME --seeds` prints the
// target's seeds, one path a line.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/file/file.hpp"
#include "tests/fuzz/targets.hpp"

namespace {

const stretto::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string executable = std::filesystem::path((*argv)[0]).filename().string();
  for (const stretto::fuzz::Target& target : stretto::fuzz::targets())
    if (executable == fmt::format("fuzz_{}", target.name)) chosen = &target;
  if (chosen == nullptr) {
    fmt::print(stderr, "{}: no such target\n", executable);
    std::exit(2);
  }
  if (*argc == 2 && std::string((*argv)[1]) == "--seeds") {
    for (const std::string& file : stretto::fuzz::seed_files(*chosen)) fmt::print("{}\n", file);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(*chosen, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
