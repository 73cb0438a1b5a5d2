// SPDX-License-Identifier: Apache-2.0
// The results store: what is stored is read again, twice is once, other files are left alone, damage is told; shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "study/export.hpp"
#include "study/store.hpp"
#include "study/sweep.hpp"
#include "tests/support/trials.hpp"

namespace stretto::study {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("study_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

SweepInfo info(std::int64_t size, const std::string& name = "s") {
  SweepInfo i;
  i.name = name;
  i.version = "1 (abc)";
  i.configuration = "a: 1\n";
  i.inputs = "00  x\n";
  i.paths = {"a.b", "c, \"d\""};
  i.size = size;
  i.hash = sweep_hash(i);
  return i;
}

StoredPoint point(std::int64_t index, double step = 0.25) {
  StoredPoint p;
  p.index = index;
  p.key = "k" + std::to_string(index);
  p.values = {std::to_string(index), "=x, \"\n\xc3\xa9"};
  p.seconds = 0.5;
  for (const char* policy : {"random", "tac"}) {
    StoredResult r{policy, "bound", "NIC", "", {}};
    r.figures.assign(figure_names().size(), std::nullopt);
    r.figures[0] = step / 3;
    r.figures[1] = -0.0;
    p.results.push_back(r);
  }
  return p;
}

std::string csv(Store& store, const SweepInfo& sweep) {
  std::string out;
  export_csv(store, sweep, [&](std::string_view text) { out += text; });
  return out;
}

std::string refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "";
}

std::string bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_F(StoreTest, KeepsWhatWasAdded) {
  SweepInfo sweep = info(5);
  {
    Store store(file("a"), Store::Access::Create);
    sweep.id = store.add_sweep(sweep);
    EXPECT_EQ(store.add_sweep(sweep), sweep.id);
    StoredPoint failed = point(4);
    failed.status = PointStatus::Failed;
    failed.error = "no\nway";
    failed.results.clear();
    const std::vector<StoredPoint> points{point(3), failed};
    store.add(sweep.id, points);
    store.add(sweep.id, std::vector<StoredPoint>{point(3, 99), point(0)});  // the first writer wins
  }
  EXPECT_FALSE(fs::exists(file("a") + "-wal"));  // the last one to leave folds the log into the file
  Store store(file("a"), Store::Access::Read);
  ASSERT_EQ(store.sweeps().size(), 1U);
  EXPECT_EQ(store.sweeps()[0].paths, sweep.paths);
  EXPECT_EQ(store.sweeps()[0].hash, sweep_hash(store.sweeps()[0]));
  EXPECT_EQ(store.stored(sweep), (std::vector<bool>{true, false, false, true, true}));
  EXPECT_EQ(store.counts(sweep.id).done, 2);
  EXPECT_EQ(store.counts(sweep.id).failed, 1);
  const auto p = store.point(sweep.id, 3);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->values, point(3).values);
  EXPECT_EQ(p->results, point(3).results);
  EXPECT_FALSE(store.point(sweep.id, 1));
  const std::string text = csv(store, sweep);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 2 * 2 + 3);
  EXPECT_NE(text.find("\"'=x, \"\"\n"), std::string::npos);
}

TEST_F(StoreTest, HashKnowsEveryPart) {
  std::set<std::string> hashes{info(5).hash};
  SweepInfo i = info(5);
  for (const auto& change : std::vector<std::function<void(SweepInfo&)>>{
           [](SweepInfo& s) { s.name += "x"; }, [](SweepInfo& s) { s.version += "x"; },
           [](SweepInfo& s) { s.configuration += "x"; }, [](SweepInfo& s) { s.inputs += "x"; },
           [](SweepInfo& s) { s.paths.pop_back(); }, [](SweepInfo& s) { ++s.size; }}) {
    SweepInfo other = i;
    change(other);
    EXPECT_TRUE(hashes.insert(sweep_hash(other)).second);
  }
}

