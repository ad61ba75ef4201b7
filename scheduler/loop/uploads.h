// Uploads of checkpoints' files that are going on, one at a time of each file. One whose agent is
// cut off would keep the file to itself until its connection times out: it makes room for a later
// upload that shows that nobody waits for it any more.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/link/agent_server.h"
#include "scheduler/store/artifacts.h"

namespace trainyard::scheduler {

class OpenUpload {
 public:
  OpenUpload(const UploadStart& start, ArtifactUpload upload)
      : by_(start.task), file_(start.file), upload_(std::move(upload)) {}

  // Both `conflict` once it was ended.
  Status append(std::string_view data);
  // Where all bytes are in, the file is stored.
  Result<StoredPart> finish();

  // An agent sends a file of a task once at a time, and an older attempt is over.
  [[nodiscard]] bool makes_room_for(const TaskKey& task) const;
  void end();

 private:
  [[nodiscard]] Error was_ended() const;

  const TaskKey by_;
  const ArtifactFile file_;
  std::mutex mutex_;
  std::optional<ArtifactUpload> upload_;  // guarded by mutex_; nothing once it was ended
};

// Safe from several threads.
class Uploads {
 public:
  explicit Uploads(Artifacts& artifacts) : artifacts_(artifacts) {}

  // As Artifacts::resume().
  Result<std::shared_ptr<OpenUpload>> begin(const UploadStart& start);

 private:
  using FileKey = std::pair<JobId, std::string>;  // job and sha256

  Artifacts& artifacts_;
  std::mutex mutex_;
  // Guarded by mutex_. As many as there are calls: those that are over go with the next begin().
  std::map<FileKey, std::weak_ptr<OpenUpload>> open_;
};

}  // namespace trainyard::scheduler
