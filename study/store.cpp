// SPDX-License-Identifier: Apache-2.0
#include "study/store.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "experiment/spec/sweep_points.hpp"
#include "io/file/sha256.hpp"
#include "io/json/reader.hpp"
#include "io/json/writer.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::study {

namespace {

// A list of texts in one column, as a JSON array.
std::string pack(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + json::quote(text);
  return out + "]";
}

std::vector<std::string> unpack(const std::string& packed, const std::string& path) {
  std::vector<std::string> texts;
  try {
    json::Document(packed, path).read([&](const json::Value& root) {
      root.elements([&](const json::Value& item) {
        if (auto text = item.string()) texts.push_back(std::move(*text));
      });
    });
  } catch (const UserError& e) {
    throw UserError(fmt::format("results store '{}' is damaged: a list of texts is none: {}", path,
                                e.diagnostics().front().message));
  }
  return texts;
}

std::string schema() {
  std::string figures;
  for (const std::string& name : figure_names()) figures += fmt::format(", {} REAL", name);
  return "CREATE TABLE sweeps(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "
         "version TEXT NOT NULL, configuration TEXT NOT NULL, inputs TEXT NOT NULL, paths TEXT NOT NULL, "
         "size INTEGER NOT NULL);"
         "CREATE TABLE points(sweep INTEGER NOT NULL, point INTEGER NOT NULL, key TEXT NOT NULL, vals TEXT NOT NULL, "
         "status TEXT NOT NULL, error TEXT NOT NULL, seconds REAL NOT NULL, sum TEXT NOT NULL DEFAULT '', "
         "PRIMARY KEY(sweep, point)) WITHOUT ROWID;"
         "CREATE TABLE results(sweep INTEGER NOT NULL, point INTEGER NOT NULL, place INTEGER NOT NULL, "
         "policy TEXT NOT NULL, bound TEXT NOT NULL, busiest TEXT NOT NULL, deadlock TEXT NOT NULL" +
         figures +
         ", PRIMARY KEY(sweep, point, place)) WITHOUT ROWID;"
         "CREATE VIEW steps AS SELECT sweeps.name, points.sweep, points.point, points.vals, points.status, "
         "results.policy, results.step_time_s FROM points JOIN sweeps ON sweeps.id = points.sweep "
         "LEFT JOIN results ON results.sweep = points.sweep AND results.point = points.point;";
}

std::string insert_result_sql() {
  std::string columns = "sweep, point, place, policy, bound, busiest, deadlock";
  std::string marks = "?, ?, ?, ?, ?, ?, ?";
  for (const std::string& name : figure_names()) {
    columns += ", " + name;
    marks += ", ?";
  }
  return fmt::format("INSERT INTO results({}) VALUES({})", columns, marks);
}

std::string select_results_sql() {
  std::string columns = "point, policy, bound, busiest, deadlock";
  for (const std::string& name : figure_names()) columns += ", " + name;
  return fmt::format("SELECT {} FROM results WHERE sweep = ? AND point BETWEEN ? AND ? ORDER BY point, place", columns);
}

PointStatus parse_status(const std::string& text, const std::string& path) {
  for (const PointStatus s : {PointStatus::Done, PointStatus::Deadlock, PointStatus::Failed})
    if (text == status_text(s)) return s;
  throw UserError(fmt::format("results store '{}' is damaged: a point has status '{}'", path, text));
}

Database::Access raw(Store::Access access) {
  switch (access) {
    case Store::Access::Read:
      return Database::Access::Read;
    case Store::Access::Write:
      return Database::Access::Write;
    case Store::Access::Create:
      break;
  }
  return Database::Access::Create;
}

// What a point and its results are known again by. Doubles as they come back: -0 is 0 to SQLite, nan is NULL.
std::string sum_of(std::int64_t sweep, const StoredPoint& p) {
  const auto figure = [](const std::optional<double>& v) {
    return v && !std::isnan(*v) ? fmt::format("{}", *v + 0.0) : std::string("-");
  };
  std::string all = pack({std::to_string(sweep), std::to_string(p.index), p.key, pack(p.values),
                          std::string(status_text(p.status)), p.error, figure(p.seconds)});
  for (const StoredResult& r : p.results) {
    all += pack({r.policy, r.bound, r.busiest, r.deadlock});
    for (const auto& v : r.figures) all += ' ' + figure(v);
  }
  return file::sha256_hex(all).substr(0, 16);
}

bool same(const StoredPoint& a, const StoredPoint& b) {
  return a.key == b.key && a.values == b.values && a.status == b.status && a.error == b.error && a.results == b.results;
}

}  // namespace

