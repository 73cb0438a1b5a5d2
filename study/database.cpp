// SPDX-License-Identifier: Apache-2.0
#include "study/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/base/diagnostic.hpp"

namespace stretto::study {

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database.handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail(code);
}

Statement& Statement::bind(int at, std::string_view text) {
  const int code =
      sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int at, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), at, value);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int at, std::optional<double> value) {
  if (!value) return bind_null(at);
  const int code = sqlite3_bind_double(statement_.get(), at, *value);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind_null(int at) {
  const int code = sqlite3_bind_null(statement_.get(), at);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    const int extended = sqlite3_extended_errcode(database_->handle_.get());
    sqlite3_reset(statement_.get());
    database_->fail(extended);
  }
  sqlite3_reset(statement_.get());
  return false;
}

void Statement::run() {
  while (step()) {
  }
  sqlite3_clear_bindings(statement_.get());
}

void Statement::wrong(int column, const char* wanted) const {
  database_->damaged(fmt::format("'{}' is no {}", sqlite3_column_name(statement_.get(), column), wanted));
}

std::string Statement::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) wrong(column, "text");
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), bytes);
}

std::int64_t Statement::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) wrong(column, "whole number");
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<double> Statement::number(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return std::nullopt;
    case SQLITE_FLOAT:
    case SQLITE_INTEGER:
      return sqlite3_column_double(statement_.get(), column);
    default:
      wrong(column, "number");
  }
}

Database::Database(const std::string& path, Access access) : path_(path) {
  // A reader that may not write leaves the log's files behind, so all may; SQLite falls back where the file refuses.
  open(path, SQLITE_OPEN_READWRITE | (access == Access::Create ? SQLITE_OPEN_CREATE : 0));
  if (access != Access::Read) return;
  execute("PRAGMA query_only = ON");
  const int code = sqlite3_exec(handle_.get(), "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  if ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY) open_read_only_medium();
}

void Database::open(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(handle, kBusySeconds * 1000);
  // Nothing that a foreign file brings along may do more than be read.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  execute("PRAGMA cell_size_check = ON");
}

// A write-ahead log needs files beside the store, which cannot be made here. Without a log the store is complete, and
// nobody changes it.
void Database::open_read_only_medium() {
  std::error_code error;
  const auto log = std::filesystem::file_size(path_ + "-wal", error);
  if (!error && log > 0)
    throw UserError(
        fmt::format("results store '{}': its folder cannot be written, and there is a log to be read", path_),
        fmt::format("copy '{0}' and '{0}-wal' to another folder and read them there", path_));
  std::string name = "file:";
  for (const char c : path_)
    name +=
        c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  open(name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::damaged(const std::string& what) const {
  throw UserError(fmt::format("results store '{}' is damaged: {}", path_, escape_control(what)),
                  fmt::format("keep a copy; `sqlite3 '{}' .recover` may save what is readable", path_));
}

std::int64_t Database::integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : std::string();
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }

std::int64_t Database::changes() const { return sqlite3_changes64(handle_.get()); }

void Database::fail(int code) const {
  const char* kept = "everything that was stored before is kept; free some space and give the same command again";
  const std::string message = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  const int reason = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  switch (code & 0xff) {
    case SQLITE_FULL:
      throw UserError(fmt::format("results store '{}': the disk is full", path_), kept);
    case SQLITE_IOERR:
      throw UserError(fmt::format("results store '{}': cannot be written or read: {}{}", path_, message,
                                  reason != 0 ? fmt::format(" ({})", std::strerror(reason)) : ""),
                      kept);
    case SQLITE_NOTADB:
      throw UserError(fmt::format("'{}' is no results store: {}", path_, message),
                      "name another file; this one was left as it is");
    case SQLITE_CORRUPT:
      damaged(message);
    case SQLITE_CANTOPEN:
      throw UserError(fmt::format("cannot open the results store '{}'{}", path_,
                                  reason != 0 ? fmt::format(": {}", std::strerror(reason)) : ""));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw UserError(fmt::format("results store '{}' cannot be written: {}", path_, message));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw UserError(fmt::format("results store '{}' is in use by another program", path_),
                      fmt::format("it was waited for {} s; everything stored before is kept", kBusySeconds));
    default:
      throw UserError(fmt::format("results store '{}': {}", path_, message));
  }
}

Transaction::Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const UserError&) {  // SQLite has rolled back by itself, as it does where the disk is full
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace stretto::study
