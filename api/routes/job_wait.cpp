// The long poll's watcher.
#include "api/routes/job_wait.h"

#include <atomic>
#include <memory>

#include "api/routes/job_response.h"

namespace trainyard::api {
namespace {

class Waiting : public Watcher {
 public:
  Waiting(Backend& backend, const JobWait& wait, const Responder& responder)
      : readers_(*backend.readers),
        wait_(wait),
        deadline_(std::chrono::steady_clock::now() + wait.timeout),
        responder_(responder) {}

  // A client that has left is answered at once: the answer may still reach one that closed only its
  // own direction, and the place is free again.
  void leave_with_client(const Watchers::Poke& poke) {
    responder_.when_gone([left = left_, poke] {
      *left = true;
      poke();
    });
  }

  Next look() override {
    const auto found = read_job(readers_, wait_.job);
    if (!found) {
      responder_.error(found.error());
      return Next::done;
    }
    const bool time_is_up = *left_ || std::chrono::steady_clock::now() >= deadline_;
    if (found->job.version <= wait_.above_version && !time_is_up) return Next::keep;
    responder_.tagged(job_response(found->job, found->tasks), job_tag(found->job));
    return Next::done;
  }

  [[nodiscard]] std::chrono::steady_clock::time_point look_at() const override { return deadline_; }

  void stop() override { responder_.error(unavailable("the server is stopping")); }

 private:
  ReaderPool& readers_;
  const JobWait wait_;
  const std::chrono::steady_clock::time_point deadline_;
  const Responder responder_;
  const std::shared_ptr<std::atomic<bool>> left_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<Watcher> make_job_wait(Backend& backend, const JobWait& wait,
                                       const Responder& responder, const Watchers::Poke& poke) {
  auto waiting = std::make_unique<Waiting>(backend, wait, responder);
  waiting->leave_with_client(poke);
  return waiting;
}

}  // namespace trainyard::api
