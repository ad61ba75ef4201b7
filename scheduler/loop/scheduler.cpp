#include "scheduler/loop/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "scheduler/link/agent_server.h"
#include "scheduler/loop/agent_handlers.h"
#include "scheduler/loop/counters.h"
#include "scheduler/loop/loop.h"
#include "scheduler/loop/requests.h"
#include "scheduler/loop/state_folder.h"
#include "scheduler/loop/sweeper.h"
#include "scheduler/loop/task_rights.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"
#include "scheduler/store/made_files.h"
#include "scheduler/store/model_file.h"
#include "scheduler/store/onnx_file.h"
#include "scheduler/store/reader.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {
namespace {

// How long a file stays that belongs to no checkpoint: the manifest that names it may yet come,
// from an agent that was cut off until it is given up as lost.
Millis file_grace(const Limits& limits) { return limits.lost_after + seconds(60); }

// Jobs that have ended keep so many reports of metrics.
constexpr std::int64_t ended_reports_max = 10'000;
constexpr std::size_t removed_at_once = 1000;

// A lost key is made anew. The tokens of tasks that run were made under the old one: the core will
// not know them (scheduler/core/report.cpp), which whoever runs the server should not have to
// guess.
Result<SecretKey> key_of(const StateFolder& folder, Reader& reader) {
  const std::string path = folder.key_file();
  std::error_code error;
  const bool is_new = !std::filesystem::exists(path, error);
  TRY_ASSIGN(const SecretKey key, SecretKey::of_file(path));
  if (!is_new) return key;
  TRY_ASSIGN(auto jobs, reader.count_jobs_by_state());
  std::int64_t running = 0;
  for (const JobState state : {JobState::starting, JobState::running, JobState::stopping}) {
    running += jobs[std::string(name_of(state))];
  }
  if (running > 0) {
    log_warning("token_key_made_anew",
                {{"path", path},
                 {"jobs", running},
                 {"why",
                  "token.key was made anew: tasks that run are given up and start again from "
                  "their checkpoints"}});
  }
  return key;
}

}  // namespace

// In the order in which they depend on one another; stop() ends them in reverse.
struct Scheduler::Parts {
  Parts(StateFolder taken, const SecretKey& key, Store store, Reader reader, Sweep sweep,
        const SchedulerOptions& options)
      : folder(std::move(taken)),
        artifacts(folder.artifacts()),
        logs(folder.logs(), options.log_bytes_max > 0 ? options.log_bytes_max : log_bytes_max),
        rights(key, std::move(reader), artifacts),
        sweeper(std::move(sweep), file_grace(options.limits),
                [this](const JobId& job) { thin_metrics(*this, job); }),
        loop(std::move(store), artifacts, options, counters),
        handlers(loop, rights, artifacts, logs, options.registrations) {}

  StateFolder folder;
  Artifacts artifacts;
  std::mutex made_mutex;  // one file is made at a time
  MadeFiles made;         // guarded by made_mutex
  Logs logs;
  Feed feed;
  Counters counters;
  TaskRights rights;
  Sweeper sweeper;
  Loop loop;
  AgentHandlers handlers;
  std::unique_ptr<AgentServer> link;
  std::string agent_address;
  std::thread thread;
};

// made_mutex held.
Result<MadeFile> Scheduler::model_file_of(Parts& parts, const Checkpoint& checkpoint,
                                          MadeFiles::Compare compare) {
  TRY_ASSIGN(const std::string path, parts.artifacts.model_path(checkpoint));
  TRY_ASSIGN(const auto made, parts.made.find(path, compare));
  if (made) return *made;
  TRY(write_model_file(parts.artifacts, checkpoint, path));
  return parts.made.keep(path);
}

// Chooses on the sweeper's thread; the loop's, which alone writes, removes a few at a time.
void Scheduler::thin_metrics(Parts& parts, const JobId& id) {
  auto reader = Reader::open(parts.folder.database());
  const auto job = reader ? reader->job(id) : Result<Job>(reader.error());
  if (!job || !is_terminal(job->state)) return;
  const auto reports = reader->reports_to_thin(id, ended_reports_max);
  if (!reports) {
    return log_warning("metrics_not_thinned",
                       {{"job", id.text}, {"error", reports.error().message}});
  }
  for (std::size_t at = 0; at < reports->size(); at += removed_at_once) {
    const auto first = reports->begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = static_cast<std::ptrdiff_t>(std::min(removed_at_once, reports->size() - at));
    static_cast<void>(parts.loop.post([id, part = std::vector(first, first + count)](Loop& loop) {
      if (const Status removed = loop.store().remove_reports(id, part); !removed) {
        log_warning("metrics_not_thinned", {{"job", id.text}, {"error", removed.error().message}});
      }
    }));
  }
}

Scheduler::Scheduler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Scheduler::~Scheduler() { stop(); }