TEST_F(StoreTest, MergeIsTheUnion) {
  SweepInfo sweep = info(40);
  Store whole(file("whole"), Store::Access::Create);
  sweep.id = whole.add_sweep(sweep);
  for (std::uint64_t part = 1; part <= 3; ++part) {
    Store store(file("part" + std::to_string(part)), Store::Access::Create);
    SweepInfo other = info(1, "other");  // so that numbers differ between stores
    store.add_sweep(other);
    const std::int64_t id = store.add_sweep(sweep);
    for (std::int64_t i = 0; i < 40; ++i) {
      if (i % 3 + 1 != static_cast<std::int64_t>(part)) continue;
      store.add(id, std::vector<StoredPoint>{point(i)});
      whole.add(sweep.id, std::vector<StoredPoint>{point(i)});
    }
  }
  Store all(file("all"), Store::Access::Create);
  std::int64_t points = 0;
  for (int round = 0; round < 2; ++round)
    for (int part = 1; part <= 3; ++part) {
      Store store(file("part" + std::to_string(part)), Store::Access::Read);
      const MergeReport r = merge(all, store);
      points += r.points;
      EXPECT_EQ(r.known > 0, round == 1);
    }
  EXPECT_EQ(points, 40);
  SweepInfo merged = all.sweeps().at(1);
  EXPECT_EQ(csv(all, merged), csv(whole, sweep));
  {
    Store bad(file("bad"), Store::Access::Create);
    bad.add(bad.add_sweep(sweep), std::vector<StoredPoint>{point(7, 99)});
  }
  Store bad(file("bad"), Store::Access::Read);
  EXPECT_NE(refused([&] { merge(all, bad); }).find("other results for point 7"), std::string::npos);
  all.remove(merged.id);
  all.shrink();
  EXPECT_EQ(all.sweeps().size(), 1U);
}

TEST_F(StoreTest, WritersWaitForEachOther) {
  SweepInfo sweep = info(400);
  const auto write = [&](std::int64_t from) {
    Store store(file("a"), Store::Access::Create);
    const std::int64_t id = store.add_sweep(sweep);
    for (std::int64_t i = from; i < 400; i += 2) store.add(id, std::vector<StoredPoint>{point(i), point(i / 2)});
  };
  {
    std::jthread one(write, 0);
    std::jthread two(write, 1);
  }
  Store store(file("a"), Store::Access::Read);
  sweep.id = 1;
  EXPECT_EQ(store.counts(1).done, 400);
  const std::string text = csv(store, sweep);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 4 * 400);
}

TEST_F(StoreTest, SeveralMayMakeOneFile) {
  for (int round = 0; round < 40; ++round) {
    const std::string name = file(std::to_string(round));
    std::vector<std::jthread> makers;
    for (int i = 0; i < 4; ++i) makers.emplace_back([&] { Store(name, Store::Access::Create).add_sweep(info(4)); });
    makers.clear();
    EXPECT_EQ(Store(name, Store::Access::Read).sweeps().size(), 1U);
  }
}

TEST_F(StoreTest, OtherFilesAreLeftAlone) {
  EXPECT_NE(refused([&] { Store(file("none"), Store::Access::Read); }).find("cannot open"), std::string::npos);
  EXPECT_FALSE(fs::exists(file("none")));
  EXPECT_NE(refused([&] { Store(file("no/such/folder"), Store::Access::Create); }).find("cannot open"),
            std::string::npos);
  std::ofstream(file("text")) << std::string(5000, 'x');
  const std::string text = bytes(file("text"));
  EXPECT_NE(refused([&] { Store(file("text"), Store::Access::Create); }).find("is no results store"),
            std::string::npos);
  EXPECT_EQ(bytes(file("text")), text);
  { Database(file("other"), Database::Access::Create).execute("CREATE TABLE t(x)"); }
  const std::string other = bytes(file("other"));
  for (const auto access : {Store::Access::Create, Store::Access::Write, Store::Access::Read})
    EXPECT_NE(refused([&] { Store(file("other"), access); }).find("is no results store"), std::string::npos);
  EXPECT_EQ(bytes(file("other")), other);
  { Store(file("newer"), Store::Access::Create); }
  { Database(file("newer"), Database::Access::Write).execute("PRAGMA user_version = 99"); }
  EXPECT_NE(refused([&] { Store(file("newer"), Store::Access::Read); }).find("newer than this program"),
            std::string::npos);
  std::ofstream(file("empty")).flush();
  EXPECT_EQ(Store(file("empty"), Store::Access::Create).sweeps().size(), 0U);
}

