// SPDX-License-Identifier: Apache-2.0
// Located trees: places, limits, merging, includes and overrides. Messages are covered by tests/golden.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "config/fields.hpp"
#include "config/load.hpp"
#include "sim/base/random.hpp"

namespace stretto::config {
namespace {

namespace fs = std::filesystem;

const Node& at(const Node& root, const std::string& path) {
  const Node* node = find_path(root, path);
  EXPECT_NE(node, nullptr) << path;
  static const Node kNone;
  return node ? *node : kNone;
}

std::string first_error(const std::string& text) {
  try {
    parse_text(text, "t.yaml");
  } catch (const UserError& e) {
    return e.diagnostics().front().message;
  }
  return "";
}

TEST(ConfigTree, PlacesCountFromOneAndCoverTheWord) {
  const Node root = parse_text("a: 1\nbig:\n  'k k': \"x\\\"y\"  # note\n  list: [one, 22]\n", "t.yaml");
  const Node& quoted = at(root, "big.k k");
  EXPECT_EQ(quoted.text, "x\"y");
  EXPECT_TRUE(quoted.quoted);
  EXPECT_EQ(quoted.place.line, 3);
  EXPECT_EQ(quoted.place.column, 10);
  EXPECT_EQ(quoted.place.length, 6);
  const Entry* key = find_entry(root, "big.k k");
  EXPECT_EQ(key->place.column, 3);
  EXPECT_EQ(key->place.length, 5);
  const Span span = at(root, "big.list").items.at(1).place.span();
  EXPECT_EQ(span.file, "t.yaml");
  EXPECT_EQ(span.line, 4);
  EXPECT_EQ(span.column, 15);
  EXPECT_EQ(span.length, 2);
  EXPECT_EQ(span.text, "  list: [one, 22]");
  EXPECT_FALSE(at(root, "a").quoted);
}

TEST(ConfigTree, BlockTextIsText) {
  const Node root = parse_text("a: |\n  12\nb: >-\n  true\n", "t.yaml");
  EXPECT_TRUE(at(root, "a").quoted);
  EXPECT_TRUE(at(root, "b").quoted);
}

TEST(ConfigTree, QuotesMayRunOverLines) {
  EXPECT_EQ(at(parse_text("a: \"one\n  two\"\nb: 1\n", "t.yaml"), "a").text, "one two");
  EXPECT_EQ(at(parse_text("a: 'it''s'\n", "t.yaml"), "a").text, "it's");
  EXPECT_EQ(first_error("a: 'it''s\n"), "the quote is not closed");
  EXPECT_EQ(first_error("a: \"x\\\"\nb: 1\n"), "the quote is not closed");
}

TEST(ConfigTree, KeepsTheOrderOfTheFile) {
  const Node root = parse_text("z: 1\na: 2\nm: 3\n", "t.yaml");
  ASSERT_EQ(root.entries.size(), 3U);
  EXPECT_EQ(root.entries[0].key, "z");
  EXPECT_EQ(root.entries[2].key, "m");
}

TEST(ConfigTree, LimitsHoldForHostileText) {
  EXPECT_EQ(first_error(std::string(kMaxFileBytes + 1, ' ')), "larger than 4 MiB");
  for (const std::string open : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    std::string text;
    while (text.size() < 100'000) text += open;
    EXPECT_NE(first_error(text), "") << open;
  }
  std::string deep = "x";
  for (int i = 0; i < kMaxNesting - 1; ++i) deep = fmt::format("[{}]", deep);
  EXPECT_EQ(first_error("a: " + deep + "\n"), "");
  EXPECT_NE(first_error(fmt::format("a: [{}]\n", deep)), "");
}

TEST(ConfigTree, KeysAndFindingsAreLimited) {
  std::string keys;
  for (std::size_t i = 0; i < kMaxKeys; ++i) keys += fmt::format("k{}: 1\n", i);
  EXPECT_EQ(first_error(keys), "");
  EXPECT_EQ(first_error(keys + "one: more\n"), "more than 10000 keys in one mapping");
  try {
    parse_text(keys + keys, "t.yaml");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.diagnostics().size(), kMaxFindings);
  }
}

TEST(ConfigTree, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_NE(first_error(text).find("anchors"), std::string::npos);
}

// Random bytes and random cuts of YAML either parse or throw UserError; nothing else.
TEST(ConfigTree, SurvivesRandomText) {
  RandomStream random(3, "yaml fuzz");
  const std::string alphabet = "ab: \n\n  -[]{},\"'#&*!|>?%@`~.1\t\r\\<";
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(40); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    try {
      parse_text(text, "t.yaml");
      ++parsed;
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics()) EXPECT_FALSE(render(d).empty());
    }
  }
  EXPECT_GT(parsed, 100);
}

