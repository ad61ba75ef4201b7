// What a task may have its agent do here. Its token says which task it is; what it may bring and
// fetch then is read from the rows. Asked on gRPC's threads.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "scheduler/core/token_maker.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/reader.h"
#include "schemas/base/result.h"
#include "schemas/files/secret.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

TokenMaker tokens_under(const SecretKey& key);

class TaskRights {
 public:
  TaskRights(SecretKey key, Reader reader, const Artifacts& artifacts)
      : key_(key), reader_(std::move(reader)), artifacts_(artifacts) {}

  // In constant time.
  [[nodiscard]] bool is_token_of(const TaskKey& task, std::string_view token) const;
  // Whether the task goes on, so that more may come of it: it is not gone, and so its attempt is
  // the newest. All that it wrote has come by then, since its agent shows its end no sooner.
  // `conflict` when it is gone, not_found where there never was such a task.
  Status admit(const TaskKey& task);
  // `invalid` for a file that is not of the checkpoint that the task was given to begin with.
  Status check_fetch(const TaskKey& task, const JobId& job, const std::string& sha256);
  // Before disk is used for it: `invalid` for one that is larger than any, that a manifest gives
  // another size, or that is one too many; while there is no room `unavailable`, and `invalid`
  // where the job is being cancelled.
  Status check_upload(const TaskKey& task, const ArtifactFile& file, std::int64_t offset = 0);

 private:
  const SecretKey key_;
  std::mutex mutex_;
  Reader reader_;  // guarded by mutex_
  const Artifacts& artifacts_;
};

}  // namespace trainyard::scheduler
