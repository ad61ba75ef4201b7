#include "scheduler/loop/scheduler.h"

#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "scheduler/link/agent_server.h"
#include "scheduler/loop/agent_desk.h"
#include "scheduler/loop/counters.h"
#include "scheduler/loop/loop.h"
#include "scheduler/loop/requests.h"
#include "scheduler/loop/state_folder.h"
#include "scheduler/loop/sweeper.h"
#include "scheduler/loop/tokens.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"
#include "scheduler/store/model_file.h"

namespace trainyard::scheduler {
namespace {

// How long a file stays that belongs to no checkpoint: the manifest that names it may yet come,
// from an agent that was cut off until it is given up as lost.
Millis file_grace(const Limits& limits) { return limits.lost_after + seconds(60); }

}  // namespace

// In the order in which they depend on one another; stop() ends them in reverse.
struct Scheduler::Parts {
  Parts(StateFolder taken, Store store, Reader reader, Sweep sweep, const SchedulerOptions& options)
      : folder(std::move(taken)),
        artifacts(folder.artifacts()),
        logs(folder.logs()),
        tokens(std::move(reader)),
        sweeper(std::move(sweep), file_grace(options.limits)),
        loop(std::move(store), artifacts, options.limits, counters),
        desk(loop, tokens, artifacts, logs) {}

  StateFolder folder;
  Artifacts artifacts;
  Logs logs;
  Feed feed;
  Counters counters;
  Tokens tokens;
  Sweeper sweeper;
  Loop loop;
  AgentDesk desk;
  std::unique_ptr<AgentServer> link;
  std::string agent_address;
  std::thread thread;
  std::mutex model_mutex;  // one model file is put together at a time
};

Scheduler::Scheduler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Scheduler::~Scheduler() { stop(); }

Result<std::unique_ptr<Scheduler>> Scheduler::start(SchedulerOptions options) {
  TRY_ASSIGN(StateFolder folder, StateFolder::take(options.state_dir));
  TRY_ASSIGN(Store store, Store::open(folder.database()));
  TRY_ASSIGN(Reader reader, Reader::open(folder.database()));
  TRY_ASSIGN(Sweep sweep, Sweep::open(folder.database(), {folder.artifacts(), folder.logs()},
                                      file_grace(options.limits)));
  auto parts = std::make_unique<Parts>(std::move(folder), std::move(store), std::move(reader),
                                       std::move(sweep), options);
  Parts& p = *parts;
  TRY(p.loop.prepare({.send = [&p](const Assignment& assignment) { p.link->send(assignment); },
                      .refuse = [&p](const Refusal& refusal) { p.link->refuse(refusal); },
                      .announce = [&p](const JobId& job) { p.feed.announce(job); },
                      .files_unused = [&p](const JobId& job) { p.sweeper.request(job); },
                      .removed = [&p](const JobId& job) { p.tokens.forget(job); }}));
  TRY_ASSIGN(p.link, AgentServer::listen(options.agent_address, p.desk.handlers()));
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

void Scheduler::plan(JobSpec spec, Done<Plan> done) {
  post(std::move(done), [spec = std::move(spec)](Loop& loop, const Done<Plan>& then) {
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

Result<std::string> Scheduler::model_file(const Checkpoint& checkpoint) {
  TRY_ASSIGN(const std::string path, parts_->artifacts.model_path(checkpoint));
  const std::lock_guard lock(parts_->model_mutex);
  if (!std::filesystem::exists(path)) TRY(write_model_file(parts_->artifacts, checkpoint, path));
  return path;
}

bool Scheduler::ready() const { return parts_->loop.ready(); }

const Scheduler::Counters& Scheduler::counters() const { return parts_->counters; }

}  // namespace trainyard::scheduler
