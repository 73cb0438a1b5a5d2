// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and independent of the order of use.
//
// One root seed; each consumer names a stream ("orders/replication 3"). Two ways to draw:
//   hash_draw(stream, a, b, c): a 64-bit value that is a function of its arguments alone: nothing shifts when another
//     consumer draws more (noise per op, random transfer orders).
//   RandomStream: a sequence, a UniformRandomBitGenerator for Boost.Random's distributions (bit-identical over
//     compilers and libraries, which std's are not).
// Mixing function: SplitMix64 (Steele, Lea, Flood 2014). Cost: a few ns per draw.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace stretto {

// SplitMix64's finaliser: a bijection of 64-bit integers.
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// The key of the stream `name` under root seed `seed`.
constexpr std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = mix64(seed + 0x9E3779B97F4A7C15ULL);
  for (const char c : name) h = mix64(h ^ static_cast<unsigned char>(c)) + 0x9E3779B97F4A7C15ULL;
  return mix64(h);
}

// A uniform 64-bit value that depends on its arguments alone.
constexpr std::uint64_t hash_draw(std::uint64_t stream, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  std::uint64_t h = mix64(stream ^ mix64(a + 0x9E3779B97F4A7C15ULL));
  h = mix64(h ^ mix64(b + 0x3C6EF372FE94F82AULL));
  return mix64(h ^ mix64(c + 0xDAA66D2C7DDF743FULL));
}

// Uniform in (0, 1), from the top 53 bits; never 0 or 1.
constexpr double to_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53; }

// A sequence of 64-bit values: SplitMix64 from the stream's key.
class RandomStream {
 public:
  using result_type = std::uint64_t;
  RandomStream(std::uint64_t seed, std::string_view name) : state_(stream_key(seed, name)) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mix64(state_ += 0x9E3779B97F4A7C15ULL); }
  // Uniform in [0, n), n > 0, without bias.
  std::uint64_t below(std::uint64_t n);
  double unit() { return to_unit((*this)()); }

 private:
  std::uint64_t state_;
};

// A uniform permutation of 0..n-1 (Fisher-Yates).
std::vector<std::uint32_t> random_permutation(std::size_t n, RandomStream& stream);

}  // namespace stretto
