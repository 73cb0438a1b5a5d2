// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/verdict.hpp"
#include "analysis/words.hpp"

namespace stretto::analysis {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::string alone(const PolicyResult& r) { return verdict(r, std::vector<PolicyResult>{r}); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << "not in: " << text
#define EXPECT_SILENT(text, part) EXPECT_FALSE(contains(text, part)) << "in: " << text

PolicyResult greedy_vgg() {
  PolicyResult r;
  r.policy = "fifo";
  r.step_time.estimate = {1.3, 1.3, 1.3};
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.30, 0},
                 {"server 0 NIC up", ResourceKind::ServerNicUp, 0.97, 3.3e9},
                 {"server 1 NIC up", ResourceKind::ServerNicUp, 0.31, 1e9}};
  r.servers = {{"server 0", 400 * kMiB, 20, "fc6", 392 * kMiB}, {"server 1", 128 * kMiB, 12, "fc7", 64 * kMiB}};
  r.lower_bound_s.value = 1.29;
  r.lower_bound_name = "load bound of server 0 NIC up";
  r.gap.value = 1.3 / 1.29 - 1;
  r.lower_bound_any_layout_s.value = 0.96;
  r.what_if = {{"faster workers 2x", 0.001, ChangeKind::Hardware},
               {"splitting fc6 over the servers", 0.31, ChangeKind::Layout},
               {"worker NICs 2x faster", 0.02, ChangeKind::Hardware},
               {"one more server", 0.22, ChangeKind::Hardware},
               {"server NICs 2x faster", 0.62, ChangeKind::Hardware}};
  return r;
}

TEST(Verdict, NamesTheFullServerItsCauseAndTheRemedy) {
  const std::string v = alone(greedy_vgg());
  EXPECT_EQ(v,
            "server 0 NIC up is full 97 % of the step (the least used of the 2 alike: 31 %). server 0 is the heaviest, "
            "400 MiB of 528 MiB (76 %), because it holds fc6 (392 MiB). What helps without new hardware: splitting fc6 "
            "over the servers: +31.0 % (at most 3.4 % is left after that for any layout and order on this hardware, in "
            "this training mode). What else helps: server NICs 2x faster: +62.0 %; one more server: +22.0 %; worker "
            "NICs 2x faster: +2.0 %. Another order of this layout cannot help: the step is within "
            "0.8 % of the load bound of server 0 NIC up.");
}

TEST(Verdict, HardwareChangeMovesTheBoundSoNothingIsLeftOfIt) {
  PolicyResult r = greedy_vgg();
  r.what_if = {{"server NICs 2x faster", 0.22, ChangeKind::Hardware}};
  EXPECT_SILENT(alone(r), "is left after that");
  EXPECT_SAYS(alone(r), " What helps: server NICs 2x faster: +22.0 %.");
}

TEST(Verdict, NamesWhatWasNotTried) {
  PolicyResult r = greedy_vgg();
  EXPECT_SILENT(alone(r), "Not tried");
  r.not_tried = {{"one more server", "too large"}, {"no barrier", "never\x1b ends"}};
  EXPECT_SAYS(alone(r), " Not tried: one more server (too large); no barrier (never\\x1b ends).");
}

TEST(Verdict, BalancedServersThatAreAllFull) {
  PolicyResult r = greedy_vgg();
  r.resources[2].utilisation = 0.93;
  r.servers[0].bytes = r.servers[1].bytes = 264 * kMiB;
  const std::string v = alone(r);
  EXPECT_SAYS(v, "All 2 server NICs (up) are full 93 % to 97 % of the step.");
  EXPECT_SAYS(v, "The 2 servers hold about the same, 264 MiB at most.");
  EXPECT_SILENT(v, "heaviest");
}

TEST(Verdict, OneServer) {
  PolicyResult r = greedy_vgg();
  r.resources.pop_back();
  r.servers.pop_back();
  EXPECT_SAYS(alone(r), "server 0 holds all 400 MiB; its largest parameter is fc6 (392 MiB).");
}

TEST(Verdict, SmallLargestParameterIsNoCause) {
  PolicyResult r = greedy_vgg();
  r.servers[0].largest_bytes = 100 * kMiB;
  EXPECT_SAYS(alone(r), "its largest parameter is fc6 (100 MiB)");
  EXPECT_SILENT(alone(r), "because it holds");
}

TEST(Verdict, TwoDirectionsOfOneNicTogether) {
  PolicyResult r = greedy_vgg();
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.2, 0},
                 {"server 0 NIC up", ResourceKind::ServerNicUp, 0.1, 0},
                 {"server 1 NIC up", ResourceKind::ServerNicUp, 0.48, 0},
                 {"server 0 NIC down", ResourceKind::ServerNicDown, 0.1, 0},
                 {"server 1 NIC down", ResourceKind::ServerNicDown, 0.46, 0}};
  EXPECT_SAYS(
      alone(r),
      "The network is what the step waits for: pulls, then pushes: server 1 NIC up is used 48 % and server 1 NIC "
      "down 46 % of the step; the devices compute 20 %, partly meanwhile.");
}

TEST(Verdict, ComputeBound) {
  PolicyResult r;
  r.policy = "tac";
  r.step_time.estimate = {1, 1, 1};
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.98, 0},
                 {"worker 1 device", ResourceKind::Device, 0.98, 0}};
  r.gap.value = 0.02;
  const std::string v = alone(r);
  EXPECT_SAYS(v, "All 2 devices are busy 98 % of the step.");
  EXPECT_SAYS(v, "No order of this layout can gain more than 2.0 % (lower bound).");
  EXPECT_SILENT(v, "server");
}

