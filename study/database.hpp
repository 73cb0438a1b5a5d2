// SPDX-License-Identifier: Apache-2.0
// A thin layer over SQLite: statements as values, failures as UserErrors that name the file and say what is lost
// (nothing that was committed). The only user of sqlite3.h with its .cpp.
//
// One connection belongs to one thread. Another process that writes is waited for, up to kBusySeconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace stretto::study {

inline constexpr int kBusySeconds = 60;

class Database;

// A prepared statement; parameters count from 1, columns from 0. Reset by run() and when a row loop ends.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement& bind(int at, std::string_view text);
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::optional<double> value);  // none: NULL
  Statement& bind_null(int at);
  // True while there is a row.
  bool step();
  // Runs to the end and is ready to be bound again.
  void run();
  // Of the row: UserError where the column holds something else (SQLite takes any value into any column). number: none
  // for NULL.
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  std::optional<double> number(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  [[noreturn]] void wrong(int column, const char* wanted) const;
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // Read also opens what lies where nothing can be written; a log that was left beside it is then told, as what stands
  // in it cannot be read.
  enum class Access : std::uint8_t { Read, Write, Create };
  Database(const std::string& path, Access access);
  const std::string& path() const { return path_; }
  // One or more statements without parameters or rows.
  void execute(const std::string& sql);
  std::int64_t integer(const std::string& sql);
  std::string text(const std::string& sql);
  std::int64_t last_row() const;
  std::int64_t changes() const;
  // Throws the UserError for a result code of SQLite.
  [[noreturn]] void fail(int code) const;
  // Throws the UserError for content that is not what was written.
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  void open(const std::string& name, int flags);
  void open_read_only_medium();
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// Everything between construction and commit() or nothing. Waits for another writer at its beginning.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace stretto::study
