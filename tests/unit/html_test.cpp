// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "io/json/reader.hpp"
#include "report/json.hpp"
#include "report/read_result.hpp"
#include "report/svg.hpp"
#include "sim/base/diagnostic.hpp"
#include "tests/unit/report_sample.hpp"

namespace stretto::report {
namespace {

constexpr std::string_view kHostile = "</script><script>alert(1)</script><!-- \xE2\x80\xA8\xE2\x80\xA9&\"'\\";

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// A page whose every name is hostile, with `bars` bars.
Page hostile_page(std::size_t bars) {
  const std::string name(kHostile);
  Page page;
  page.result = sample_result();
  page.result->name = page.result->setup = name;
  page.result->results[0].verdict = page.result->results[0].policy = name;
  page.result->results[0].vary = {{name, name}};
  analysis::StepView view;
  view.policy = name;
  view.step_s = 1.5;
  view.names = {name};
  view.rows = {{name, "device"}};
  for (std::size_t i = 0; i < bars; ++i) {
    analysis::Bar bar;
    bar.ready = bar.handed = bar.on_wire = bar.begin = Time::ps(static_cast<std::int64_t>(i) * 1'000'000);
    bar.arrived = bar.end = bar.begin + Duration::ps(900'000);
    bar.alone = Duration::ps(900'000);
    view.bars.push_back(bar);
  }
  view.path.step_s = 1.5;
  view.path.links = {{name, 0, 1.5, {}}};
  view.moments_s = {0, 1.5};
  view.use = {{name, analysis::ResourceKind::Device, {0.25}}};
  page.steps = {view};
  page.steps_note = name;
  page.origin = {"0.1.0", "abc", {"stretto", name}, name, {{name, name}}};
  return page;
}

TEST(Html, ScriptSafeKeepsTheValue) {
  const std::string json = "[\"" + std::string("</script><!--\xE2\x80\xA8\xE2\x80\xA9\xE2\x82\xAC&") + "\"]";
  const std::string safe = script_safe(json);
  for (const char* part : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"}) EXPECT_EQ(count(safe, part), 0U) << part;
  EXPECT_EQ(count(safe, "\xE2\x82\xAC"), 1U);
  std::string before, after;
  json::Document(json, "a").read(
      [&](const json::Value& v) { v.elements([&](const json::Value& e) { before = *e.string(); }); });
  json::Document(safe, "b").read(
      [&](const json::Value& v) { v.elements([&](const json::Value& e) { after = *e.string(); }); });
  EXPECT_EQ(before, after);
}

TEST(Html, HostileNamesMakeNoElements) {
  const std::string page = html(hostile_page(10));
  EXPECT_EQ(count(page, "alert(1)"), count(page, "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\\u003c!--"));
  EXPECT_GE(count(page, "alert(1)"), 8U);
  // The page's own script, and one element for each of origin, result, steps and the step.
  EXPECT_EQ(count(page, "<script"), 5U);
  EXPECT_EQ(count(page, "</script"), 5U);
  EXPECT_EQ(count(page, "<!--"), 0U);
}

TEST(Html, NeedsNothingElse) {
  const std::string page = html({});
  for (const char* part : {" src=", "url(", "@import", "import(", "fetch(", "XMLHttpRequest", "WebSocket", "innerHTML",
                           "insertAdjacentHTML", "document.write", "eval("})
    EXPECT_EQ(count(page, part), 0U) << part;
  EXPECT_EQ(count(page, "http"), count(page, "http-equiv") + count(page, "http://www.w3.org/2000/svg"));
  EXPECT_EQ(count(page, "default-src 'none'"), 1U);
  EXPECT_EQ(count(page, "'sha256-"), 2U);
  EXPECT_EQ(count(page, "unsafe"), 0U);
  EXPECT_EQ(count(page, "{{"), 0U);
}

TEST(Html, Size) {
  EXPECT_LT(html({}).size(), 200'000U);
  const std::size_t one = html(hostile_page(1)).size();
  EXPECT_LT((html(hostile_page(10'001)).size() - one) / 10'000, 80U);
}

TEST(Svg, ShowsEveryPolicyOnce) {
  analysis::RunResult run = sample_result();
  run.results[2].policy = std::string(kHostile);
  const std::string svg = gains_svg(run);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, ">random</text>"), 1U);
  EXPECT_EQ(count(svg, ">fifo</text>"), 1U);
  EXPECT_EQ(count(svg, ">deadlock</text>"), 1U);
  EXPECT_EQ(count(svg, "<circle"), 1U);  // the gain of fifo
  EXPECT_EQ(count(svg, "<script"), 0U);
  EXPECT_EQ(count(svg, "<!--"), 0U);
  EXPECT_EQ(count(svg, "nan"), 0U);
  EXPECT_EQ(xml_text("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;\\n");
}

// A result of several jobs reads back, and the page tells them apart.
TEST(ReadResult, JobsReadBack) {
  analysis::RunResult result = sample_result();
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    analysis::JobResult& job = result.results[i].job.emplace();
    job.name = i % 2 == 0 ? "a" : "b";
    job.compared = "fifo";
    job.start = 0.25 * static_cast<double>(i);
    job.alone_s.value = 1.25;
    if (i == 0) {
      job.slowdown = analysis::Estimate{1.5, 1.4, 1.6};
      job.contended = "a server 0 NIC up";
      job.contended_use = 0.75;
      job.contended_by = {{"a", 0.25}, {"b", 0.75}};
    }
  }
  const std::string text = json(result);
  EXPECT_EQ(json(read_result(text, "result.json")), text);
  Page page;
  page.result = result;
  EXPECT_NE(html(page).find("\"a: "), std::string::npos);
}

TEST(ReadResult, WritesTheSameBytes) {
  analysis::RunResult run = sample_result();
  run.seed = 18446744073709551615U;
  const std::string text = json(run);
  EXPECT_EQ(json(read_result(text, "result.json")), text);
}

std::string refusal(std::string text) {
  try {
    read_result(text, "result.json");
  } catch (const UserError& error) {
    return render(error.diagnostics());
  }
  return "";
}

TEST(ReadResult, RefusesWithPlaces) {
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text = json(sample_result());
    text.replace(text.find(from), from.size(), to);
    return refusal(text);
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(changed("stretto-result", "stretto-manifest"), "a result says 'stretto-result'"));
  EXPECT_TRUE(has(changed("\"version\": 1", "\"version\": 2"), "newer than this stretto knows"));
  EXPECT_TRUE(has(changed("\"device\"", "\"davice\""), "results[0].resources[0].kind"));
  EXPECT_TRUE(has(changed("\"seed\": 7", "\"seed\": -7"), "18446744073709551615"));
  EXPECT_TRUE(has(changed("\"seed\"", "\"sead\""), "seed"));
  EXPECT_TRUE(has(changed("\"mean\": 1.5", "\"mean\": 0"), "neither a step time nor a deadlock"));
  EXPECT_TRUE(has(refusal("[]"), "result.json:1:1"));
}

}  // namespace
}  // namespace stretto::report
