#include "scheduler/store/migrate.h"

#include <string>

#include "schemas/sql/migrations.h"

namespace trainyard::scheduler {
namespace {

Result<std::int64_t> version_of(Db& db) {
  Query query = db.query("PRAGMA user_version");
  const std::int64_t version = query.next() ? query.integer() : 0;
  TRY(query.finish());
  return version;
}

}  // namespace

Status migrate(Db& db) {
  TRY_ASSIGN(const std::int64_t version, version_of(db));
  if (version > migrations().back().number) {
    return conflict("the database has version " + std::to_string(version) +
                    ", this program knows versions up to " +
                    std::to_string(migrations().back().number));
  }
  for (const Migration& migration : migrations()) {
    if (migration.number <= version) continue;
    TRY_ASSIGN(Transaction transaction, Transaction::begin(db));
    TRY(db.execute(std::string(migration.sql)));
    TRY(db.execute("PRAGMA user_version = " + std::to_string(migration.number)));
    TRY(transaction.commit());
  }
  return ok();
}

}  // namespace trainyard::scheduler
