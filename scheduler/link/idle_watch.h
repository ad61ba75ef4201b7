// Ends calls that bring nothing and take nothing: a peer that hangs, or means harm, holds its place
// for a while and no longer.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "schemas/base/time.h"

namespace trainyard::scheduler {

class IdleWatch {
 public:
  explicit IdleWatch(Millis limit);

  // A call under watch, from here to its end.
  class Call {
   public:
    Call(IdleWatch& watch, grpc::ServerContextBase& call);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    void moved();  // something came or left

   private:
    IdleWatch& watch_;
    grpc::ServerContextBase& call_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  void run(const std::stop_token& stop);

  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<grpc::ServerContextBase*, Clock::time_point> moved_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace trainyard::scheduler
