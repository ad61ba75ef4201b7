#include "scheduler/store/belonging.h"

#include <filesystem>
#include <system_error>

#include "scheduler/store/db.h"

namespace trainyard::scheduler {
namespace {

Result<bool> has_table(Db& db, std::string_view name) {
  Query query = db.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name);
  const bool found = query.next();
  TRY(query.finish());
  return found;
}

Result<std::string> folder_id_of(Db& db) {
  TRY_ASSIGN(const bool says_it, has_table(db, "state_folder"));
  if (!says_it) return std::string();
  Query query = db.query("SELECT id FROM state_folder");
  std::string id = query.next() ? query.text() : "";
  TRY(query.finish());
  return id;
}

Result<bool> knows_one_of(Db& db, std::span<const std::string> jobs) {
  TRY_ASSIGN(const bool has_jobs, has_table(db, "jobs"));
  if (!has_jobs) return false;
  for (const std::string& job : jobs) {
    Query query = db.query("SELECT 1 FROM jobs WHERE id = ?", job);
    const bool found = query.next();
    TRY(query.finish());
    if (found) return true;
  }
  return false;
}

}  // namespace

Result<Belonging> look_at_database(const std::string& path, std::span<const std::string> jobs) {
  Belonging belonging;
  std::error_code error;
  belonging.exists = std::filesystem::exists(path, error);
  if (!belonging.exists) return belonging;
  // Not read_only: what a killed server left in the write-ahead log has to be taken in to be seen.
  TRY_ASSIGN(Db db, Db::open(path, Access::read_write));
  TRY_ASSIGN(belonging.folder_id, folder_id_of(db));
  TRY_ASSIGN(belonging.knows_a_job, knows_one_of(db, jobs));
  return belonging;
}

}  // namespace trainyard::scheduler
