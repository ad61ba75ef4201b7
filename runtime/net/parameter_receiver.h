// Brings parameters to their place while those that came first are read: a thread that receives
// what there is, and sleeps when nothing is on its way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/net/stream_lane.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ParameterReceiver {
 public:
  ParameterReceiver();
  ParameterReceiver(const ParameterReceiver&) = delete;
  ParameterReceiver& operator=(const ParameterReceiver&) = delete;

  // From now on the thread alone uses these lanes, until each has all of its answer or has failed.
  void start(std::vector<StreamLane*> lanes);
  // So many bytes of a lane's answer, from the first on.
  struct Need {
    const StreamLane* lane;
    std::uint64_t bytes;
  };
  // Waits until all of them have come, or a lane has failed; false: not within `limit`.
  [[nodiscard]] bool wait(std::span<const Need> needed, std::chrono::milliseconds limit);
  // Until nothing is on its way any more.
  void wait_until_idle();
  // What went wrong first since start(), and with which lane.
  struct Failure {
    const StreamLane* lane;
    Error error;
  };
  [[nodiscard]] std::optional<Failure> failure();

 private:
  void run(const std::stop_token& stop);
  void receive(const std::stop_token& stop, std::vector<StreamLane*> lanes);
  void note(const StreamLane* lane, const Status& received);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<StreamLane*> lanes_;  // guarded by mutex_
  bool works_ = false;              // guarded by mutex_
  std::optional<Failure> failure_;  // guarded by mutex_
  std::jthread thread_;             // last: it uses all of the above
};

}  // namespace trainyard::runtime
