#include "scheduler/store/db.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <utility>

namespace trainyard::scheduler {
namespace {

constexpr int busy_timeout_millis = 5000;

// What passes by itself or by the operator's hand is `unavailable`; the rest is our own fault.
Error to_error(int result, const std::string& message) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return unavailable("database: " + message);
    default: return internal("database: " + message);
  }
}

Error last_error(sqlite3* db) { return to_error(sqlite3_errcode(db), sqlite3_errmsg(db)); }

}  // namespace

// --- Query

void Query::check_prepared() {
  if (statement_ == nullptr) fail(last_error(db_));
}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void Query::bind_next(std::int64_t value) {
  if (failure_) return;
  if (sqlite3_bind_int64(statement_, ++bound_, value) != SQLITE_OK) fail(last_error(db_));
}

void Query::bind_next(double value) {
  if (failure_) return;
  if (sqlite3_bind_double(statement_, ++bound_, value) != SQLITE_OK) fail(last_error(db_));
}

void Query::bind_next(std::string_view value) {
  if (failure_) return;
  const char* data = value.data() == nullptr ? "" : value.data();  // a null pointer would mean NULL
  const int result =
      sqlite3_bind_text64(statement_, ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (result != SQLITE_OK) fail(last_error(db_));
}

bool Query::next() {
  if (failure_) return false;
  column_ = 0;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail(to_error(result, sqlite3_errmsg(db_)));
  return false;
}

Status Query::finish() const {
  if (failure_) return *failure_;
  return ok();
}

std::int64_t Query::integer() { return sqlite3_column_int64(statement_, column_++); }

int Query::small_integer() {
  const std::int64_t value = integer();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    fail(internal("the database holds a number out of range: " + std::to_string(value)));
    return 0;
  }
  return static_cast<int>(value);
}

bool Query::boolean() { return integer() != 0; }

WallTime Query::time() { return {integer()}; }

double Query::real() {
  const bool is_null = sqlite3_column_type(statement_, column_) == SQLITE_NULL;
  const double value = sqlite3_column_double(statement_, column_++);
  return is_null ? std::nan("") : value;
}

std::string Query::text() { return optional_text().value_or(""); }

std::optional<std::int64_t> Query::optional_integer() {
  if (sqlite3_column_type(statement_, column_) == SQLITE_NULL) {
    ++column_;
    return std::nullopt;
  }
  return integer();
}

std::optional<std::string> Query::optional_text() {
  const unsigned char* data = sqlite3_column_text(statement_, column_);
  const int bytes = sqlite3_column_bytes(statement_, column_++);
  if (data == nullptr) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
}

// --- Db

void Db::Close::operator()(sqlite3* db) const { sqlite3_close(db); }
void Db::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Db::Db(sqlite3* db) : db_(db) {}
Db::Db(Db&&) noexcept = default;
Db::~Db() = default;

Db& Db::operator=(Db&& other) noexcept {
  prepared_ = std::move(other.prepared_);  // statements must go before their connection
  db_ = std::move(other.db_);
  return *this;
}

Result<Db> Db::open(const std::string& path, Access access) {
  const int mode = access == Access::read_only ? SQLITE_OPEN_READONLY
                                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle,
                                     mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Db db(handle);
  const auto of_this_file = [&path](const Error& error) {
    return Error{error.code, error.message + " (" + path + ")"};
  };
  if (result != SQLITE_OK) {
    return of_this_file(
        to_error(result, handle == nullptr ? "out of memory" : sqlite3_errmsg(handle)));
  }
  sqlite3_busy_timeout(handle, busy_timeout_millis);
  if (access == Access::read_only) return db;
  // These are the first to read the file.
  const Status begun =
      db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  if (!begun) return of_this_file(begun.error());
  return db;
}

Status Db::execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return last_error(db_.get());
  }
  return ok();
}

sqlite3_stmt* Db::prepare(std::string_view sql) {
  if (const auto found = prepared_.find(sql); found != prepared_.end()) {
    ENSURE(sqlite3_stmt_busy(found->second.get()) == 0);
    return found->second.get();
  }
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                     &statement, nullptr);
  if (statement != nullptr) prepared_.emplace(std::string(sql), statement);
  return statement;
}

// --- Transaction

Result<Transaction> Transaction::begin(Db& db) {
  TRY(db.execute("BEGIN IMMEDIATE"));
  return Transaction(&db);
}

Transaction::Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Transaction::~Transaction() {
  // SQLite has rolled back by itself after some failures (a full disk); there is nothing left to
  // undo then.
  if (db_ != nullptr) static_cast<void>(db_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  TRY(db_->execute("COMMIT"));
  db_ = nullptr;
  return ok();
}

}  // namespace trainyard::scheduler
