// SPDX-License-Identifier: Apache-2.0
// Quantities in text: exact values, refusals and round trips.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "config/units_text.hpp"
#include "sim/base/random.hpp"

namespace stretto::config {
namespace {

TEST(UnitsText, DurationsAreExact) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0.1 us", 100'000},
      {"50 us", 50'000'000},
      {"1.5 ms", 1'500'000'000},
      {"1 ps", 1},
      {"0.3 s", 300'000'000'000},
      {"2 min", 120'000'000'000'000},
      {"3ns", 3'000},
      {"1e-3 ms", 1'000'000},
      {"0 s", 0},
      {"0.29 us", 290'000},
      {"1.0000000000 us", 1000'000},
      {"2.5e1 us", 25'000'000},
      {"7 \xC2\xB5s", 7'000'000},
      {"0.33333333333333333 us", 333'333},
      {"9223372036854775807 ps", 9223372036854775807},
      {"1.5 ps", 2},
  };
  for (const auto& [text, ps] : cases) {
    const auto parsed = parse_duration(text);
    EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.message;
    EXPECT_EQ(parsed.value.ps(), ps) << text;
  }
}

TEST(UnitsText, BytesAndRatesAreExact) {
  EXPECT_EQ(parse_bytes("4 MiB").value.count(), 4'194'304);
  EXPECT_EQ(parse_bytes("4 MB").value.count(), 4'000'000);
  EXPECT_EQ(parse_bytes("0.5 KiB").value.count(), 512);
  EXPECT_EQ(parse_bytes("1.5 kB").value.count(), 1'500);
  EXPECT_EQ(parse_bandwidth("10 Gbit/s").value.bits_per_second(), 10'000'000'000);
  EXPECT_EQ(parse_bandwidth("10 Gb/s").value.bits_per_second(), 10'000'000'000);
  EXPECT_EQ(parse_bandwidth("800 MB/s").value.bits_per_second(), 6'400'000'000);
  EXPECT_EQ(parse_bandwidth("1 GiB/s").value.bits_per_second(), 8'589'934'592);
  EXPECT_TRUE(parse_bandwidth("unlimited").value.is_unlimited());
  EXPECT_EQ(parse_fraction("2 %").value, 0.02);
  EXPECT_EQ(parse_fraction("0.02").value, 0.02);
  EXPECT_EQ(parse_fraction("95.6%").value, 0.956);
  EXPECT_EQ(parse_per_byte("0.66 ns/B").value, 660.0);
}

TEST(UnitsText, Refuses) {
  for (const char* text : {"",          " ",
                           "5",         "5 parsec",
                           "-5 us",     "us",
                           "5 us 3 ns", "5e us",
                           "0x5 us",    "5. us",
                           ".5 us",     "+5 us",
                           "010 us",    "nan us",
                           "inf",       "1e30 s",
                           "1e99999 s", "0.4 ps",
                           "1,5 us",    "5 us ",
                           "5 US",      "123456789012345678901 ps"})
    EXPECT_FALSE(parse_duration(text).ok()) << "'" << text << "'";
  for (const char* text : {"10 Gb", "10 Gbit", "1 KB", "1.5 B", "0.3 KiB", "9223372036854775808 B", "8388608 TiB"})
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
  for (const char* text :
       {"10 Gbps", "10 GB", "0 bit/s", "-1 Gbit/s", "10", "Unlimited", "0.3 bit/s", "9223372036854775807 bit/s"})
    EXPECT_FALSE(parse_bandwidth(text).ok()) << text;
  for (const char* text : {"2 percent", "-1 %", "nan", "% 2", "1e400"}) EXPECT_FALSE(parse_fraction(text).ok()) << text;
  for (const char* text : {"1 ns", "1", "-1 ns/B", "1e400 ns/B"}) EXPECT_FALSE(parse_per_byte(text).ok()) << text;
  for (const char* text : {"010", "1_0", "0x1", "1e3", "1.0", "", "-", "+1", " 1", "9223372036854775808", ".inf"})
    EXPECT_FALSE(parse_integer(text).ok()) << text;
  EXPECT_EQ(parse_integer("-12").value, -12);
}

TEST(UnitsText, EveryRefusalSaysWhatIsValid) {
  for (const char* text : {"5", "5 parsec", "-5 us", "fast"}) {
    EXPECT_NE(parse_duration(text).hint.find("ps, ns, us, ms, s, min"), std::string::npos) << text;
    EXPECT_NE(parse_bytes(text).hint.find("KiB, MiB, GiB"), std::string::npos) << text;
    EXPECT_NE(parse_bandwidth(text).hint.find("Gbit/s"), std::string::npos) << text;
    EXPECT_NE(parse_per_byte(text).hint.find("ns/B"), std::string::npos) << text;
  }
}

TEST(UnitsText, FormatsWithSensibleUnits) {
  EXPECT_EQ(format_duration(Duration::us(50)), "50 us");
  EXPECT_EQ(format_duration(Duration::us(1500)), "1.5 ms");
  EXPECT_EQ(format_duration(Duration::ps(1)), "1 ps");
  EXPECT_EQ(format_duration(Duration::ms(60'000)), "60 s");
  EXPECT_EQ(format_duration(Duration()), "0 us");
  EXPECT_EQ(format_bytes(Bytes(4'194'304)), "4 MiB");
  EXPECT_EQ(format_bytes(Bytes(4'000'000)), "4 MB");
  EXPECT_EQ(format_bytes(Bytes(411'041'792)), "392 MiB");
  EXPECT_EQ(format_bytes(Bytes(0)), "0 B");
  EXPECT_EQ(format_bandwidth(Bandwidth(10'000'000'000)), "10 Gbit/s");
  EXPECT_EQ(format_bandwidth(Bandwidth(100'000'000)), "100 Mbit/s");
  EXPECT_EQ(format_bandwidth(Bandwidth::unlimited()), "unlimited");
  EXPECT_EQ(format_per_byte(660), "0.66 ns/B");
  EXPECT_EQ(format_per_byte(1), "0.001 ns/B");
  EXPECT_EQ(format_per_byte(0), "0 ns/B");
}

// A value of random magnitude, often with few significant digits.
std::int64_t draw(RandomStream& random) {
  std::uint64_t v = random() >> (1 + random.below(62));
  if (random.below(2) == 0) {
    std::uint64_t scale = 1;
    while (v / scale >= 1000) scale *= 10;
    v -= v % scale;
  }
  return static_cast<std::int64_t>(v);
}

TEST(UnitsText, FormattedValuesReadBack) {
  RandomStream random(1, "units round trip");
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t v = draw(random);
    EXPECT_EQ(parse_duration(format_duration(Duration::ps(v))).value.ps(), v);
    EXPECT_EQ(parse_bytes(format_bytes(Bytes(v))).value.count(), v);
    if (v > 0) {
      EXPECT_EQ(parse_bandwidth(format_bandwidth(Bandwidth(v))).value.bits_per_second(), v);
    }
    const double d = std::ldexp(random.unit(), static_cast<int>(random.below(80)) - 50);
    EXPECT_EQ(parse_per_byte(format_per_byte(d)).value, d) << format_per_byte(d);
    EXPECT_EQ(parse_number(format_number(d)).value, d) << format_number(d);
    EXPECT_EQ(parse_fraction(format_number(d)).value, d);
  }
}

// No text may crash, and what is accepted is in range.
TEST(UnitsText, SurvivesRandomText) {
  RandomStream random(2, "units fuzz");
  const std::string alphabet = "0123456789012345.eE+-% /bBksmMGiTnup";
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(9); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    for (const bool ok : {parse_duration(text).ok(), parse_bytes(text).ok(), parse_bandwidth(text).ok(),
                          parse_per_byte(text).ok(), parse_fraction(text).ok(), parse_integer(text).ok()})
      accepted += ok ? 1 : 0;
    EXPECT_GE(parse_duration(text).value, Duration());
    EXPECT_TRUE(std::isfinite(parse_per_byte(text).value));
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace stretto::config
