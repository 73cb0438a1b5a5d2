// SPDX-License-Identifier: Apache-2.0
// Random trials of a test: quick by default, many more with STRETTO_SOAK=1.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace stretto::test {

inline bool soaks() { return std::getenv("STRETTO_SOAK") != nullptr; }
inline std::uint64_t trials(std::uint64_t quick, std::uint64_t soak) { return soaks() ? soak : quick; }
inline std::uint64_t trials(std::uint64_t quick) { return trials(quick, 50 * quick); }

// The number of a trial, which a failure in its scope names.
class Trial {
 public:
  explicit Trial(std::uint64_t number) : number_(number), trace_(__FILE__, __LINE__, number) {}
  operator std::uint64_t() const { return number_; }

 private:
  std::uint64_t number_;
  ::testing::ScopedTrace trace_;
};

// for (const Trial trial : Trials(400))
class Trials {
 public:
  explicit Trials(std::uint64_t quick) : count_(trials(quick)) {}
  Trials(std::uint64_t quick, std::uint64_t soak) : count_(trials(quick, soak)) {}

  struct Iterator {
    std::uint64_t at;
    Trial operator*() const { return Trial(at); }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count_}; }

 private:
  std::uint64_t count_;
};

}  // namespace stretto::test
