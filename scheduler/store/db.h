// SQLite, owned and typed: a connection, a statement while it runs, a transaction. Nothing outside
// scheduler/store knows which database is under it.
//
// Failures stick: a Query that could not be prepared, bound, stepped or read gives no rows, and
// finish() says why.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard::scheduler {

// One run of a statement: bound, stepped, read column by column from the left. Rewound when
// destroyed.
class Query {
 public:
  // `statement` null: it could not be prepared.
  template <class... Values>
  Query(sqlite3* db, sqlite3_stmt* statement, const Values&... values)
      : db_(db), statement_(statement) {
    check_prepared();
    bind(values...);
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Binds the next parameters, from the left.
  template <class... Values>
  void bind(const Values&... values) {
    (bind_next(values), ...);
  }

  bool next();  // false after the last row, and after a failure
  [[nodiscard]] Status finish() const;

  std::int64_t integer();
  int small_integer();
  bool boolean();
  WallTime time();
  double real();  // NaN where the column is NULL
  std::string text();
  std::optional<std::int64_t> optional_integer();
  std::optional<std::string> optional_text();

  // The next column is the name of an enum's value, as `from` reads it; another text is a failure.
  template <class Enum>
  Enum name(std::optional<Enum> (*from)(std::string_view)) {
    const std::string found = text();
    const std::optional<Enum> value = from(found);
    if (!value) fail(internal("the database holds an unknown name: \"" + found + "\""));
    return value.value_or(Enum{});
  }
  // The next column is a text that `parse` reads back.
  template <class T>
  T parsed(Result<T> (*parse)(std::string_view)) {
    Result<T> value = parse(text());
    if (value) return *std::move(value);
    fail(value.error());
    return T{};
  }

  void fail(Error error);  // only the first one counts

 private:
  void check_prepared();
  void bind_next(std::int64_t value);
  void bind_next(int value) { bind_next(std::int64_t{value}); }
  void bind_next(double value);
  void bind_next(std::string_view value);
  void bind_next(const std::string& value) { bind_next(std::string_view(value)); }
  void bind_next(const char* value) { bind_next(std::string_view(value)); }
  void bind_next(WallTime value) { bind_next(value.unix_millis); }
  template <class T>
  void bind_next(const std::optional<T>& value) {
    if (value) return bind_next(*value);
    ++bound_;  // unbound parameters are NULL
  }

  sqlite3* db_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int column_ = 0;
  std::optional<Error> failure_;
};

// read_only connections see only what is committed, and never wait for the writer.
enum class Access { read_write, read_only };

class Db {
 public:
  // For one thread at a time. read_write creates the file.
  static Result<Db> open(const std::string& path, Access access);
  Db(Db&&) noexcept;
  Db& operator=(Db&&) noexcept;
  ~Db();

  // Statements without parameters, separated by semicolons.
  Status execute(const std::string& sql);

  // A statement with its parameters bound. Prepared once and kept, so `sql` must come from a
  // bounded set; not to be asked for again while it still runs.
  template <class... Values>
  Query query(std::string_view sql, const Values&... values) {
    return Query(db_.get(), prepare(sql), values...);
  }

  // A statement that gives no rows.
  template <class... Values>
  Status run(std::string_view sql, const Values&... values) {
    Query query(db_.get(), prepare(sql), values...);
    query.next();
    return query.finish();
  }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Db(sqlite3* db);
  sqlite3_stmt* prepare(std::string_view sql);

  std::unique_ptr<sqlite3, Close> db_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> prepared_;
};

// BEGIN IMMEDIATE; undone unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Db& db);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status commit();

 private:
  explicit Transaction(Db* db) : db_(db) {}
  Db* db_;  // null once committed
};

}  // namespace trainyard::scheduler