std::string sweep_hash(const SweepInfo& info) {
  return file::sha256_hex(
      pack({info.name, info.version, info.configuration, info.inputs, pack(info.paths), std::to_string(info.size)}));
}

std::string_view status_text(PointStatus status) {
  switch (status) {
    case PointStatus::Done:
      return "done";
    case PointStatus::Deadlock:
      return "deadlock";
    case PointStatus::Failed:
      break;
  }
  return "failed";
}

Store::Store(const std::string& path, Access access) : database_(path, raw(access)) { prepare(access); }

void Store::prepare(Access access) {
  // One statement, so that all three are read from one state although another process may be making the tables.
  std::int64_t id = 0;
  std::int64_t version = 0;
  bool empty = true;
  {
    Statement head(database_,
                   "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
                   "FROM pragma_application_id, pragma_user_version");
    head.step();
    id = head.integer(0);
    version = head.integer(1);
    empty = head.integer(2) == 0;
  }
  if (id != kApplicationId && (!empty || id != 0 || access != Access::Create))
    throw UserError(fmt::format("'{}' is no results store of stretto", path()),
                    "name another file; this one was left as it is");
  if (version > kStoreVersion)
    throw UserError(fmt::format("results store '{}' has version {} and is newer than this program", path(), version),
                    fmt::format("this program reads versions 1 to {}", kStoreVersion));
  if (!empty || id != 0 || version != 0) {
    // Whatever else is in the file, these are what is read and written.
    if (database_.integer("SELECT count(*) FROM sqlite_master WHERE name IN ('sweeps', 'points', 'results') AND "
                          "type = 'table' AND rootpage > 0") != 3)
      database_.damaged("a table is missing");
    sums_ = database_.integer("SELECT count(*) FROM pragma_table_info('points') WHERE name = 'sum'") != 0;
    if (version < 1 || sums_ != (version > 1))
      database_.damaged(fmt::format("its tables are not of version {}", version));
  }
  if (access == Access::Read) return;
  // Another process may switch at the same moment, which SQLite does not wait for.
  for (int tries = 0;; ++tries) {
    try {
      database_.text("PRAGMA journal_mode = WAL");
      break;
    } catch (const UserError&) {
      if (tries == 100) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  database_.execute("PRAGMA synchronous = NORMAL");
  {
    Transaction transaction(database_);
    version = database_.integer("PRAGMA user_version");
    if (version < kStoreVersion) migrate(version);
    transaction.commit();
    sums_ = true;
  }
  const std::string check = database_.text("PRAGMA quick_check(1)");
  if (check != "ok") database_.damaged(check);
}

// A new file has version 0, and all tables at once. Version 1 had no sums.
void Store::migrate(std::int64_t version) {
  if (version == 0) {
    database_.execute(schema());
    database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
  } else {
    database_.execute("ALTER TABLE points ADD COLUMN sum TEXT NOT NULL DEFAULT ''");
    Statement update(database_, "UPDATE points SET sum = ? WHERE sweep = ? AND point = ?");
    for (const SweepInfo& sweep : sweeps())
      read_points(sweep.id, 0, std::numeric_limits<std::int64_t>::max(), [&](const StoredPoint& p, const std::string&) {
        update.bind(1, sum_of(sweep.id, p)).bind(2, sweep.id).bind(3, p.index);
        update.run();
      });
  }
  database_.execute(fmt::format("PRAGMA user_version = {}", kStoreVersion));
}

std::vector<SweepInfo> Store::sweeps() {
  Statement select(database_,
                   "SELECT id, hash, name, version, configuration, inputs, paths, size FROM sweeps ORDER BY id");
  std::vector<SweepInfo> all;
  while (select.step()) {
    all.push_back({select.integer(0), select.text(1), select.text(2), select.text(3), select.text(4), select.text(5),
                   unpack(select.text(6), path()), select.integer(7)});
    const SweepInfo& s = all.back();
    if (s.hash != sweep_hash(s) || s.size < 0 || s.size > static_cast<std::int64_t>(experiment::kMaxSweepPoints))
      database_.damaged(fmt::format("sweep '{}' is not what its hash says", s.name));
  }
  return all;
}

std::int64_t Store::add_sweep(const SweepInfo& info) {
  Transaction transaction(database_);
  Statement insert(database_,
                   "INSERT INTO sweeps(hash, name, version, configuration, inputs, paths, size) "
                   "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(hash) DO NOTHING");
  insert.bind(1, info.hash).bind(2, info.name).bind(3, info.version).bind(4, info.configuration).bind(5, info.inputs);
  insert.bind(6, pack(info.paths)).bind(7, info.size);
  insert.run();
  Statement select(database_, "SELECT id FROM sweeps WHERE hash = ?");
  select.bind(1, info.hash);
  select.step();
  const std::int64_t id = select.integer(0);
  select.run();
  transaction.commit();
  return id;
}

std::vector<bool> Store::stored(const SweepInfo& sweep) {
  std::vector<bool> stored(static_cast<std::size_t>(sweep.size));
  Statement select(database_, "SELECT point FROM points WHERE sweep = ?");
  select.bind(1, sweep.id);
  while (select.step())
    if (const std::int64_t i = select.integer(0); i >= 0 && i < sweep.size) stored[static_cast<std::size_t>(i)] = true;
  return stored;
}

Store::Counts Store::counts(std::int64_t sweep) {
  Counts counts;
  Statement select(database_, "SELECT status, count(*) FROM points WHERE sweep = ? GROUP BY status");
  select.bind(1, sweep);
  while (select.step()) {
    const PointStatus status = parse_status(select.text(0), path());
    (status == PointStatus::Done       ? counts.done
     : status == PointStatus::Deadlock ? counts.deadlock
                                       : counts.failed) = select.integer(1);
  }
  return counts;
}

void Store::add(std::int64_t sweep, std::span<const StoredPoint> points) {
  Transaction transaction(database_);
  Statement point(
      database_,
      "INSERT INTO points(sweep, point, key, vals, status, error, seconds, sum) VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(sweep, point) DO NOTHING");
  Statement result(database_, insert_result_sql());
  for (const StoredPoint& p : points) {
    point.bind(1, sweep).bind(2, p.index).bind(3, p.key).bind(4, pack(p.values)).bind(5, status_text(p.status));
    point.bind(6, p.error).bind(7, std::optional<double>(p.seconds)).bind(8, sum_of(sweep, p));
    point.run();
    if (database_.changes() == 0) continue;
    for (std::size_t k = 0; k < p.results.size(); ++k) {
      const StoredResult& r = p.results[k];
      STRETTO_ASSERT(r.figures.size() == figure_names().size(), "{} figures", r.figures.size());
      result.bind(1, sweep).bind(2, p.index).bind(3, static_cast<std::int64_t>(k)).bind(4, r.policy);
      result.bind(5, r.bound).bind(6, r.busiest).bind(7, r.deadlock);
      for (std::size_t f = 0; f < r.figures.size(); ++f) result.bind(8 + static_cast<int>(f), r.figures[f]);
      result.run();
    }
  }
  transaction.commit();
}

void Store::each_point(std::int64_t sweep, const std::function<void(const StoredPoint&)>& visit) {
  // Of the whole file, so once: what is written through this object has its sweep.
  if (!no_orphans_ &&
      database_.integer("SELECT EXISTS(SELECT 1 FROM points WHERE sweep NOT IN (SELECT id FROM sweeps))") != 0)
    database_.damaged("points of a sweep that is not there");
  no_orphans_ = true;
  each_point(sweep, 0, std::numeric_limits<std::int64_t>::max(), visit);
}

std::optional<StoredPoint> Store::point(std::int64_t sweep, std::int64_t index) {
  std::optional<StoredPoint> found;
  each_point(sweep, index, index, [&](const StoredPoint& p) { found = p; });
  return found;
}

void Store::each_point(std::int64_t sweep, std::int64_t first, std::int64_t last,
                       const std::function<void(const StoredPoint&)>& visit) {
  read_points(sweep, first, last, [&](const StoredPoint& p, const std::string& sum) {
    if (sums_ && sum != sum_of(sweep, p)) database_.damaged(fmt::format("point {} is not what was stored", p.index));
    visit(p);
  });
}

void Store::read_points(std::int64_t sweep, std::int64_t first, std::int64_t last,
                        const std::function<void(const StoredPoint&, const std::string& sum)>& visit) {
  Statement points(database_, fmt::format("SELECT point, key, vals, status, error, seconds, {} FROM points "
                                          "WHERE sweep = ? AND point BETWEEN ? AND ? ORDER BY point",
                                          sums_ ? "sum" : "''"));
  Statement results(database_, select_results_sql());
  points.bind(1, sweep).bind(2, first).bind(3, last);
  results.bind(1, sweep).bind(2, first).bind(3, last);
  bool more = results.step();
  while (points.step()) {
    StoredPoint p{points.integer(0),
                  points.text(1),
                  unpack(points.text(2), path()),
                  parse_status(points.text(3), path()),
                  points.text(4),
                  points.number(5).value_or(0),
                  {}};
    for (; more && results.integer(0) == p.index; more = results.step()) {
      StoredResult r{results.text(1), results.text(2), results.text(3), results.text(4), {}};
      for (std::size_t f = 0; f < figure_names().size(); ++f)
        r.figures.push_back(results.number(5 + static_cast<int>(f)));
      p.results.push_back(std::move(r));
    }
    if (more && results.integer(0) < p.index) break;
    visit(p, points.text(6));
  }
  if (more) database_.damaged(fmt::format("results of point {}, which is not there", results.integer(0)));
}

void Store::remove(std::int64_t sweep) {
  Transaction transaction(database_);
  for (const char* sql : {"DELETE FROM results WHERE sweep = ?", "DELETE FROM points WHERE sweep = ?",
                          "DELETE FROM sweeps WHERE id = ?"}) {
    Statement statement(database_, sql);
    statement.bind(1, sweep);
    statement.run();
  }
  transaction.commit();
}

void Store::shrink() {
  database_.execute("VACUUM");
  database_.integer("PRAGMA wal_checkpoint(TRUNCATE)");
}

MergeReport merge(Store& into, Store& from) {
  constexpr std::size_t kBatch = 256;
  MergeReport report;
  const auto known_id = [&](const SweepInfo& sweep) -> std::int64_t {
    for (const SweepInfo& known : into.sweeps())
      if (known.hash == sweep.hash) return known.id;
    return 0;
  };
  // First look, then write: stores that are damaged or contradict each other are left as they are.
  const std::vector<SweepInfo> sweeps = from.sweeps();
  for (const SweepInfo& sweep : sweeps) {
    const std::int64_t id = known_id(sweep);
    if (id == 0) {
      from.each_point(sweep.id, [](const StoredPoint&) {});
      continue;
    }
    from.each_point(sweep.id, [&](const StoredPoint& p) {
      const auto other = into.point(id, p.index);
      if (!other) return;
      ++report.known;
      if (!same(p, *other))
        throw UserError(fmt::format("'{}' and '{}' have other results for point {} of sweep '{}'", into.path(),
                                    from.path(), p.index, escape_control(sweep.name)),
                        "the same program gives the same results: one of the stores was changed; nothing was merged");
    });
  }
  for (SweepInfo sweep : sweeps) {
    const std::int64_t theirs = sweep.id;
    ++report.sweeps;
    sweep.id = into.add_sweep(sweep);
    const std::vector<bool> there = into.stored(sweep);
    std::vector<StoredPoint> batch;
    from.each_point(theirs, [&](const StoredPoint& p) {
      if (p.index < 0 || p.index >= sweep.size || there[static_cast<std::size_t>(p.index)]) return;
      batch.push_back(p);
      ++report.points;
      if (batch.size() < kBatch) return;
      into.add(sweep.id, batch);
      batch.clear();
    });
    if (!batch.empty()) into.add(sweep.id, batch);
  }
  return report;
}

}  // namespace stretto::study
