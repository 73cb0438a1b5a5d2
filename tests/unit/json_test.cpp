// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "io/json/reader.hpp"
#include "io/json/repair.hpp"
#include "io/json/utf8.hpp"
#include "io/json/writer.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"

namespace stretto::json {
namespace {

std::string error_of(const std::string& text, const std::function<void(const Value&)>& visit,
                     const Limits& limits = {}) {
  try {
    Document(text, "f.json", limits).read(visit);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

// Reads everything below `value`.
void walk(const Value& value) {
  switch (value.kind()) {
    case Kind::Object:
      value.members([](std::string_view, const Value& v) { walk(v); });
      break;
    case Kind::Array:
      value.elements(walk);
      break;
    case Kind::String:
      value.string();
      break;
    case Kind::Number:
      value.number();
      break;
    case Kind::Bool:
      value.boolean();
      break;
    case Kind::Null:
      break;
  }
}

std::string walk_error(const std::string& text) { return error_of(text, walk); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Writer, WritesWhatIsAbsentAsNull) {
  Writer w;
  w.begin_object(Writer::Style::Inline).member("a", std::optional<double>(0.5)).member("b", std::optional<double>());
  w.member("c", std::optional<std::string>("x")).end_object();
  EXPECT_EQ(w.finish(), "{\"a\": 0.5, \"b\": null, \"c\": \"x\"}\n");
}

TEST(Writer, IndentsAndKeepsTheOrderOfCalls) {
  Writer w;
  w.begin_object().member("b", 1).member("a", "x").key("list").begin_array();
  w.begin_object(Writer::Style::Inline).member("k", true).key("n").begin_array().value(1).value(nullptr).end_array();
  w.end_object().end_array().key("none").begin_array().end_array().key("empty").begin_object().end_object();
  w.end_object();
  EXPECT_EQ(w.finish(),
            "{\n  \"b\": 1,\n  \"a\": \"x\",\n  \"list\": [\n    {\"k\": true, \"n\": [1, null]}\n  ],\n"
            "  \"none\": [],\n  \"empty\": {}\n}\n");
}

TEST(Writer, NumbersAreShortestAndReadBackExactly) {
  const auto text = [](auto number) {
    Writer w;
    w.value(number);
    std::string out = w.finish();
    out.pop_back();
    return out;
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(5e-324), "5e-324");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  RandomStream random(1, "json numbers");
  for (int i = 0; i < 20'000; ++i) {
    const double v = std::bit_cast<double>(random());
    if (!std::isfinite(v)) continue;
    double back = 0;
    Document(fmt::format("[{}]", text(v)), "f").read([&](const Value& root) {
      root.elements([&](const Value& e) { back = e.number().value(); });
    });
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(v)) << text(v);
  }
}

TEST(Writer, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(quote(std::string("\"\\\n\r\t\b\0\x7f/", 9)), R"("\"\\\n\r\t\u0008\u0000\u007f/")");
  EXPECT_EQ(quote("\xc3\xa9\xf0\x9f\x8e\xb5"), "\"\xc3\xa9\xf0\x9f\x8e\xb5\"");
  EXPECT_EQ(quote("a\xff\xc3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(quote("\xed\xa0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a surrogate
}

TEST(Writer, AnyBytesGiveAStringThatReadsBack) {
  RandomStream random(2, "json strings");
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (std::uint64_t n = random.below(20); n > 0; --n) bytes += static_cast<char>(random.below(256));
    std::string back;
    Document(fmt::format("[{}]", quote(bytes)), "f").read([&](const Value& root) {
      root.elements([&](const Value& e) { back = e.string().value(); });
    });
    ASSERT_EQ(find_invalid_utf8(back), std::string_view::npos);
    if (find_invalid_utf8(bytes) == std::string_view::npos) {
      ASSERT_EQ(back, bytes);
    }
  }
}

TEST(Writer, WrongUseIsOurFault) {
  EXPECT_THROW(Writer().begin_object().value(1), InternalError);
  EXPECT_THROW(Writer().begin_object().key("a").key("b"), InternalError);
  EXPECT_THROW(Writer().begin_object().key("a").end_object(), InternalError);
  EXPECT_THROW(Writer().begin_object().end_array(), InternalError);
  EXPECT_THROW(Writer().begin_array().key("a"), InternalError);
  EXPECT_THROW(Writer().begin_array().finish(), InternalError);
  EXPECT_THROW(Writer().finish(), InternalError);
  EXPECT_THROW(Writer().value(1).value(2), InternalError);
  EXPECT_THROW(Writer().value(std::nan("")), InternalError);
  EXPECT_THROW(Writer().value(std::numeric_limits<double>::infinity()), InternalError);
  for (const char* bad : {"", "1.", ".5", "01", "+1", "1e", "nan", "-", "1 "})
    EXPECT_THROW(Writer().number(bad), InternalError);
  EXPECT_EQ(Writer().number("-12.000001e+3").finish(), "-12.000001e+3\n");
}

TEST(Utf8, KnowsTheEdges) {
  const auto valid = [](std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; };
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(valid(good)) << good;
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x28\xa1"})
    EXPECT_FALSE(valid(bad));
}

TEST(Reader, ReadsValuesOfEveryKind) {
  std::string seen;
  std::optional<std::string> s;
  std::optional<std::int64_t> i;
  std::optional<double> d;
  std::optional<bool> t;
  std::optional<Kind> n;
  Document(
      "\xEF\xBB\xBF {\"s\": \"a\\u00e9\\n\", \"i\": -7, \"d\": 1.5e3, \"t\": true, \"n\": null, \"l\": [1, [2], {}]} ",
      "f")
      .read([&](const Value& root) {
        root.members([&](std::string_view key, const Value& v) {
          seen += key;
          if (key == "s") s = v.string();
          if (key == "i") i = v.integer();
          if (key == "d") d = v.number();
          if (key == "t") t = v.boolean();
          if (key == "n") n = v.kind();
          if (key == "l") v.elements([&](const Value& e) { seen += e.path(); });
        });
      });
  EXPECT_EQ(s, "a\xc3\xa9\n");
  EXPECT_EQ(i, -7);
  EXPECT_EQ(d, 1500);
  EXPECT_EQ(t, true);
  EXPECT_EQ(n, Kind::Null);
  EXPECT_EQ(seen, "sidtnll[0]l[1]l[2]");
}

TEST(Reader, NumberTextKeepsEveryDigit) {
  Document("[1700000000123456.789012 , 2]", "f").read([](const Value& root) {
    root.elements(
        [i = 0](const Value& e) mutable { EXPECT_EQ(e.number_text(), i++ == 0 ? "1700000000123456.789012" : "2"); });
  });
}

TEST(Reader, SyntaxErrorsHaveAPlace) {
  EXPECT_TRUE(contains(walk_error(""), "f.json:1:1: error: the file is empty"));
  EXPECT_TRUE(contains(walk_error("7"), "f.json:1:1: error: a JSON object or array must stand here"));
  EXPECT_TRUE(contains(walk_error("{\n\"a\": [1, 2}\n"), "f.json:2:11: error: '}' does not close the '[' of line 2"));
  EXPECT_TRUE(contains(walk_error("{\n\"a\": [1, 2"), "f.json:2:6: error: '[' is never closed"));
  EXPECT_TRUE(contains(walk_error("{\"a\": \"b"), "f.json:1:7: error: string without closing quote"));
  EXPECT_TRUE(contains(walk_error("{\"a\": \"b\nc\"}"), "f.json:1:9: error: control character in a string"));
  EXPECT_TRUE(contains(walk_error("{} x"), "f.json:1:4: error: unexpected text after the end"));
  EXPECT_TRUE(contains(walk_error("[\"\xff\"]"), "byte 2 (0xff) is not UTF-8"));
  for (const char* half : {"[\"\\udc00\"]", "[\"\\ud800\"]", "[\"\\ud800\\u0041\"]", "[\"\\udc00\\ud800\"]"})
    EXPECT_TRUE(contains(walk_error(half), "f.json:1:2: error: [0]: ")) << walk_error(half);
  EXPECT_TRUE(contains(walk_error("{\"a\": {\"b\": [1 2]}}"), "f.json:1:16: error: "));
  for (const char* bad :
       {"{\"a\" 1}",   "{\"a\": }",   "{a: 1}", "[1,]",   "[,1]",    "[1 2]",   "{\"a\": 1,}", "[nul]", "[tru]",
        "[01]",        "[1.]",        "[-]",    "[+1]",   "[.5]",    "[1e]",    "[1e999]",     "[NaN]", "[\"\\x\"]",
        "[\"\\u12\"]", "{\"a\":: 1}", "[1:2]",  "{1: 2}", "[truex]", "{\"a\"}", "{,}"})
    EXPECT_TRUE(contains(walk_error(bad), "f.json:1:")) << bad << walk_error(bad);
}

TEST(Reader, DepthSizeAndNumberOfErrorsAreLimited) {
  EXPECT_TRUE(contains(walk_error(std::string(100'000, '[')), "nested deeper than 64 levels"));
  const std::string fits = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(walk_error(fits), "no error");
  Limits limits;
  limits.max_bytes = 3;
  EXPECT_TRUE(contains(error_of("[1,2]", walk, limits), "over the limit of 3"));
  limits = {};
  limits.max_errors = 3;
  const std::string errors = error_of(
      "[1,1,1,1,1]", [](const Value& r) { r.elements([](const Value& e) { e.string(); }); }, limits);
  EXPECT_TRUE(contains(errors, "[2]: must be a string, not a number"));
  EXPECT_FALSE(contains(errors, "[3]"));
}

TEST(Reader, ErrorsOfContentComeTogetherWithTheirPath) {
  const auto visit = [](const Value& root) {
    root.fields({{"count", true, [](const Value& v) { v.integer(1, 9); }},
                 {"names", true, [](const Value& v) { v.elements([](const Value& e) { e.string(); }); }},
                 {"flag", false, [](const Value& v) { v.boolean(); }}});
  };
  EXPECT_EQ(error_of("{\"count\": 9, \"names\": [\"a\"]}", visit), "no error");
  EXPECT_EQ(
      error_of("{\n  \"count\": 10,\n  \"nmes\": [\"a\", 2],\n  \"flag\": 1,\n  \"flag\": true\n}", visit),
      "f.json:2:12: error: count: must be between 1 and 9\n    \"count\": 10,\n             ^~\n"
      "f.json:3:3: error: nmes: unknown key\n    \"nmes\": [\"a\", 2],\n    ^~~~~~\n  hint: did you mean \"names\"?\n"
      "f.json:4:11: error: flag: must be true or false, not a number\n    \"flag\": 1,\n            ^\n"
      "f.json:5:3: error: flag: key appears twice\n    \"flag\": true\n    ^~~~~~\n");
  EXPECT_TRUE(contains(error_of("{\"names\": [\"a\", 2]}", visit), "names[1]: must be a string, not a number"));
  EXPECT_TRUE(contains(error_of("{\"names\": []}", visit), "key \"count\" is missing"));
  EXPECT_TRUE(contains(error_of("{\"names\": [], \"count\": 1.0}", visit), "without fraction and exponent"));
  EXPECT_TRUE(contains(error_of("{\"names\": [], \"count\": 9223372036854775808}", visit), "at most 64 bits"));
  EXPECT_TRUE(contains(error_of("[]", visit), "must be an object, not an array"));
}

TEST(Repair, OnlyWhatIsCertain) {
  const auto repaired = [](const char* text) { return repair(text).text; };
  for (const char* sound :
       {"{\"a\": [1, \"x\", null, true], \"b\": \"c\\\"d\\\\\"}", "[]", "[\"\", {\"\": \"\"}]", "[\"a\", -1]"})
    EXPECT_EQ(repaired(sound), sound);
  EXPECT_FALSE(repair("{\"a\": \"x\", \"b\": {\"c\": []}}").changed());
  EXPECT_EQ(repaired("{\"a\": \"x \"y\" z\", \"b\": 1}"), "{\"a\": \"x \\\"y\\\" z\", \"b\": 1}");
  EXPECT_EQ(repaired("{\"a\": \"f(\"x\", 2)\"}"), "{\"a\": \"f(\\\"x\\\", 2)\"}");
  EXPECT_EQ(repaired("{\"a\": \"x\ny\"}"), "{\"a\": \"x\\u000ay\"}");
  EXPECT_EQ(repaired("[NaN, -inf, Infinity, nano]"), "[null, null, null, nano]");
  EXPECT_EQ(repaired("[{\"a\": 1},\n"), "[{\"a\": 1}\n]");
  EXPECT_EQ(repaired("[{\"a\": 1}"), "[{\"a\": 1}]");
  EXPECT_EQ(repaired("{\"a\": [1, 2]\n"), "{\"a\": [1, 2]\n}");
  EXPECT_EQ(repaired("{\"a\": [{\"b\": 1},\n"), "{\"a\": [{\"b\": 1}\n]}");
  // A cut inside an element stays as it is.
  for (const char* cut : {"[{\"a\": 1", "[{\"a\": \"x", "{\"a\": [1, 2", "{\"a\": [{\"b\": {}", "[1", "[", "{"})
    EXPECT_EQ(repaired(cut), cut);
  EXPECT_EQ(repair("[NaN, \"a\tb\"]").notes().size(), 2U);
}

TEST(Repair, BrokenTextIsReadAgainFromTheBeginning) {
  std::size_t elements = 0;
  const auto read = [&](const std::string& text) {
    elements = 0;
    return read_repaired(
        text, "f", [&](const Value& root) { root.elements([&](const Value&) { ++elements; }); }, [&] { elements = 0; });
  };
  EXPECT_TRUE(read("[1, 2]").empty());
  EXPECT_EQ(elements, 2U);
  EXPECT_EQ(read("[1, 2, NaN, {\"a\": 1},\n").size(), 2U);
  EXPECT_EQ(elements, 4U);
  for (const char* hopeless : {"[1, 2", "[1, NaN"}) EXPECT_THROW(read(hopeless), UserError) << hopeless;
}

}  // namespace
}  // namespace stretto::json
