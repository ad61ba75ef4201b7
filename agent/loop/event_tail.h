// Follows the events.jsonl of every task and passes on what is new, at most a window ahead of what
// the server has stored: an hour without a server costs disk, not memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/loop/task_files.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

struct TailedEvents {
  TaskFiles task;
  std::vector<RunEvent> events;  // oldest first
  std::int64_t end = 0;          // offset after the last line read
};

class EventTail {
 public:
  // Called on the tail's thread. False: not now; the same events are offered again.
  using OnEvents = std::function<bool(const TailedEvents& events)>;
  // The last event of a finished task has been passed on.
  using OnEnd = std::function<void(const TaskKey& key)>;

  EventTail(OnEvents on_events, OnEnd on_end);
  ~EventTail();  // stop()
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  void run();
  void stop();

  void add(const TaskFiles& task);
  void stored(const TaskKey& key, std::int64_t end);  // durable at the server up to here
  void finish(const TaskKey& key);  // the process is gone: nothing is written any more
  void forget(const TaskKey& key);

 private:
  struct Followed {
    TaskFiles task;
    std::int64_t offset = 0;  // passed on up to here
    std::int64_t stored = 0;
    bool finished = false;
  };

  void follow(const std::stop_token& stop);
  void advance(const Followed& followed);
  void update(const TaskKey& key, std::int64_t offset);

  const OnEvents on_events_;
  const OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<TaskKey, Followed> tasks_;  // guarded by mutex_, one per task of this agent
  std::jthread thread_;
};

}  // namespace trainyard::agent
