// SPDX-License-Identifier: Apache-2.0
#include "study/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>

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

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), bytes);
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::optional<double> Statement::number(int column) const {
  if (is_null(column)) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

Database::Database(const std::string& path, Access access) : path_(path) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  // A reader that may not write leaves the log's files behind, so all may; SQLite falls back where the file refuses.
  flags |= SQLITE_OPEN_READWRITE;
  if (access == Access::Create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(handle, kBusySeconds * 1000);
  if (access == Access::Read) execute("PRAGMA query_only = ON");
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
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
      throw UserError(fmt::format("results store '{}' is damaged: {}", path_, message),
                      fmt::format("keep a copy; `sqlite3 '{}' .recover` may save what is readable", path_));
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
