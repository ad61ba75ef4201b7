// Removes files that no row refers to: of jobs that were deleted, of checkpoints that retention
// gave up, of uploads that never became part of one. What came since the current attempt of a job
// began stays while it runs, unless its checkpoint was given up: the agent counts it as delivered,
// and its manifest may have to wait for a server that was down for an hour. Works from what is
// there, so a sweep that never came is made up for by the next.
//
// What lay here before the server started and is unknown to the database is never removed at once:
// the database may be an older one. It is set aside in lost+found/, and kept there for 7 days.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/store/db.h"
#include "schemas/base/id.h"
#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

struct SweepFolders {
  std::string artifacts;
  std::string logs;
  std::string lost_and_found;  // on the same file system; made when it is needed
};

inline constexpr Millis lost_and_found_time = seconds(7 * 24 * 3600);

class Sweep {
 public:
  // A file that was written (or asked for by an upload) within `grace` stays for now: the manifest
  // that names it may still be on its way.
  static Result<Sweep> open(const std::string& database_path, SweepFolders folders, Millis grace);

  enum class Left { nothing, young_files };  // young_files: to be swept again once `grace` is over
  // A job without a row: set aside, as nobody knows why.
  Result<Left> sweep(const JobId& job);
  // Of a job that was deleted: everything goes.
  Status remove(const JobId& job);
  [[nodiscard]] std::vector<JobId> jobs_with_files() const;

  // Removes what was set aside more than lost_and_found_time before `now`.
  Status empty_lost_and_found(WallTime now) const;

 private:
  Sweep(Db db, SweepFolders folders, Millis grace, WallTime opened)
      : db_(std::move(db)), folders_(std::move(folders)), grace_(grace), opened_(opened) {}
  Status set_aside(const std::filesystem::path& path, const std::string& as) const;
  Status set_aside_all_of(const std::string& name) const;

  Db db_;
  SweepFolders folders_;
  Millis grace_;
  WallTime opened_;
};

}  // namespace trainyard::scheduler
