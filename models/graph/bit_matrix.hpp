// SPDX-License-Identifier: Apache-2.0
// A dense matrix of bits, row by row in 64-bit words: sets of parameters per op. rows x columns / 8 bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto::graph {

class BitMatrix {
 public:
  using Word = std::uint64_t;
  BitMatrix() = default;
  BitMatrix(std::size_t rows, std::size_t columns)
      : columns_(columns), stride_((columns + 63) / 64), rows_(rows), words_(rows * stride_) {}
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::span<const Word> row(std::size_t r) const { return {words_.data() + r * stride_, stride_}; }
  std::span<Word> row(std::size_t r) { return {words_.data() + r * stride_, stride_}; }
  bool test(std::size_t r, std::size_t c) const { return (row(r)[c / 64] >> (c % 64) & 1) != 0; }
  void set(std::size_t r, std::size_t c) { row(r)[c / 64] |= Word{1} << (c % 64); }
  // Row `to` becomes the union of itself and row `from`.
  void merge(std::size_t to, std::size_t from) {
    const auto source = row(from);
    const auto target = row(to);
    for (std::size_t i = 0; i < stride_; ++i) target[i] |= source[i];
  }
  std::size_t count(std::size_t r) const {
    std::size_t n = 0;
    for (const Word w : row(r)) n += static_cast<std::size_t>(std::popcount(w));
    return n;
  }

 private:
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
  std::size_t rows_ = 0;
  std::vector<Word> words_;
};

// Calls f(column) for each set bit, ascending.
template <class F>
void for_each_bit(std::span<const BitMatrix::Word> row, F&& f) {
  for (std::size_t i = 0; i < row.size(); ++i)
    for (BitMatrix::Word w = row[i]; w != 0; w &= w - 1) f(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
}

}  // namespace stretto::graph
