// SPDX-License-Identifier: Apache-2.0
#include "io/import/straggler_trace.hpp"

#include <gtest/gtest.h>

#include <string>

#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"

namespace stretto::io {
namespace {

using test::replaced;

std::string csv() { return file::read(source_path("tests/fixtures/stragglers.csv")); }

std::string refusal(const std::string& text) {
  try {
    parse_straggler_trace(text, "f.csv");
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "accepted";
}

const char* const kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

TEST(StragglerTrace, CsvAndJsonSayTheSame) {
  const std::string header = kHeader;
  const StragglerTrace a =
      parse_straggler_trace("\xef\xbb\xbf" + header + "0,0,0,5,forward-compute,1.5,0.25,3,0,,2\r\n", "f");
  const StragglerTrace b = parse_straggler_trace(
      R"([{"dp_rank": 0, "stage": 0, "rank": 0, "step": 5, "optype": "forward-compute", "start_ts": 1.5,
          "duration": 0.25, "seq_id": 3, "mc": 0, "mb_id": null, "gmc": 2.0, "host": "x"}])",
      "f");
  for (const StragglerTrace* t : {&a, &b}) {
    ASSERT_EQ(t->timeline.ops.size(), 1U);
    const timeline::Op& o = t->timeline.ops.front();
    EXPECT_EQ(o.kind, timeline::OpKind::ForwardCompute);
    EXPECT_EQ(o.step, 5);
    EXPECT_EQ(o.sequence, 3);
    EXPECT_EQ(o.global_chunk, 2);
    EXPECT_EQ(o.end_s(), 1.75);
  }
  EXPECT_TRUE(a.report.dropped.empty());
  ASSERT_EQ(b.report.dropped.size(), 1U);
  EXPECT_EQ(b.report.dropped.front(), "column host: not used");
}

TEST(StragglerTrace, WrongFilesAreRefusedWithTheirPlace) {
  const std::string header = kHeader;
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(refusal(text).find(part), std::string::npos) << refusal(text);
  };
  has("", "the file is empty");
  has("a,b\n", "no trace of StragglerAnalysis");
  has(header, "holds no op");
  has(replaced(header, "rank,step", "rank,stop"), "column step is missing");
  has(replaced(header, "mb_id", "stage"), "column stage stands twice");
  has(header + "0,0,0,5,forward-computer,1,1,0,0,,0\n", "f.csv:2:9: error: unknown optype 'forward-computer'");
  has(header + "0,0,0,5,forward-compute,1,one,0,0,,0\n", "f.csv:2:27: error: duration is no number");
  has(header + "0,0,0,5,forward-compute,1,nan,0,0,,0\n", "duration is not finite");
  has(header + "0,0,0,5,forward-compute,1,1e300,0,0,,0\n", "duration is beyond");
  has(header + "0,0.5,0,5,forward-compute,1,1,0,0,,0\n", "stage is 0.5, must be a whole number");
  has(header + "0,0,0,5,forward-compute,1,1,99999999999,0,,0\n", "seq_id is");
  has(header + "0,0,0,5,forward-compute,1,1\n", "7 cells, the header has 11");
  const std::string row = "0,0,0,5,forward-compute,1,1,0,0,,0\n";
  has(header + row + row, "forward-compute number 0 of step 5, dp_rank 0, stage 0 stands twice");
  has(header + "1,0,0,5,forward-compute,1,1,0,0,,0\n", "1 of 2 workers (2 dp_ranks x 1 stages) have ops");
  has(header + row + "0,0,1,5,forward-compute,1,1,1,0,,0\n", "dp_rank 0, stage 0 stands under ranks 0 and 1");
  has(R"([{"dp_rank": 0, "optype": 1, "start_ts": 1, "duration": "x"}])", "stage is missing");
}

TEST(StragglerTrace, IsNoWorkload) {
  ImportOptions options;
  try {
    import_text(csv(), "f.csv", options);
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_NE(render(e.diagnostics()).find("`stretto stragglers f.csv`"), std::string::npos);
  }
}

TEST(StragglerTrace, DamageIsReadOrRefused) {
  RandomStream random(21, "straggler trace");
  const std::string text = csv();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(refusal(text.substr(0, random.below(text.size()))).empty());
  for (int trial = 0; trial < 50; ++trial) {
    std::string damaged = text;
    for (int i = 0; i < 200; ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      if (i % 20 == 0) {
        EXPECT_FALSE(refusal(damaged).empty());
      }
    }
  }
}

}  // namespace
}  // namespace stretto::io
