// SPDX-License-Identifier: Apache-2.0
// The exporters of schedules: every row of the registry, and the text of each.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/export/exporters.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {
namespace {

graph::Graph parameters() {
  graph::Graph g;
  g.parameters = {{"conv/w", Bytes(1000), true, {}}, {"fc/w", Bytes(8000), true, {}}, {"fc/b", Bytes(10), true, {}}};
  return g;
}

// fc/w is cut in two, the pushes have a credit; fc/b goes first.
plan::Schedule schedule() {
  plan::Schedule s;
  s.workload = "toy";
  s.plan.policy = "search";
  s.plan.layout.servers = 2;
  s.plan.layout.transfers = {{graph::ParameterId(0), 0, Bytes(1000), 0},
                             {graph::ParameterId(1), 0, Bytes(4000), 0},
                             {graph::ParameterId(1), 1, Bytes(4000), 1},
                             {graph::ParameterId(2), 0, Bytes(10), 1}};
  s.plan.layout.first = {0, 1, 3, 4};
  s.plan.order.push.discipline = plan::Discipline::Credit;
  s.plan.order.push.credit = Bytes(10'000);
  s.plan.order.push.rank = {3, 1, 2, 0};
  return s;
}

bool mentions(const Exported& e, const std::string& word) {
  return std::any_of(e.lost.begin(), e.lost.end(),
                     [&](const std::string& lost) { return lost.find(word) != std::string::npos; });
}

TEST(Exporters, EveryRowHasANameAndAHelp) {
  for (const Exporter& e : exporters()) {
    EXPECT_EQ(&find_exporter(e.name), &e);
    EXPECT_FALSE(e.help.empty());
  }
  EXPECT_THROW(find_exporter("bytep"), UserError);
}

TEST(Exporters, NoFormatButTheTraceHasStartOffsets) {
  plan::Schedule s = schedule();
  s.plan.layout.transfers = {{graph::ParameterId(0), 0, Bytes(1000), 0},
                             {graph::ParameterId(1), 0, Bytes(8000), 0},
                             {graph::ParameterId(2), 0, Bytes(10), 1}};
  s.plan.layout.first = {0, 1, 2, 3};
  s.plan.order.pull.discipline = plan::Discipline::Priority;
  s.plan.order.pull.rank = s.plan.order.push.rank = {0, 1, 2};
  plan::Schedule staggered = s;
  staggered.plan.order.start_offsets = {Duration(), Duration::us(5)};
  for (const Exporter& e : exporters()) {
    if (e.write == nullptr || !e.servers) continue;
    EXPECT_FALSE(mentions(e.write(s, parameters()), "start offsets")) << e.name;
    EXPECT_TRUE(mentions(e.write(staggered, parameters()), "start offsets")) << e.name;
  }
}

TEST(Exporters, ByteSchedulerCountsElements) {
  const Exported e = find_exporter("bytescheduler").write(schedule(), parameters());
  EXPECT_EQ(e.text,
            "# ByteScheduler settings of the plan of search for toy\nexport USE_BYTESCHEDULER=1\n"
            "export BYTESCHEDULER_PARTITION=1000\nexport BYTESCHEDULER_CREDIT=2500\n"
            "export BYTESCHEDULER_CREDIT_TUNING=0\nexport BYTESCHEDULER_PARTITION_TUNING=0\n");
  EXPECT_TRUE(mentions(e, "ranks"));
  EXPECT_TRUE(mentions(e, "servers"));
}

TEST(Exporters, BytePSCountsPartitions) {
  const Exported e = find_exporter("byteps").write(schedule(), parameters());
  EXPECT_EQ(e.text,
            "# BytePS settings of the plan of search for toy\nexport DMLC_NUM_SERVER=2\n"
            "export BYTEPS_PARTITION_BYTES=4000\nexport BYTEPS_SCHEDULING_CREDIT=3\n"
            "# priority fc/b 0\n# priority fc/w -1\n# priority conv/w -2\n");
  EXPECT_TRUE(mentions(e, "10000 bytes of credit"));
}

TEST(Exporters, WithoutCreditNothingIsScheduledThere) {
  plan::Schedule s = schedule();
  s.plan.order.push.discipline = plan::Discipline::Strict;
  s.plan.order.push.credit = Bytes();
  const Exported byteps = find_exporter("byteps").write(s, parameters());
  EXPECT_NE(byteps.text.find("BYTEPS_SCHEDULING_CREDIT=0\n"), std::string::npos);
  EXPECT_TRUE(mentions(byteps, "none"));
  EXPECT_TRUE(mentions(byteps, "strict"));
  // All elements at once.
  EXPECT_NE(find_exporter("bytescheduler").write(s, parameters()).text.find("CREDIT=2253\n"), std::string::npos);
}

TEST(Exporters, NamesCannotEndAComment) {
  graph::Graph g = parameters();
  g.parameters[0].name = "a\nexport PATH=/tmp";
  const std::string text = find_exporter("byteps").write(schedule(), g).text;
  EXPECT_EQ(text.find("\nexport PATH"), std::string::npos) << text;
  EXPECT_THROW(find_exporter("dpro").write(schedule(), g), UserError);
}

TEST(Exporters, DproHasALinePerVariable) {
  const Exported e = find_exporter("dpro").write(schedule(), parameters());
  EXPECT_EQ(e.text, "conv/w 1000\nfc/w 4000\nfc/b 10\n");
  EXPECT_TRUE(mentions(e, "order"));
  EXPECT_TRUE(mentions(e, "credit"));
  EXPECT_FALSE(mentions(e, "unequal"));
  plan::Schedule s = schedule();
  s.plan.layout.transfers[1].bytes = Bytes(7000);
  s.plan.layout.transfers[2].bytes = Bytes(1000);
  EXPECT_FALSE(mentions(find_exporter("dpro").write(s, parameters()), "unequal"));
  s.plan.layout.transfers = {{graph::ParameterId(0), 0, Bytes(500), 0},
                             {graph::ParameterId(0), 1, Bytes(300), 0},
                             {graph::ParameterId(0), 2, Bytes(200), 0},
                             {graph::ParameterId(1), 0, Bytes(8000), 0},
                             {graph::ParameterId(2), 0, Bytes(10), 0}};
  s.plan.layout.first = {0, 3, 4, 5};
  s.plan.order = {};
  EXPECT_TRUE(mentions(find_exporter("dpro").write(s, parameters()), "unequal"));
}

// The second variable has no gradient and no number.
TEST(Exporters, DproGroupsNumberTheTensorsWithAGradient) {
  plan::Schedule s;
  s.plan.layout.transfers = {{graph::ParameterId(0), 0, Bytes(1000), 0},
                             {graph::ParameterId(1), 0, Bytes(8000), 0},
                             {graph::ParameterId(2), 0, Bytes(10), 0},
                             {graph::ParameterId(3), 0, Bytes(10), 0}};
  s.plan.layout.first = {0, 1, 2, 3, 4};
  s.plan.layout.bucket = {1, plan::kUnranked, 1, 0};
  graph::Graph g = parameters();
  g.parameters.push_back({"last", Bytes(10), true, {}});
  const auto write = [&] { return find_exporter("dpro_groups").write(s, g); };
  EXPECT_EQ(write().text, "{\n  \"mapping\": [\n    \"2\",\n    \"0+1\"\n  ]\n}\n");
  EXPECT_TRUE(write().lost.empty());
  s.plan.layout.bucket = {0, plan::kUnranked, 1, 0};
  s.plan.layout.split = true;
  s.plan.order.push = {.discipline = plan::Discipline::Credit, .rank = {2, plan::kUnranked, 1, 0}, .credit = Bytes(9)};
  s.plan.order.start_offsets = {Duration(), Duration::us(5)};
  EXPECT_NE(write().text.find("\"0+2\""), std::string::npos);
  for (const char* word : {"do not follow each other", "scattered", "order", "credit", "start offsets"})
    EXPECT_TRUE(mentions(write(), word)) << word;
}

TEST(Exporters, DproGroupsHoldWholeTensors) {
  plan::Schedule s = schedule();
  s.plan.layout.bucket = {0, 0, 0, 1};
  EXPECT_NE(find_exporter("dpro_groups").write(s, parameters()).text.find("\"0+1\""), std::string::npos);
  s.plan.layout.bucket = {0, 0, 1, 1};
  EXPECT_THROW(find_exporter("dpro_groups").write(s, parameters()), UserError);
}

TEST(Exporters, CsvHasARowPerSlice) {
  const Exported e = find_exporter("csv").write(schedule(), parameters());
  EXPECT_EQ(e.text,
            "variable,slice,bytes,server,pull_rank,push_rank\nconv/w,0,1000,0,,3\nfc/w,0,4000,0,,1\n"
            "fc/w,1,4000,1,,2\nfc/b,0,10,1,,0\n");
  EXPECT_TRUE(mentions(e, "free"));
  EXPECT_TRUE(mentions(e, "credit"));
}

TEST(Exporters, AnOrderFileHoldsWholeVariablesOnly) {
  plan::Schedule s = schedule();
  s.plan.order.pull.discipline = plan::Discipline::Strict;
  s.plan.order.pull.rank = {0, 1, 2, 3};
  EXPECT_THROW(find_exporter("order").write(s, parameters()), UserError);
  s.plan.layout.transfers = {{graph::ParameterId(0), 0, Bytes(1000), 0},
                             {graph::ParameterId(1), 0, Bytes(8000), 0},
                             {graph::ParameterId(2), 0, Bytes(10), 0}};
  s.plan.layout.first = {0, 1, 2, 3};
  s.plan.order.pull.rank = {2, 0, 1};
  s.plan.order.push = {};
  const Exported e = find_exporter("order").write(s, parameters());
  EXPECT_EQ(e.text, "fc/w\t0\nfc/b\t1\nconv/w\t2\n");
  EXPECT_FALSE(mentions(e, "pushes"));
}

}  // namespace
}  // namespace stretto::io
