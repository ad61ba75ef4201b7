// Removes files that no row refers to: of jobs that are gone, of checkpoints that retention gave
// up, of uploads that never became part of one. What came since the current attempt of a job began
// stays while it runs, unless its checkpoint was given up: the agent counts it as delivered, and
// its manifest may have to wait for a server that was down for an hour. Works from what is there,
// so a sweep that never came is made up for by the next.
#pragma once

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
};

class Sweep {
 public:
  // A file that was written (or asked for by an upload) within `grace` stays for now: the manifest
  // that names it may still be on its way.
  static Result<Sweep> open(const std::string& database_path, SweepFolders folders, Millis grace);

  enum class Left { nothing, young_files };  // young_files: to be swept again once `grace` is over
  Result<Left> sweep(const JobId& job);
  [[nodiscard]] std::vector<JobId> jobs_with_files() const;

 private:
  Sweep(Db db, SweepFolders folders, Millis grace)
      : db_(std::move(db)), folders_(std::move(folders)), grace_(grace) {}

  Db db_;
  SweepFolders folders_;
  Millis grace_;
};

}  // namespace trainyard::scheduler
