// SPDX-License-Identifier: Apache-2.0
// Elements of a large array, read block by block, against the strict reader that sees the whole text.
#include "io/json/records.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "io/file/source.hpp"
#include "io/json/writer.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"

namespace stretto::json {
namespace {

const std::vector<std::string> kKeys = {"a", "b", "args/a", "args/c"};

std::string described(Kind kind, const std::string& text) {
  return fmt::format("{}:{}|", static_cast<int>(kind), text);
}

std::string write(const std::string& text, bool packed = false) {
  const std::string path = ::testing::TempDir() + "/records.json";
  if (packed) {
    gzFile out = gzopen(path.c_str(), "wb1");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
  } else {
    std::ofstream(path, std::ios::binary) << text;
  }
  return path;
}

struct Outcome {
  bool sound = false;
  std::vector<std::string> rows;
};

Outcome in_blocks(const std::string& text, bool packed = false) {
  Outcome o;
  file::Source source(write(text, packed), file::Limits{});
  Records records("list", kKeys);
  o.sound = records.read(source, [&](const std::vector<Cell>& cells) {
    std::string row;
    for (const Cell& c : cells) row += described(c.kind, std::string(c.text));
    o.rows.push_back(row);
  });
  return o;
}

Outcome as_a_whole(const std::string& text) {
  Outcome o;
  std::size_t lists = 0;
  try {
    Document document(text, "t");
    document.read([&](const Value& root) {
      root.members([&](std::string_view key, const Value& list) {
        if (key != "list") return;
        ++lists;
        list.elements([&](const Value& element) {
          std::vector<std::string> cells(kKeys.size(), described(Kind::Null, ""));
          const auto set = [&](const std::string& name, const Value& v) {
            for (std::size_t i = 0; i < kKeys.size(); ++i)
              if (kKeys[i] == name)
                cells[i] = described(v.kind(), v.kind() == Kind::String   ? v.string().value_or("")
                                               : v.kind() == Kind::Number ? v.number_text().value_or("")
                                                                          : "");
          };
          element.members([&](std::string_view name, const Value& v) {
            if (name == "args" && v.kind() == Kind::Object)
              v.members([&](std::string_view inner, const Value& w) { set("args/" + std::string(inner), w); });
            else if (name == "a" || name == "b")
              set(std::string(name), v);
          });
          std::string row;
          for (const std::string& c : cells) row += c;
          o.rows.push_back(row);
        });
      });
    });
    o.sound = lists == 1;
  } catch (const UserError&) {
    o.sound = false;
  }
  return o;
}

std::string text_value(RandomStream& random) {
  const std::vector<std::string> parts = {"},",   "{",  "]",        "\"", "\\", ", {\"a\": 1},\n",
                                          "name", "\n", "\xC3\xA9", "[",  "x"};
  std::string text;
  for (std::uint64_t n = random.below(6); n > 0; --n) text += parts[random.below(parts.size())];
  return quote(text);
}

std::string any_value(RandomStream& random, int depth) {
  switch (random.below(depth > 2 ? 4U : 6U)) {
    case 0:
      return fmt::format("{}.{:03}", 1'700'000'000'000'000 + random.below(1'000'000'000), random.below(1000));
    case 1:
      return random.below(2) == 0 ? "null" : "true";
    case 2:
      return fmt::format("-{}e{}", random.below(100), random.below(9));
    case 3:
      return text_value(random);
    case 4:
      return "[" + any_value(random, depth + 1) + ", " + any_value(random, depth + 1) + "]";
    default:
      return "{\"a\": " + any_value(random, depth + 1) + " , " + text_value(random) + ":" +
             any_value(random, depth + 1) + "}";
  }
}

std::string element(RandomStream& random) {
  std::string text = "{";
  const std::vector<std::string> names = {"a", "b", "c", "args", "args/a", "ab"};
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const std::string name = names[random.below(names.size())];
    const std::string value = name == "args" && random.below(4) != 0
                                  ? "{\"c\": " + any_value(random, 2) + ", \"a\":" + any_value(random, 0) + "}"
                                  : any_value(random, 0);
    text += fmt::format("{}\"{}\": {}", text.size() > 1 ? ",\n  " : "", name, value);
  }
  return text + "}";
}

std::string list_of(RandomStream& random, std::size_t bytes) {
  std::string text = "{\"first\": {\"list\": [1, {}]}, \"list\": [";
  while (text.size() < bytes) text += (text.back() == '[' ? "\n" : " ,\n") + element(random);
  return text + "\n], \"last\": [{\"a\": 2}, \"},\"]}\n";
}

TEST(Records, SameAsTheStrictReader) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomStream random(seed, "records");
    const std::string text = list_of(random, 1'500'000 + 700'000 * seed);
    const Outcome whole = as_a_whole(text);
    ASSERT_TRUE(whole.sound);
    const Outcome blocks = in_blocks(text, seed % 2 == 1);
    ASSERT_TRUE(blocks.sound) << seed;
    ASSERT_EQ(blocks.rows.size(), whole.rows.size()) << seed;
    for (std::size_t i = 0; i < whole.rows.size(); ++i) ASSERT_EQ(blocks.rows[i], whole.rows[i]) << seed << " " << i;
  }
}

