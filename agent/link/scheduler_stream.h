// The agent's conversation with its server, which is none: whole reports go up, whole assignments
// come down, over one stream that is opened again for as long as it takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/link/channel.h"
#include "agent/link/refusal_log.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

// All are called on threads of this stream or of gRPC, one at a time or not; they must only post.
struct StreamCallbacks {
  std::function<void()> on_connected;  // a stream is up: the first report can be sent
  std::function<void()> on_writable;   // the last report has left: the next can be sent
  std::function<void(Assignment)> on_assignment;
  std::function<void()> on_refused;  // nobody listens at the server's address
};

class SchedulerStream {
 public:
  SchedulerStream(std::string server, StreamCallbacks callbacks);
  ~SchedulerStream();  // stop()
  SchedulerStream(const SchedulerStream&) = delete;
  SchedulerStream& operator=(const SchedulerStream&) = delete;

  // Starts to connect; tries again after 100 ms, growing to 2 s (500 ms while the server refuses).
  void run();
  // No callback comes after this.
  void stop();

  // False while no stream is up, and while an earlier report is still leaving: nothing is queued
  // here, so that what leaves is always the newest.
  bool send(const AgentReport& report);

 private:
  class Call;

  void connect_until_stopped();
  // Runs one stream to its end; true when it was ever answered.
  bool converse();
  void wait(std::chrono::milliseconds pause);
  void note(Reach reach);
  void note_refusal(const std::string& why);

  const std::string server_;
  const StreamCallbacks callbacks_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;              // guarded by mutex_
  std::shared_ptr<Call> call_;         // guarded by mutex_: the stream that is up
  Reach last_reach_ = Reach::reached;  // of the thread alone
  RefusalLog refusals_;                // of the thread alone
  std::thread thread_;
};

}  // namespace trainyard::agent
