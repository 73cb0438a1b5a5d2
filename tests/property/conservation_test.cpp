// SPDX-License-Identifier: Apache-2.0
// What every run of every program obeys, read from its records: times in order, bytes and work conserved, pools and
// channels never over their limits and never idle over waiting work.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/program/simulation.hpp"
#include "tests/property/random_program.hpp"
#include "tests/support/recorder.hpp"
#include "tests/support/trials.hpp"

namespace stretto::testing {
namespace {

using channel::HandOver;
using program::ActivityRecord;
using program::Kind;

constexpr std::uint32_t kIterations = 3;

// A job on a unit of a pool: it waited from `ready` to `begin`.
struct Job {
  Time ready, begin, end;
};

void check_pool(const std::vector<Job>& jobs, std::uint32_t units) {
  if (units == 0) {
    for (const Job& j : jobs) ASSERT_EQ(j.ready, j.begin);
    return;
  }
  std::vector<Time> instants;
  for (const Job& j : jobs) {
    instants.push_back(j.begin);
    instants.push_back(j.ready);
    instants.push_back(j.end);
  }
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  for (const Time t : instants) {  // between t and the next instant
    std::size_t busy = 0, waiting = 0;
    for (const Job& j : jobs) {
      busy += j.begin <= t && t < j.end ? 1 : 0;
      waiting += j.ready <= t && t < j.begin ? 1 : 0;
    }
    ASSERT_LE(busy, units) << "at " << t.ps();
    if (waiting > 0) {
      ASSERT_EQ(busy, units) << waiting << " wait at " << t.ps();
    }
  }
}

class Checker {
 public:
  Checker(const RandomProgram& random, const std::vector<ActivityRecord>& records) : r_(random), p_(random.program) {
    for (const ActivityRecord& record : records) {
      EXPECT_TRUE(at_.emplace(std::pair{record.activity, record.iteration}, record).second);
    }
  }
  void check() {
    ASSERT_EQ(at_.size(), std::size_t{p_.size()} * kIterations);
    for (const auto& [key, record] : at_) check_record(record);
    for (std::uint32_t p = 0; p < p_.pools.size(); ++p) check_pool(jobs_[p], p_.pools[p].units);
    for (std::uint32_t c = 0; c < p_.channels.size(); ++c) check_channel(c);
  }
  const std::vector<Job>& jobs(std::uint32_t pool) { return jobs_[pool]; }