// What closes a piece for the parser also closes an unread list and its element.
TEST(Records, ElementsCutWithinAnUnreadListComeOnce) {
  std::string list;
  while (list.size() < 300'000) list += "{\"q\": 1},";
  std::string text = "{\"list\": [";
  for (int i = 0; i < 40; ++i)
    text += std::string(i == 0 ? "" : ",") + "{\"a\": " + std::to_string(i) + ", \"z\": [" + list + "0], \"b\": 2}";
  text += "]}";
  const Outcome whole = as_a_whole(text);
  const Outcome blocks = in_blocks(text);
  ASSERT_TRUE(whole.sound && blocks.sound);
  EXPECT_EQ(blocks.rows, whole.rows);
  EXPECT_EQ(blocks.rows.size(), 40U);
}

TEST(Records, ElementsLongerThanABlock) {
  const std::string longest = "{\"a\": 1, \"x\": \"" + std::string(3'000'000, '}') + "\", \"b\": 2}";
  const Outcome o = in_blocks("{\"list\": [" + longest + "," + longest + ", {\"a\": 5}]}");
  ASSERT_TRUE(o.sound);
  ASSERT_EQ(o.rows.size(), 3U);
  EXPECT_EQ(o.rows[0], "2:1|2:2|0:|0:|");
  EXPECT_EQ(o.rows[2], "2:5|0:|0:|0:|");
}

TEST(Records, WhatIsNotSoundIsLeftToTheStrictReader) {
  for (const char* text : {"",
                           "[]",
                           "{}",
                           "{\"list\": 1}",
                           "{\"list\": [",
                           "{\"list\": [{}",
                           "{\"list\": [{},]}",
                           "{\"list\": [{\"a\": 1} {\"a\": 2}]}",
                           "{\"list\": [1]}",
                           "{\"list\": [{\"a\": tru}]}",
                           "{\"list\": [{\"a\": 01}]}",
                           "{\"list\": [{\"a\": 1.}]}",
                           "{\"list\": [{\"a\": \"x]}",
                           "{\"list\": [{\"a\": 1}]",
                           "{\"list\": [{\"a\": 1}]} x",
                           "{\"list\": [{\"a\": 1}], \"list\": []}",
                           "{\"list\": [{\"a\": 1}], \"b\": [}",
                           "{\"list\": [{\"a\": \"\xff\"}]}",
                           "{\"list\": [{\"a\": \"x\ny\"}]}",
                           "{\"list\": [{\"a\": nan}]}",
                           "{\"b\": {\"list\": []}}",
                           "{\"list\": [{\"args\": {\"a\": 1]}]}"}) {
    EXPECT_FALSE(in_blocks(text).sound) << text;
  }
  EXPECT_TRUE(in_blocks("{\"list\": []}").sound);
  EXPECT_TRUE(in_blocks("\xEF\xBB\xBF{\"list\": [ ] , \"b\": 1}\n\n").sound);
}

TEST(Records, DamagedTextNeverGivesOtherRows) {
  RandomStream random(7, "records damaged");
  const std::string text = list_of(random, 1'200'000);
  std::size_t sound = 0;
  for (int trial = 0; trial < 30; ++trial) {
    std::string damaged = text;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(128));
    const Outcome blocks = in_blocks(damaged);
    const Outcome whole = as_a_whole(damaged);
    // Of members that nobody reads, blocks are checked less; what both accept must be the same.
    if (whole.sound) {
      ASSERT_TRUE(blocks.sound) << trial;
      ASSERT_EQ(blocks.rows, whole.rows) << trial;
    }
    sound += whole.sound ? 1U : 0U;
  }
  EXPECT_GT(sound, 2U);
}

TEST(Source, GzipOfSeveralMembersAndItsFaults) {
  const std::string part(700'000, 'x');
  const std::string path = write(part, true);
  std::ifstream in(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto read_all = [&](const std::string& bytes, const file::Limits& limits = {}) {
    std::ofstream(path, std::ios::binary) << bytes;
    file::Source source(path, limits);
    std::string text(3'000'000, '\0');
    text.resize(source.read(text.data(), text.size()));
    return text;
  };
  EXPECT_EQ(read_all(packed), part);
  EXPECT_EQ(read_all(packed + packed), part + part);
  EXPECT_EQ(read_all(packed + std::string(600, '\0')), part);
  const auto refused = [&](const std::string& bytes, const std::string& message, const file::Limits& limits = {}) {
    try {
      read_all(bytes, limits);
      ADD_FAILURE() << "not refused: " << message;
    } catch (const UserError& e) {
      EXPECT_NE(render(e.diagnostics()).find(message), std::string::npos) << render(e.diagnostics());
    }
  };
  refused(packed.substr(0, packed.size() / 2), "cut off");
  refused(packed + "abc", "something else follows");
  std::string damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 0x40);
  refused(damaged, "damaged near byte");
  file::Limits bomb;
  bomb.free_bytes = 1000;
  bomb.max_ratio = 2;
  refused(packed, "decompression bomb", bomb);
  file::Limits small;
  small.max_bytes = 100'000;
  refused(packed, "unpacks to more than the limit", small);
  refused(std::string(200'000, 'y'), "is larger than the limit", small);
  EXPECT_EQ(read_all("plain"), "plain");
  EXPECT_EQ(read_all(""), "");
  EXPECT_FALSE(file::is_regular(::testing::TempDir()));
}

}  // namespace
}  // namespace stretto::json
