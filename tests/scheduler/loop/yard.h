// A Scheduler on a folder of its own, asked and waited for as the API does it.
#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "scheduler/loop/scheduler.h"
#include "scheduler/store/reader.h"
#include "tests/scheduler/loop/agent_peer.h"
#include "tests/scheduler/store/fixtures.h"
#include "tests/support/waiting.h"

namespace trainyard::scheduler {

// Its chief saves nothing when it is suspended: here nobody trains.
inline NewJob a_request(const std::string& more_spec = "") {
  Job job = a_job("j-any", 1, more_spec);
  job.spec.run_policy.save_seconds = 0;
  job.spec_json = to_json(job.spec);
  return {.spec = job.spec, .spec_json = job.spec_json, .idempotency_key = "", .request_hash = ""};
}

// Calls `ask` with a callback, and waits for its answer.
template <class T, class Ask>
Result<T> answer_to(Ask ask) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  ask([promise](Result<T> result) { promise->set_value(std::move(result)); });
  if (future.wait_for(patience) != std::future_status::ready) throw std::runtime_error("no answer");
  return future.get();
}

class Yard {
 public:
  Yard() { start(); }

  void start() {
    scheduler_ = value_of(Scheduler::start(
        {.state_dir = folder_.path("state"), .agent_address = "127.0.0.1:0", .limits = {}}));
    reader_ = std::make_unique<Reader>(value_of(Reader::open(scheduler_->database_path())));
  }
  void restart() {
    reader_.reset();
    scheduler_.reset();
    start();
  }

  Scheduler& scheduler() { return *scheduler_; }
  Reader& reader() { return *reader_; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path("state/" + name);
  }
  [[nodiscard]] std::string agent_address() const { return scheduler_->agent_address(); }

  Result<Submitted> submit(NewJob job) {
    return answer_to<Submitted>(
        [&](auto done) { scheduler_->submit(std::move(job), std::move(done)); });
  }
  Result<Job> act(const JobId& id, JobAction action) {
    return answer_to<Job>([&](auto done) { scheduler_->act(id, action, std::move(done)); });
  }
  Status remove(const JobId& id) {
    return answer_to<std::monostate>([&](auto done) { scheduler_->remove(id, std::move(done)); });
  }
  Result<std::vector<AgentView>> agents() {
    return answer_to<std::vector<AgentView>>(
        [&](auto done) { scheduler_->agents(std::move(done)); });
  }

  // Waits until `wanted()` is true, looking again whenever the job changes.
  template <class Wanted>
  void wait_until(const JobId& id, Wanted wanted) {
    // Shared with a poke that may still be running when its subscription ends.
    const auto bell = std::make_shared<Bell>();
    const auto subscription = scheduler_->feed().subscribe(id, [bell] { bell->ring(); });
    const Deadline deadline = in_patience();
    while (!wanted()) {
      if (!bell->wait(deadline)) throw std::runtime_error("waited too long");
    }
  }
  Job wait_for_state(const JobId& id, JobState state) {
    wait_until(id, [&] { return value_of(reader_->job(id)).state == state; });
    return value_of(reader_->job(id));
  }

 private:
  struct Bell {
    std::mutex mutex;
    std::condition_variable changed;
    bool rung = false;

    void ring() {
      const std::lock_guard lock(mutex);
      rung = true;
      changed.notify_one();
    }
    bool wait(Deadline deadline) {
      std::unique_lock lock(mutex);
      return changed.wait_until(lock, deadline, [this] { return std::exchange(rung, false); });
    }
  };

  TempFolder folder_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace trainyard::scheduler
