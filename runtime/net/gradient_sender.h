// Sends gradients while they are computed: a thread that moves what is released, and sleeps when
// there is nothing to move.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/net/stream_lane.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class GradientSender {
 public:
  static Result<std::unique_ptr<GradientSender>> create();
  ~GradientSender();
  GradientSender(const GradientSender&) = delete;
  GradientSender& operator=(const GradientSender&) = delete;

  // From now on the thread alone sends on these lanes.
  void start(std::vector<StreamLane*> lanes);
  // Something was released.
  void ring();
  // The lanes are the caller's again. What was not sent yet is left to it, and so is what went
  // wrong: the lane finds it out once more.
  void stop();

 private:
  explicit GradientSender(Descriptor bell);
  void run(const std::stop_token& stop);
  void send_released(std::vector<StreamLane*>& lanes);

  const Descriptor bell_;  // an eventfd
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<StreamLane*> lanes_;      // guarded by mutex_
  bool works_ = false;                  // guarded by mutex_
  std::atomic<bool> stopping_ = false;  // it is to leave the lanes alone
  std::jthread thread_;                 // last: it uses all of the above
};

}  // namespace trainyard::runtime