// A random tree, scalars with awkward text.
Node random_tree(RandomStream& random, int depth) {
  Node node;
  const std::uint64_t kind = depth == 0 ? random.below(2) : random.below(4);
  const std::vector<std::string> texts = {"a",    "12",       "null", "~",         "a: b", "x # y", "- 1", "[",
                                          "it's", "\"",       "",     " pad ",     "true", "-3",    "é",   "a,b",
                                          "a\nb", "\x01\x7F", "...",  "---",       "%x",   "50 us", "\\",  "&anchor",
                                          "*x",   "!t",       "<<",   "10 Gbit/s", "@",    "1e-3"};
  if (kind == 0) {
    node.kind = Kind::Scalar;
    node.text = texts[random.below(texts.size())];
    node.quoted = true;
  } else if (kind == 1) {
    node.kind = Kind::Scalar;
    node.text = "10 Gbit/s";
  } else if (kind == 2) {
    node.kind = Kind::Sequence;
    for (std::uint64_t n = random.below(4); n > 0; --n) node.items.push_back(random_tree(random, depth - 1));
  } else {
    node.kind = Kind::Map;
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      const std::string key = texts[random.below(texts.size())] + std::to_string(n);
      node.entries.push_back({key, {}, random_tree(random, depth - 1)});
    }
  }
  return node;
}

TEST(ConfigTree, FlowTextReadsBack) {
  RandomStream random(4, "flow round trip");
  for (int i = 0; i < 5'000; ++i) {
    const Node tree = random_tree(random, 4);
    const std::string text = "v: " + to_flow(tree) + "\n";
    EXPECT_TRUE(at(parse_text(text, "t.yaml"), "v") == tree) << text;
  }
}

class ConfigFiles : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("stretto_config_" + std::to_string(::getpid()));
    fs::create_directories(directory_ / "sub");
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  Node load(const std::string& path, const std::vector<std::string>& sets = {}) {
    std::vector<Override> overrides;
    for (const std::string& s : sets) overrides.push_back(parse_override(s));
    Loader loader;
    return loader.resolve(loader.read(path), overrides);
  }
  fs::path directory_;
};

TEST_F(ConfigFiles, LocalValuesWinAndMappingsMerge) {
  write("sub/base.yaml", "m: {x: 1, y: {p: 1, q: 2}}\nlist: [1, 2, 3]\nkind: scalar\nonly: base\n");
  const std::string main =
      write("main.yaml", "include: sub/base.yaml\nm: {y: {q: 9}, z: 3}\nlist: [7]\nkind: {now: map}\n");
  const Node root = load(main);
  EXPECT_EQ(to_flow(root), "{m: {x: 1, y: {p: 1, q: 9}, z: 3}, list: [7], kind: {now: map}, only: base}");
  EXPECT_EQ(at(root, "only").place.span().file, (directory_ / "sub/base.yaml").string());
  EXPECT_EQ(at(root, "m.y.q").place.span().file, main);
  EXPECT_EQ(at(root, "m.y.q").place.line, 2);
}

TEST_F(ConfigFiles, LaterIncludesWinAndNestedOnesAreRelativeToTheirFile) {
  write("sub/inner.yaml", "v: inner\nw: inner\n");
  write("sub/outer.yaml", "include: inner.yaml\nw: outer\n");
  write("other.yaml", "v: other\n");
  EXPECT_EQ(to_flow(load(write("a.yaml", "s: {include: [sub/outer.yaml, other.yaml]}\n"))),
            "{s: {v: other, w: outer}}");
  EXPECT_EQ(to_flow(load(write("b.yaml", "s: {include: [other.yaml, sub/outer.yaml]}\n"))),
            "{s: {v: inner, w: outer}}");
  EXPECT_EQ(to_flow(load(write("c.yaml", "s: [{include: other.yaml}, 2]\n"))), "{s: [{v: other}, 2]}");
}