TEST(Verdict, SeveralThatAreFull) {
  PolicyResult r = greedy_vgg();
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.9981, 0},
                 {"worker 0 NIC down", ResourceKind::WorkerNicDown, 0.9982, 0},
                 {"server 0 NIC up", ResourceKind::ServerNicUp, 0.9, 0}};
  r.gap.value = 0.0001;
  r.lower_bound_name = "tail bounds of worker 0";
  const std::string v = alone(r);
  EXPECT_SAYS(v,
              "worker 0 NIC down is full 99.8 % of the step. So are worker 0 device (99.8 %) and server 0 NIC up "
              "(90 %). Every worker must move all 528 MiB, wherever they live.");
  EXPECT_SAYS(v, "Another order of this layout cannot help: the step is at the tail bounds of worker 0.");
  r.resources[0].utilisation = 0.5;
  EXPECT_SAYS(alone(r), "So is server 0 NIC up (90 %).");
  r.resources[1].utilisation = 1;
  EXPECT_SAYS(alone(r), "is full 100 % of the step");
  r.resources[1].utilisation = 0.99999;
  EXPECT_SAYS(alone(r), "is full 99.9 % of the step");
}

TEST(Verdict, OneSlowWorkerIsNamed) {
  PolicyResult r;
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.5, 0}, {"worker 1 device", ResourceKind::Device, 0.95, 0}};
  r.straggler_effect.value = 0.42;
  const std::string v = alone(r);
  EXPECT_SAYS(v, "worker 1 device is busy 95 % of the step (the least used of the 2 alike: 50 %).");
  EXPECT_SAYS(v, "The first worker waits 42 % of the step for the last one.");
}

TEST(Verdict, NothingFullSaysWhatTransfersWaitFor) {
  PolicyResult r;
  r.resources = {{"worker 0 device", ResourceKind::Device, 0.4, 0},
                 {"server 0 NIC up", ResourceKind::ServerNicUp, 0.45, 0},
                 {"server 0 NIC down", ResourceKind::ServerNicDown, 0.2, 0}};
  r.pull_waits = {.sender_not_ready = 1, .turn = 6, .service = 0, .wire_queue = 0, .wire_own = 2, .wire_shared = 1};
  r.push_waits = {.service = 3, .wire_own = 1};
  const std::string v = alone(r);
  EXPECT_SAYS(v,
              "Nothing is full: the devices compute 40 % of the step, the busiest resource (server 0 NIC up) is used "
              "45 %.");
  EXPECT_SAYS(v, "Pulls spend 60 % of their time waiting for their turn under the order.");
  EXPECT_SAYS(v, "Pushes spend 75 % of their time in service at the two ends");
}

TEST(Verdict, NamesTheFasterPolicyAndItsLimit) {
  PolicyResult slow = greedy_vgg();
  slow.policy = "random";
  slow.step_time.estimate.mean = 1.5;
  slow.gap.value = 0.20;
  PolicyResult fast = slow;
  fast.policy = "tac";
  fast.step_time.estimate.mean = 1.25;
  fast.gap.value.reset();
  fast.gap.reason = "no barrier";
  PolicyResult stuck = slow;
  stuck.policy = "stuck";
  stuck.step_time.estimate.mean = 0;
  stuck.deadlock = "worker 0 waits for fc6";
  const std::vector<PolicyResult> point{slow, fast, stuck};
  EXPECT_SAYS(verdict(slow, point),
              "Another policy helps: tac is 20.0 % faster; no order of this layout can gain more than 20.0 %");
  EXPECT_SAYS(verdict(fast, point), "What the best order would gain is not known (no barrier).");
  EXPECT_EQ(verdict(stuck, point), "The step cannot finish (deadlock): worker 0 waits for fc6");
}

TEST(Verdict, NothingTriedHelps) {
  PolicyResult r = greedy_vgg();
  r.what_if = {{"server NICs 2x faster", 0.002}, {"faster workers 2x", 0.004}};
  EXPECT_SAYS(alone(r), "None of the 2 changes tried gains 1 % (most: faster workers 2x: +0.4 %).");
}

TEST(Verdict, DriftIsNotAveragedAway) {
  PolicyResult r = greedy_vgg();
  r.step_time.trend = -0.25;
  EXPECT_SAYS(alone(r), "the last third takes -25.0 % against the first");
}

TEST(Verdict, HostileNamesCannotDriveATerminal) {
  PolicyResult r = greedy_vgg();
  r.servers[0].largest = "fc6\x1b[2J\n";
  const std::string v = alone(r);
  EXPECT_SAYS(v, "fc6\\x1b[2J\\n");
  for (const char c : v) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(Words, Units) {
  EXPECT_EQ(percent(0.1234), "12.3 %");
  EXPECT_EQ(percent(-0.0001), "0.0 %");
  EXPECT_EQ(signed_percent(-0.0001), "+0.0 %");
  EXPECT_EQ(signed_percent(-0.021), "-2.1 %");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(411041792), "392 MiB");
  EXPECT_EQ(bytes_text(1024.0 * 1024 * 1024 - 1), "1 GiB");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(1.23456), "1.235 s");
  EXPECT_EQ(seconds_text(0.0123456), "12.35 ms");
  EXPECT_EQ(seconds_text(123.456), "123.5 s");
  EXPECT_EQ(seconds_text(5e-12), "5.000 ps");
}

}  // namespace
}  // namespace stretto::analysis
