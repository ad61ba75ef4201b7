#include "scheduler/loop/agent_handlers.h"

#include <utility>
#include <variant>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::scheduler {
namespace {

// In bytes as they came; what is made of them is some times larger.
constexpr std::int64_t waiting_bytes_max = 32 << 20;

}  // namespace

AgentCallbacks AgentHandlers::callbacks() {
  AgentCallbacks callbacks;
  callbacks.report = [this](ArrivedReport arrived) { take_in(std::move(arrived)); };
  callbacks.is_token_of = [this](const TaskKey& task, const std::string& token) {
    return rights_.is_token_of(task, token);
  };
  callbacks.admit = [this](const TaskKey& task) { return rights_.admit(task); };
  callbacks.append_log = [this](const LogPiece& piece) {
    return logs_.append(piece.task, piece.offset, piece.data);
  };
  callbacks.find_artifact = [this](const JobId& job, const std::string& sha256) {
    return find(job, sha256);
  };
  callbacks.begin_upload = [this](const UploadStart& start) { return begin_upload(start); };
  callbacks.open_artifact = [this](const ArtifactWish& wish) { return open(wish); };
  return callbacks;
}

// A report that finds the inbox full is made up for by the agent's next one.
void AgentHandlers::take_in(ArrivedReport arrived) {
  auto place = take_place(arrived.bytes);
  if (!place) return;
  const auto waiting =
      std::make_shared<const Waiting>(Waiting{std::move(arrived.report), std::move(arrived.peer),
                                              std::move(place), std::move(arrived.taken)});
  static_cast<void>(loop_.post([this, waiting](Loop& loop) { deliver(loop, *waiting); }));
}

// One report is always let in, so that no size is refused for ever.
std::shared_ptr<void> AgentHandlers::take_place(std::int64_t bytes) {
  const std::int64_t before = waiting_bytes_.fetch_add(bytes);
  // Shared with the work in the inbox; the last who has it gives the place back.
  std::shared_ptr<void> place(&waiting_bytes_, [bytes](void* of) {
    static_cast<std::atomic<std::int64_t>*>(of)->fetch_sub(bytes);
  });
  if (before > 0 && before + bytes > waiting_bytes_max) return nullptr;
  return place;
}

void AgentHandlers::deliver(Loop& loop, const Waiting& waiting) {
  const auto& report = std::get<AgentReport>(waiting.event);
  if (loop.core() != nullptr && !loop.core()->knows(report.agent)) {
    if (const Status may = registrations_.admit(waiting.peer, steady_now()); !may) {
      return loop.refuse(
          {report.agent, report.instance, report.epoch, may.error().message, may.error().code});
    }
  }
  loop.step(waiting.event);
}

Status AgentHandlers::announce(const JobId& job, const std::string& sha256) {
  const bool posted =
      loop_.post([event = Event(ArtifactStored{job, sha256})](Loop& loop) { loop.step(event); });
  if (!posted) return unavailable("the server is busy");
  return ok();
}

// An agent that asks and hears "complete" will not upload, so the core must hear of it too: perhaps
// the server ended between the file and the word of it.
Result<ArtifactProgress> AgentHandlers::find(const JobId& job, const std::string& sha256) {
  TRY_ASSIGN(const StoredPart part, artifacts_.find(job, sha256));
  if (part.complete) TRY(announce(job, sha256));
  return ArtifactProgress{.bytes = part.bytes, .complete = part.complete};
}

Result<ReadArtifact> AgentHandlers::open(const ArtifactWish& wish) {
  TRY(rights_.check_fetch(wish.by, wish.job, wish.sha256));
  auto opened = artifacts_.read(wish.job, wish.sha256);
  if (!opened) return lost(wish, opened.error());
  return ReadArtifact([this, wish, file = std::make_shared<ArtifactRead>(*std::move(opened))](
                          std::int64_t offset, std::span<char> into) -> Result<std::size_t> {
    auto count = file->read_at(offset, into);
    return count ? count : Result<std::size_t>(lost(wish, count.error()));
  });
}

// What the core does not hear of now it hears of with the next try.
Error AgentHandlers::lost(const ArtifactWish& wish, Error error) {
  if (error.code != Code::not_found) return error;
  log_warning("artifact_lost", {{"job", wish.job.text}, {"error", error.message}});
  static_cast<void>(loop_.post(
      [event = Event(ArtifactLost{wish.job, wish.sha256})](Loop& loop) { loop.step(event); }));
  return error;
}

Result<Upload> AgentHandlers::begin_upload(const UploadStart& start) {
  TRY(rights_.check_upload(start.task, start.file, start.offset));
  // Shared by the two functions of the Upload.
  TRY_ASSIGN(const std::shared_ptr<OpenUpload> upload, uploads_.begin(start));
  return Upload{.append = [upload](std::string_view data) { return upload->append(data); },
                .finish = [this, upload, job = start.task.job,
                           sha256 = start.file.sha256]() -> Result<ArtifactProgress> {
                  TRY_ASSIGN(const StoredPart stored, upload->finish());
                  if (stored.complete) TRY(announce(job, sha256));
                  return ArtifactProgress{.bytes = stored.bytes, .complete = stored.complete};
                }};
}

}  // namespace trainyard::scheduler