Result<std::unique_ptr<Scheduler>> Scheduler::start(SchedulerOptions options) {
  TRY_ASSIGN(StateFolder folder, StateFolder::take(options.state_dir));
  TRY_ASSIGN(const std::string folder_id,
             folder.match_database(options.adopt_state ? ForeignDatabase::adopted
                                                       : ForeignDatabase::refused));
  TRY_ASSIGN(Store store, Store::open(folder.database()));
  TRY(store.belong_to(folder_id));
  TRY_ASSIGN(Reader reader, Reader::open(folder.database()));
  TRY_ASSIGN(Sweep sweep, Sweep::open(folder.database(),
                                      {.artifacts = folder.artifacts(),
                                       .logs = folder.logs(),
                                       .lost_and_found = folder.lost_and_found()},
                                      file_grace(options.limits)));
  TRY_ASSIGN(const SecretKey key, key_of(folder, reader));
  auto parts = std::make_unique<Parts>(std::move(folder), key, std::move(store), std::move(reader),
                                       std::move(sweep), options);
  Parts& p = *parts;
  TRY(p.loop.prepare(tokens_under(key),
                     {.send = [&p](const Assignment& assignment) { p.link->send(assignment); },
                      .refuse = [&p](const Refusal& refusal) { p.link->refuse(refusal); },
                      .announce = [&p](const JobId& job) { p.feed.announce(job); },
                      .files_unused = [&p](const JobId& job) { p.sweeper.request(job); },
                      .removed = [&p](const JobId& job) { p.sweeper.remove(job); }}));
  TRY_ASSIGN(p.link,
             AgentServer::listen({.address = options.agent_address}, p.handlers.callbacks()));
  p.agent_address = p.link->address();
  p.sweeper.start();
  p.thread = std::thread([&p] { p.loop.run(); });
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(parts)));
}

void Scheduler::stop() {
  if (!parts_->thread.joinable()) return;
  parts_->link->stop();
  parts_->loop.close();
  parts_->thread.join();
  parts_->sweeper.stop();
}

template <class T, class Request>
void Scheduler::post(Done<T> done, Request request) {
  // `done` is kept apart: it must be there to be told when the post is refused.
  const bool posted =
      parts_->loop.post([done, request = std::move(request)](Loop& loop) { request(loop, done); });
  if (!posted) done(unavailable("the scheduler has too much to do, or is stopping"));
}

void Scheduler::submit(NewJob job, Done<Submitted> done) {
  post(std::move(done), [job = std::move(job)](Loop& loop, const Done<Submitted>& then) {
    requests::submit(loop, job, then);
  });
}

void Scheduler::act(JobId id, JobAction action, Done<Job> done) {
  post(std::move(done),
       [order = ActOnJob{std::move(id), action}](Loop& loop, const Done<Job>& then) {
         requests::act(loop, order, then);
       });
}

void Scheduler::remove(JobId id, Done<std::monostate> done) {
  post(std::move(done), [id = std::move(id)](Loop& loop, const Done<std::monostate>& then) {
    requests::remove(loop, id, then);
  });
}

void Scheduler::set_cordon(AgentId id, bool cordoned, Done<AgentView> done) {
  post(std::move(done),
       [order = SetCordon{std::move(id), cordoned}](Loop& loop, const Done<AgentView>& then) {
         requests::set_cordon(loop, order, then);
       });
}

void Scheduler::drain(AgentId id, Done<AgentView> done) {
  post(std::move(done),
       [order = DrainAgent{std::move(id)}](Loop& loop, const Done<AgentView>& then) {
         requests::drain(loop, order, then);
       });
}

void Scheduler::forget_agent(AgentId id, Done<std::monostate> done) {
  post(std::move(done),
       [order = ForgetAgent{std::move(id)}](Loop& loop, const Done<std::monostate>& then) {
         requests::forget(loop, order, then);
       });
}

void Scheduler::plan(JobSpec spec, Done<Planned> done) {
  post(std::move(done), [spec = std::move(spec)](Loop& loop, const Done<Planned>& then) {
    requests::plan(loop, spec, then);
  });
}

void Scheduler::explain(JobId id, Done<std::optional<Explanation>> done) {
  post(std::move(done),
       [id = std::move(id)](Loop& loop, const Done<std::optional<Explanation>>& then) {
         requests::explain(loop, id, then);
       });
}

void Scheduler::agents(Done<std::vector<AgentView>> done) {
  post(std::move(done),
       [](Loop& loop, const Done<std::vector<AgentView>>& then) { requests::agents(loop, then); });
}

Feed& Scheduler::feed() { return parts_->feed; }

std::string Scheduler::agent_address() const { return parts_->agent_address; }

std::string Scheduler::database_path() const { return parts_->folder.database(); }

std::string Scheduler::log_path(const TaskKey& task) const {
  const auto path = parts_->logs.path(task);
  return path ? *path : std::string();
}

Result<MadeFile> Scheduler::model_file(const Checkpoint& checkpoint) {
  const std::lock_guard lock(parts_->made_mutex);
  return model_file_of(*parts_, checkpoint, MadeFiles::Compare::once);
}

Result<MadeFile> Scheduler::onnx_file(const Checkpoint& checkpoint, const JobSpec& spec) {
  TRY_ASSIGN(const std::string path, parts_->artifacts.onnx_path(checkpoint));
  const std::lock_guard lock(parts_->made_mutex);
  TRY_ASSIGN(const auto made, parts_->made.find(path, MadeFiles::Compare::once));
  if (made) return *made;
  // Else what a disk has done to the one file would be sound in the other.
  TRY_ASSIGN(const MadeFile model, model_file_of(*parts_, checkpoint, MadeFiles::Compare::always));
  TRY(write_onnx_file({.spec = spec, .model_file = model.path}, path));
  return parts_->made.keep(path);
}

Readiness Scheduler::readiness() const { return parts_->loop.health().look(steady_now()); }

const Scheduler::Counters& Scheduler::counters() const { return parts_->counters; }

}  // namespace trainyard::scheduler
