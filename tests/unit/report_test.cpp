// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/table.hpp"
#include "report/text.hpp"
#include "tests/unit/report_sample.hpp"

namespace stretto::report {
namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    longest = std::max(longest, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Table, AlignsTextsAndTails) {
  const Table table{{{"name", Align::Left}, {"time"}},
                    {{{"a", ""}, {"1.20 s", " ± 0.03"}}, {{"long", ""}, {"11.20 s", ""}}}};
  EXPECT_EQ(render(table, 80),
            "name            time\n"
            "a      1.20 s ± 0.03\n"
            "long  11.20 s\n");
}

TEST(Table, ContinuesBelowInsteadOfCutting) {
  const Table table{{{"name", Align::Left}, {"first"}, {"second"}, {"third"}},
                    {{{"a", ""}, {"1", ""}, {"2", ""}, {"3", ""}}}};
  EXPECT_EQ(render(table, 20),
            "name  first  second\n"
            "a         1       2\n"
            "\n"
            "name  third\n"
            "a         3\n");
}

TEST(Table, NarrowerThanAnyColumnStillEnds) {
  const Table table{{{"name", Align::Left}, {"first"}, {"second"}}, {{{"a", ""}, {"1", ""}, {"2", ""}}}};
  EXPECT_EQ(render(table, 1), "name  first\na         1\n\nname  second\na          2\n");
}

TEST(Table, OneColumnAndNoRows) {
  EXPECT_EQ(render(Table{{{"name", Align::Left}}, {{{"a", ""}}}}, 80), "name\na\n");
  EXPECT_EQ(render(Table{{{"name", Align::Left}, {"x"}}, {}}, 80), "name  x\n");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("aa bb cc dd", 5, 2), "aa bb\n  cc\n  dd\n");
  EXPECT_EQ(wrap("", 5), "\n");
  EXPECT_EQ(wrap("abcdefgh ij", 4), "abcdefgh\nij\n");
  EXPECT_EQ(wrap("± ± ±", 5), "± ± ±\n");
}

TEST(Wrap, KeepsNumberAndUnitTogether) {
  EXPECT_EQ(wrap("used 50 % of", 8), "used\n50 % of\n");
  EXPECT_EQ(wrap("holds 3 MiB; b", 8), "holds\n3 MiB; b\n");
  EXPECT_EQ(wrap("NIC 3 up", 5), "NIC 3\nup\n");
}

TEST(Text, PoliciesThatAreAlike) {
  analysis::RunResult run = sample_result();
  run.results.resize(2);
  run.results[0].step_time.estimate.mean = 1.3001;
  EXPECT_TRUE(contains(text(run), "Verdict (fifo, the fastest, with random less than 0.1 % behind): ")) << text(run);
}

TEST(Text, WholeAnswer) {
  EXPECT_EQ(text(sample_result()), R"(vgg16-what-if
8 workers (v100), 2 servers, 10 Gbit/s, sync with barrier
the first of 2 points; seed 7, 5 replications

cluster.servers.count  fastest   step time  samples/s  scaling    gap  most used
2                      fifo        1.300 s      196.9   75.0 %  0.8 %  server 0 NIC up 97.0 %
4                      deadlock          -          -        -      -  -
scaling: samples/s over workers times those of one worker; gap: above the lower
  bound

cluster.servers.count = 2
policy            step time  samples/s      vs random        vs fifo    bound     gap  straggler
random      1.500 s ± 0.012      170.7        -        -13.3 % ± 0.7  1.290 s  16.3 %     12.5 %
fifo        1.300 s              196.9  +15.4 % ± 0.9        -        1.290 s   0.8 %      0.0 %
any layout                                                            0.960 s

Verdict (fifo, the fastest): Another order cannot help: the step is within 0.8 % of the load
  bound of server 0 NIC up.

used by fifo                    most used    mean  bytes per step
2 server NICs up  97.0 %  server 0 NIC up  64.0 %           4 GiB
2 worker devices  30.0 %  worker 0 device  27.5 %               -

server      holds  transfers  largest  of
server 0  400 MiB         20  392 MiB  fc6
server 1  128 MiB         12   64 MiB  fc7

Gradients of fifo by staleness: 0: 25.0 %, 1: 25.0 %, 2: 50.0 %; mean 1.25, at most 2.

cluster.servers.count = 4
policy  step time  samples/s  vs random  vs fifo  bound  gap  straggler
file     deadlock          -          -        -      -    -          -
file: deadlock: worker 0 waits for fc6, which waits for its turn behind conv1_1,
  which nobody sends

The answer rests on:
- TCP never loses a packet
- kernels do not disturb each other
)");
}

TEST(Text, NeverWiderThan100AndNeverDrivesATerminal) {
  analysis::RunResult run = sample_result();
  for (analysis::PolicyResult& r : run.results) {
    r.policy = "layer_priority with a long name\x1b[2J";
    r.gain_over_random.estimate = analysis::Estimate{12.5, 12.25, 12.75};
    r.gain_over_fifo.estimate = analysis::Estimate{12.5, 12.25, 12.75};
    for (analysis::ResourceUse& use : r.resources) use.name = "worker\r0";
    for (analysis::ServerLoad& s : r.servers) s.largest = "a/b\x07\xff";
  }
  run.name = "\x1b]0;title\x07";
  const std::string out = text(run);
  EXPECT_LE(longest_line(out), 100u);
  EXPECT_TRUE(contains(out, "\\x1b[2J"));
  for (const char c : out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << out;
  // The columns that did not fit are still there.
  EXPECT_TRUE(contains(out, "straggler"));
  EXPECT_TRUE(contains(out, "12.5 %"));
}

TEST(Text, ReasonsOfAbsentFiguresAreSaidOnce) {
  analysis::RunResult run = sample_result();
  run.results.resize(2);
  for (analysis::PolicyResult& r : run.results) {
    r.gap = {std::nullopt, "no bound for asynchronous steps"};
    r.lower_bound_s = r.gap;
  }
  const std::string out = text(run);
  const std::string note = "no bound: no bound for asynchronous steps\n";
  ASSERT_TRUE(contains(out, note)) << out;
  EXPECT_EQ(out.find(note), out.rfind("no bound for asynchronous steps") - 10);
}

TEST(Text, TimesOfATableShareOneUnit) {
  analysis::RunResult run = sample_result();
  run.results.resize(2);
  run.results[0].step_time.estimate = {0.0125, 0.0125, 0.0125};
  run.results[1].step_time.estimate = {0.000999, 0.000999, 0.000999};
  const std::string out = text(run);
  EXPECT_TRUE(contains(out, "12.50 ms")) << out;
  EXPECT_TRUE(contains(out, " 1.00 ms")) << out;
}

TEST(Text, ManyServersShowTheHeaviest) {
  analysis::RunResult run = sample_result();
  run.results.resize(1);
  for (int i = 2; i < 20; ++i) run.results[0].servers.push_back({"server " + std::to_string(i), 1000 + i, 1, "p", 9});
  const std::string out = text(run);
  EXPECT_TRUE(contains(out, "server 19 ")) << out;
  EXPECT_FALSE(contains(out, "server 2 ")) << out;
  EXPECT_TRUE(contains(out, "and 12 servers that hold less\n")) << out;
}

TEST(Text, EmptyResultStillNamesItself) {
  analysis::RunResult run;
  run.name = "n";
  run.setup = "s";
  EXPECT_EQ(text(run), "n\ns\nseed 1\n");
}

}  // namespace
}  // namespace stretto::report
