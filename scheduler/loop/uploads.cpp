#include "scheduler/loop/uploads.h"

namespace trainyard::scheduler {

Status OpenUpload::append(std::string_view data) {
  const std::lock_guard lock(mutex_);
  if (!upload_) return was_ended();
  return upload_->append(data);
}

Result<StoredPart> OpenUpload::finish() {
  const std::lock_guard lock(mutex_);
  if (!upload_) return was_ended();
  if (upload_->stored().bytes == file_.bytes) TRY(upload_->finish());
  return upload_->stored();
}

bool OpenUpload::makes_room_for(const TaskKey& task) const {
  return task == by_ || task.attempt > by_.attempt;
}

void OpenUpload::end() {
  const std::lock_guard lock(mutex_);
  upload_.reset();
}

Error OpenUpload::was_ended() const {
  return conflict(file_.name + ": a later upload of it has begun");
}

Result<std::shared_ptr<OpenUpload>> Uploads::begin(const UploadStart& start) {
  const FileKey key{start.task.job, start.file.sha256};
  std::shared_ptr<OpenUpload> earlier;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    if (const auto found = open_.find(key); found != open_.end()) earlier = found->second.lock();
  }
  if (earlier && earlier->makes_room_for(start.task)) earlier->end();
  // Of two that begin at once one gets the file.
  TRY_ASSIGN(ArtifactUpload resumed, artifacts_.resume(start.task.job, start.file, start.offset));
  auto upload = std::make_shared<OpenUpload>(start, std::move(resumed));
  const std::lock_guard lock(mutex_);
  open_[key] = upload;
  return upload;
}

}  // namespace trainyard::scheduler