TEST_F(ConfigFiles, IncludeDepthAndNumberAreLimited) {
  for (int i = 0; i < 40; ++i) write(fmt::format("d{}.yaml", i), fmt::format("include: d{}.yaml\n", i + 1));
  write("d40.yaml", "v: 1\n");
  EXPECT_EQ(to_flow(load((directory_ / "d24.yaml").string())), "{v: 1}");
  EXPECT_THROW(load((directory_ / "d23.yaml").string()), UserError);
  for (int i = 0; i < 10; ++i)
    write(fmt::format("w{}.yaml", i), fmt::format("include: [w{0}.yaml, w{0}.yaml, w{0}.yaml, w{0}.yaml]\n", i + 1));
  write("w10.yaml", "v: 1\n");
  EXPECT_THROW(load((directory_ / "w0.yaml").string()), UserError);
}

TEST_F(ConfigFiles, TheSameFileMayBeIncludedTwice) {
  write("part.yaml", "v: 1\n");
  EXPECT_EQ(to_flow(load(write("a.yaml", "x: {include: part.yaml}\ny: {include: ./sub/../part.yaml}\n"))),
            "{x: {v: 1}, y: {v: 1}}");
}

TEST_F(ConfigFiles, CyclesThroughLinksAreFound) {
  const std::string main = write("a.yaml", "include: link.yaml\n");
  fs::create_symlink(main, directory_ / "link.yaml");
  EXPECT_THROW(load(main), UserError);
}

TEST_F(ConfigFiles, OverridesReplaceAndLaterOnesWin) {
  write("base.yaml", "s: {a: 1, b: 2}\n");
  write("more.yaml", "s: {b: 3}\n");
  const std::string main = write("a.yaml", "include: base.yaml\nlist: [x, {y: 1}]\n");
  EXPECT_EQ(to_flow(load(main, {"s.a=5", "s.a=6", "s.new.deep=[1, 2]"})),
            "{s: {a: 6, b: 2, new: {deep: [1, 2]}}, list: [x, {y: 1}]}");
  EXPECT_EQ(to_flow(load(main, {"s={c: 1}"})), "{s: {c: 1}, list: [x, {y: 1}]}");
  EXPECT_EQ(to_flow(load(main, {"list[1].y=2", "list[0]=z"})), "{s: {a: 1, b: 2}, list: [z, {y: 2}]}");
  EXPECT_EQ(to_flow(load(main, {"include=" + (directory_ / "more.yaml").string()})), "{s: {b: 3}, list: [x, {y: 1}]}");
  EXPECT_EQ(to_flow(load(main, {"\"s.x\"=1"})), "{s: {a: 1, b: 2}, list: [x, {y: 1}], s.x: 1}");
  EXPECT_EQ(to_flow(load(main, {"s={include: " + (directory_ / "more.yaml").string() + "}"})),
            "{s: {s: {b: 3}}, list: [x, {y: 1}]}");
}

TEST_F(ConfigFiles, AnOverrideStandsInTheTextOfTheCommandLine) {
  const Node root = load(write("a.yaml", "s: {a: 1}\n"), {"s.a=25 Gbit/s"});
  const Span span = at(root, "s.a").place.span();
  EXPECT_EQ(span.file, "--set");
  EXPECT_EQ(span.text, "s.a=25 Gbit/s");
  EXPECT_EQ(span.column, 5);
  EXPECT_EQ(span.length, 9);
}

TEST_F(ConfigFiles, MissingFilesAreNamed) {
  try {
    load((directory_ / "none.yaml").string());
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(render(e.diagnostics()).find("none.yaml: error: no such file"), std::string::npos);
  }
  EXPECT_THROW(load(directory_.string()), UserError);
  EXPECT_THROW(load("/dev/null"), UserError);
}

TEST_F(ConfigFiles, FilesAreListedOnce) {
  write("part.yaml", "v: 1\n");
  const std::string main = write("a.yaml", "x: {include: part.yaml}\ny: {include: part.yaml}\n");
  Loader loader;
  loader.resolve(loader.read(main), {});
  EXPECT_EQ(loader.files(), (std::vector<std::string>{main, (directory_ / "part.yaml").string()}));
}

TEST(ConfigFields, BlockYamlGroupsSections) {
  EXPECT_EQ(write_block({{"a", "1"}, {"s.x", "2"}, {"s.t.y", "3"}, {"s.t.z", ""}, {"s.u", "4"}, {"b", "5"}}),
            "a: 1\ns:\n  x: 2\n  t:\n    y: 3\n  u: 4\nb: 5\n");
}

}  // namespace
}  // namespace stretto::config