 private:
  // Ready when the last predecessor that it waits for and its own last instance have ended.
  void check_ready(const ActivityRecord& record) {
    std::vector<Time> ends;
    for (const auto& e : r_.edges)
      if (e.to == record.activity && record.iteration >= e.distance)
        ends.push_back(at_.at({e.from, record.iteration - e.distance}).end);
    std::sort(ends.begin(), ends.end());
    const program::Activity& activity = p_.activities[record.activity];
    if (activity.kind == Kind::Join && activity.amount > 0) ends.resize(static_cast<std::size_t>(activity.amount));
    Time expected = ends.empty() ? Time() : ends.back();
    if (record.iteration > 0) expected = std::max(expected, at_.at({record.activity, record.iteration - 1}).end);
    ASSERT_EQ(record.ready, expected) << "activity " << record.activity << " iteration " << record.iteration;
  }
  void check_record(const ActivityRecord& record) {
    check_ready(record);
    const program::Activity& activity = p_.activities[record.activity];
    ASSERT_LE(record.ready, record.handed);
    ASSERT_LE(record.handed, record.on_wire);
    ASSERT_LE(record.on_wire, record.begin);
    ASSERT_LE(record.begin, record.arrived);
    ASSERT_LE(record.arrived, record.end);
    switch (activity.kind) {
      case Kind::Compute:
        ASSERT_EQ(record.end - record.begin, Duration::ps(activity.amount));
        jobs_[activity.where].push_back({record.ready, record.begin, record.end});
        break;
      case Kind::Delay:
        ASSERT_EQ(record.end - record.ready, Duration::ps(activity.amount));
        break;
      case Kind::Join:
        ASSERT_EQ(record.end, record.ready);
        break;
      case Kind::Message: {
        const channel::Service &send = p_.send_service(activity.where), &receive = p_.receive_service(activity.where);
        if (send.pool != channel::kNoPool)
          jobs_[send.pool].push_back({record.handed, record.on_wire + send.of(activity.amount) * -1, record.on_wire});
        else
          ASSERT_EQ(record.handed, record.on_wire);
        if (receive.pool != channel::kNoPool)
          jobs_[receive.pool].push_back({record.arrived, record.end + receive.of(activity.amount) * -1, record.end});
        else
          ASSERT_EQ(record.arrived, record.end);
        const Duration alone =
            transfer_duration(Bytes(activity.amount), p_.wires.rate_alone(p_.channels[activity.where].route));
        ASSERT_GE(record.arrived - record.begin + Duration::ps(1), alone);
        break;
      }
    }
  }
  void check_channel(std::uint32_t c) {
    const program::Connection& channel = p_.channels[c];
    std::vector<ActivityRecord> moved;
    for (const auto& [key, record] : at_)
      if (p_.activities[record.activity].kind == Kind::Message && p_.activities[record.activity].where == c)
        moved.push_back(record);
    std::sort(moved.begin(), moved.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const Time earliest = moved[i].on_wire + channel.latency;
      ASSERT_GE(moved[i].begin, earliest);
      if (channel.streams == 0) {
        ASSERT_EQ(moved[i].begin, earliest);
        continue;
      }
      std::size_t moving = 0;
      bool slot_came_free = false, behind_another = false;
      for (std::size_t k = 0; k < moved.size(); ++k) {
        if (k == i) continue;
        moving += moved[k].begin <= moved[i].begin && moved[i].begin < moved[k].arrived ? 1 : 0;
        slot_came_free = slot_came_free || moved[k].arrived == moved[i].begin;
        behind_another = behind_another || (moved[k].begin == moved[i].begin && moved[k].on_wire <= moved[i].on_wire);
        if (moved[k].on_wire < moved[i].on_wire) {
          ASSERT_LE(moved[k].begin, moved[i].begin);
        }
      }
      if (moved[i].arrived > moved[i].begin) {
        ASSERT_LT(moving, channel.streams);
      }
      if (moved[i].begin > earliest) {
        ASSERT_TRUE(slot_came_free || behind_another);
      }
    }
    check_turns(moved, c);
  }
  void check_turns(std::vector<ActivityRecord>& moved, std::uint32_t c) {
    const HandOver rule = r_.order.discipline[c];
    const auto rank = [&](const ActivityRecord& r) { return r_.order.rank[r.activity]; };
    for (const ActivityRecord& r : moved)
      if (rule != HandOver::Strict || rank(r) == program::kPassFreely) {
        ASSERT_EQ(r.handed, r.ready);
      }
    if (rule != HandOver::Strict) return;
    std::erase_if(moved, [&](const ActivityRecord& r) { return rank(r) == program::kPassFreely; });
    std::sort(moved.begin(), moved.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.iteration, rank(a)) < std::pair(b.iteration, rank(b));
    });
    Time turn;
    for (const ActivityRecord& r : moved) {
      turn = std::max(turn, r.ready);
      ASSERT_EQ(r.handed, turn) << "activity " << r.activity;
    }
  }

  const RandomProgram& r_;
  const program::StepProgram& p_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ActivityRecord> at_;
  std::map<std::uint32_t, std::vector<Job>> jobs_;
};

TEST(Conservation, OfTimeWorkAndBytes) {
  RandomStream random(1, "conservation");
  for (const test::Trial trial : test::Trials(400)) {
    const RandomProgram r = random_program(random, static_cast<std::uint32_t>(1 + random.below(30)));
    program::Simulation s(r.program, r.order, kIterations);
    Recorder recorder;
    s.observe(&recorder);
    ASSERT_EQ(s.run(), program::Status::Reached);
    Checker checker(r, recorder.records);
    checker.check();
    ASSERT_FALSE(HasFatalFailure());
    for (std::uint32_t p = 0; p < r.program.pools.size(); ++p) {
      Duration sum;
      for (const Job& j : checker.jobs(p)) sum += j.end - j.begin;
      ASSERT_EQ(s.busy_time(program::PoolId(p)), sum) << "pool " << p;
    }
    for (std::uint32_t l = 0; l < r.program.wires.links.size(); ++l) {
      std::int64_t bytes = 0;
      for (std::uint32_t a = 0; a < r.program.size(); ++a) {
        if (r.program.activities[a].kind != Kind::Message) continue;
        const auto path = r.program.wires.path(r.program.channels[r.program.activities[a].where].route);
        if (std::find(path.begin(), path.end(), network::LinkId(l)) != path.end())
          bytes += r.program.activities[a].amount * kIterations;
      }
      ASSERT_EQ(s.bytes_carried(network::LinkId(l)), bytes) << "link " << l;
    }
  }
}

}  // namespace
}  // namespace stretto::testing