TEST_F(StoreTest, DamageIsToldAndNeverCrashes) {
  SweepInfo sweep = info(300);
  {
    Store store(file("good"), Store::Access::Create);
    sweep.id = store.add_sweep(sweep);
    for (std::int64_t i = 0; i < 300; ++i) store.add(sweep.id, std::vector<StoredPoint>{point(i)});
  }
  const std::string good = bytes(file("good"));
  const auto use = [&](const std::string& text) {
    std::ofstream(file("bad"), std::ios::binary) << text;
    const std::string told = refused([&] {
      Store store(file("bad"), Store::Access::Create);
      for (const SweepInfo& s : store.sweeps()) csv(store, s);
    });
    for (const char* more : {"bad", "bad-wal", "bad-shm", "bad-journal"}) fs::remove(file(more));
    return told;
  };
  EXPECT_EQ(use(good), "");
  EXPECT_NE(use(good.substr(0, good.size() / 2)), "");
  std::uint64_t told = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    std::string bad = good;
    const std::size_t page = 4096 * (hash_draw(1, k) % (good.size() / 4096));
    for (std::size_t i = 0; i < 200; ++i) bad[page + i] = static_cast<char>(hash_draw(2, k, i));
    if (!use(bad).empty()) ++told;
  }
  EXPECT_EQ(told, 60U);
}

