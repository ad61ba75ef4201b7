// The share of the parameters that a worker of an all-reduce holds: a ps in its own process, on a
// thread of its own. A worker of another strategy has none.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "runtime/role/compute_devices.h"
#include "runtime/role/serve.h"

namespace trainyard::runtime {

class OwnShare {
 public:
  // Serves at once, so that peers find it. `task` and `plan` outlive it. Where GPUs compute, the
  // first of them updates it, too. Without slots a CPU does: it reads less than would be copied.
  static Result<OwnShare> open(const Task& task, const JobPlan& plan,
                               const ComputeDevices& devices);

  // The task, which is asked to stop where the share's device fails, too: nobody would be sent
  // parameters any more.
  [[nodiscard]] Task task() const;
  // Throws DeviceFailed where it has failed.
  void require_sound() const;
  // Of the GPU that was to update it: the CPU does.
  [[nodiscard]] bool lacks_memory() const { return served_ != nullptr && served_->lacks_memory; }

  // Waits until the chief has said that training is over and every worker knows it, or until it is
  // asked to stop.
  Status finish();

 private:
  // Shared with the thread that serves.
  class Failure {
   public:
    explicit Failure(const std::stop_token& stop);
    void tell(const std::string& why);
    [[nodiscard]] std::string why() const;  // "": there is none
    [[nodiscard]] std::stop_token stop() const { return source_.get_token(); }

   private:
    struct Request {
      std::stop_source& source;
      void operator()() const { source.request_stop(); }
    };
    mutable std::mutex mutex_;
    std::string why_;  // guarded by mutex_
    std::stop_source source_;
    std::stop_callback<Request> on_stop_;  // of the task
  };

  explicit OwnShare(const Task& task);

  const Task* task_;
  std::unique_ptr<Failure> failure_;     // goes after its server
  std::unique_ptr<ServedShare> served_;  // none: no share
};

}  // namespace trainyard::runtime
