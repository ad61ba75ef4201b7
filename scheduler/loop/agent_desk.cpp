#include "scheduler/loop/agent_desk.h"

#include <memory>
#include <utility>

namespace trainyard::scheduler {

AgentHandlers AgentDesk::handlers() {
  AgentHandlers handlers;
  handlers.report = [this](AgentReport report) {
    // A report that finds the inbox full is made up for by the agent's next one.
    static_cast<void>(
        loop_.post([event = Event(std::move(report))](Loop& loop) { loop.step(event); }));
  };
  handlers.append_log = [this](const LogPiece& piece) -> Result<std::int64_t> {
    TRY(tokens_.check(piece.task, piece.token));
    return logs_.append(piece.task, piece.offset, piece.data);
  };
  handlers.find_artifact = [this](const JobId& job, const std::string& sha256) {
    return find(job, sha256);
  };
  handlers.begin_upload = [this](const UploadStart& start) { return begin_upload(start); };
  handlers.open_artifact = [this](const JobId& job,
                                  const std::string& sha256) -> Result<ReadArtifact> {
    TRY_ASSIGN(File opened, artifacts_.open(job, sha256));
    return ReadArtifact(
        [file = std::make_shared<File>(std::move(opened))](
            std::int64_t offset, std::span<char> into) { return file->read_at(offset, into); });
  };
  return handlers;
}

Status AgentDesk::announce(const JobId& job, const std::string& sha256) {
  const bool posted =
      loop_.post([event = Event(ArtifactStored{job, sha256})](Loop& loop) { loop.step(event); });
  if (!posted) return unavailable("the server is busy");
  return ok();
}

// An agent that asks and hears "complete" will not upload, so the core must hear of it too: perhaps
// the server ended between the file and the word of it.
Result<ArtifactProgress> AgentDesk::find(const JobId& job, const std::string& sha256) {
  TRY_ASSIGN(const StoredPart part, artifacts_.find(job, sha256));
  if (part.complete) TRY(announce(job, sha256));
  return ArtifactProgress{.bytes = part.bytes, .complete = part.complete};
}

Result<Upload> AgentDesk::begin_upload(const UploadStart& start) {
  TRY(tokens_.check(start.task, start.token));
  TRY_ASSIGN(ArtifactUpload resumed, artifacts_.resume(start.task.job, start.file, start.offset));
  // Shared by the two functions of the Upload.
  const auto upload = std::make_shared<ArtifactUpload>(std::move(resumed));
  return Upload{.append = [upload](std::string_view data) { return upload->append(data); },
                .finish = [this, upload, job = start.task.job,
                           file = start.file]() -> Result<ArtifactProgress> {
                  if (upload->stored().bytes == file.bytes) {
                    TRY(upload->finish());
                    TRY(announce(job, file.sha256));
                  }
                  return ArtifactProgress{.bytes = upload->stored().bytes,
                                          .complete = upload->stored().complete};
                }};
}

}  // namespace trainyard::scheduler