// One flipped bit anywhere is told, or was in a place that says nothing.
TEST_F(StoreTest, NoFlippedBitChangesWhatIsRead) {
  SweepInfo sweep = info(40);
  {
    Store store(file("good"), Store::Access::Create);
    sweep.id = store.add_sweep(sweep);
    store.add_sweep(info(40, "empty"));
    for (std::int64_t i = 0; i < 40; ++i) store.add(sweep.id, std::vector<StoredPoint>{point(i)});
  }
  const std::string good = bytes(file("good"));
  const auto read = [&](const std::string& text) {
    std::ofstream(file("bad"), std::ios::binary) << text;
    std::string out;
    Store store(file("bad"), Store::Access::Read);
    for (const SweepInfo& s : store.sweeps()) out += s.name + csv(store, s);
    return out;
  };
  const std::string whole = read(good);
  std::size_t told = 0;
  const std::uint64_t trials = test::trials(1500, 40'000);
  for (std::uint64_t k = 0; k < trials; ++k) {
    std::string bad = good;
    const std::uint64_t bit = hash_draw(3, k) % (8 * good.size());
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    std::string found;
    const std::string error = refused([&] { found = read(bad); });
    if (!error.empty())
      ++told;
    else
      ASSERT_TRUE(found == whole) << "bit " << bit;
    for (const char* more : {"bad-wal", "bad-shm", "bad-journal"}) fs::remove(file(more));
  }
  EXPECT_GT(told, trials / 4);
}

TEST_F(StoreTest, ValuesOfTheWrongKindAreTold) {
  for (const char* change :
       {"UPDATE results SET step_time_s = 'fast'", "UPDATE results SET step_time_s = step_time_s * 1.0000001",
        "UPDATE results SET policy = NULL WHERE 0; UPDATE results SET policy = x'00'", "UPDATE points SET vals = '{'",
        "UPDATE points SET status = 'done '", "UPDATE points SET seconds = 'x'", "UPDATE points SET sum = ''",
        "UPDATE points SET point = point + 1", "DELETE FROM results WHERE point = 0",
        "DELETE FROM points WHERE point = 0", "UPDATE sweeps SET size = 1000000000000", "UPDATE sweeps SET size = -1",
        "UPDATE sweeps SET name = 'other'", "UPDATE sweeps SET paths = '[1]'",
        "UPDATE points SET sweep = 7; UPDATE results SET sweep = 7", "DROP TABLE results",
        "DROP TABLE results; CREATE VIEW results AS SELECT 1"}) {
    SCOPED_TRACE(change);
    fs::remove(file("a"));
    {
      Store store(file("a"), Store::Access::Create);
      const std::int64_t id = store.add_sweep(info(5));
      store.add(id, std::vector<StoredPoint>{point(0), point(3)});
    }
    { Database(file("a"), Database::Access::Write).execute(change); }
    EXPECT_NE(refused([&] {
                Store store(file("a"), Store::Access::Read);
                for (const SweepInfo& s : store.sweeps()) csv(store, s);
              }).find("is damaged"),
              std::string::npos);
  }
}

TEST_F(StoreTest, NothingOfADamagedStoreIsMerged) {
  constexpr std::int64_t kPoints = 600;  // of several batches
  {
    Store store(file("a"), Store::Access::Create);
    const std::int64_t id = store.add_sweep(info(kPoints));
    for (std::int64_t i = 0; i < kPoints; ++i) store.add(id, std::vector<StoredPoint>{point(i)});
  }
  {
    Database(file("a"), Database::Access::Write)
        .execute("UPDATE results SET step_time_s = 2 * step_time_s WHERE point = 599");
  }
  Store all(file("all"), Store::Access::Create);
  Store bad(file("a"), Store::Access::Read);
  EXPECT_NE(refused([&] { merge(all, bad); }).find("is damaged"), std::string::npos);
  EXPECT_TRUE(all.sweeps().empty());
}

TEST_F(StoreTest, OldTablesAreBroughtUpToDate) {
  SweepInfo sweep = info(5);
  std::string whole;
  {
    Store store(file("a"), Store::Access::Create);
    sweep.id = store.add_sweep(sweep);
    store.add(sweep.id, std::vector<StoredPoint>{point(0), point(3)});
    whole = csv(store, sweep);
  }
  {
    Database old(file("a"), Database::Access::Write);
    old.execute("ALTER TABLE points DROP COLUMN sum");
    old.execute("PRAGMA user_version = 1");
  }
  EXPECT_NE(refused([&] { Store(file("a"), Store::Access::Read); }).find("old version 1"), std::string::npos);
  { Store(file("a"), Store::Access::Write); }
  Store store(file("a"), Store::Access::Read);
  EXPECT_EQ(csv(store, sweep), whole);
}

TEST(Shards, PointsOfOneCostAreSpreadEvenly) {
  for (const std::uint64_t n : {1, 2, 3, 7, 16}) {
    const std::vector<std::uint32_t> shard = divide(std::vector<std::uint64_t>(1000 * n, 5), n);
    std::vector<std::uint64_t> sizes(n);
    // How often shard 1 has each value of a field that goes round with n values.
    std::vector<std::uint64_t> values(n);
    for (std::size_t i = 0; i < shard.size(); ++i) {
      ASSERT_TRUE(shard[i] >= 1 && shard[i] <= n);
      ++sizes[shard[i] - 1];
      if (shard[i] == 1) ++values[i % n];
    }
    for (std::uint64_t s = 0; s < n; ++s) {
      EXPECT_EQ(sizes[s], 1000U);
      EXPECT_NEAR(static_cast<double>(values[s]), 1000.0 / static_cast<double>(n),
                  5 * std::sqrt(1000.0 / static_cast<double>(n)));
    }
  }
}

TEST(Shards, CostsAreBalancedToWithinOnePoint) {
  RandomStream random(1, "shards");
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t n = 1 + random.below(20);
    std::vector<std::uint64_t> costs(1 + random.below(400));
    for (std::uint64_t& c : costs) c = 1 + (random.below(4) == 0 ? random.below(100'000) : random.below(100));
    const std::vector<std::uint32_t> shard = divide(costs, n);
    EXPECT_EQ(divide(costs, n), shard);
    std::vector<std::uint64_t> load(n);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      load[shard[i] - 1] += costs[i];
      all += costs[i];
    }
    const std::uint64_t most = *std::max_element(load.begin(), load.end());
    EXPECT_LE(most, all / n + *std::max_element(costs.begin(), costs.end()));
    double share = 0;
    std::size_t points = 0;
    const std::vector<ShardLoad> loads = shard_loads(costs, n);
    for (std::uint64_t s = 0; s < n; ++s) {
      EXPECT_NEAR(loads[s].share, static_cast<double>(load[s]) / static_cast<double>(all), 1e-9);
      share += loads[s].share;
      points += loads[s].points;
    }
    EXPECT_NEAR(share, 1, 1e-9);
    EXPECT_EQ(points, costs.size());
  }
}

}  // namespace
}  // namespace stretto::study
