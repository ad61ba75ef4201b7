// Follows the events.jsonl of every task and passes on what is new, at most a window ahead of what
// the server has stored: an hour without a server costs disk, not memory. A file that cannot be
// read is tried again every second, after its task's end for some seconds only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/host/file_watch.h"
#include "agent/loop/task_files.h"
#include "schemas/base/result.h"
#include "schemas/base/time.h"
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
  // The last event of a finished task has been passed on, or what is left cannot be read.
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
    int watch = -1;   // of its file; -1: nobody tells of changes
    bool due = true;  // to be looked at

    bool unread = false;      // its file could not be read the last time
    Time next_try;            // not before
    int tries_after_end = 0;  // in a row, that could not read it
  };

  void follow(const std::stop_token& stop);
  std::vector<Followed> take_due(bool& again);
  void note_changed(const std::vector<int>& changed, bool all);
  std::chrono::milliseconds time_to_next_try();
  bool advance(const Followed& followed);
  void note_unread(const Followed& followed, const Error& error);
  void note_readable(const TaskKey& key);
  void end(const TaskKey& key);
  void look_at(Followed& followed);  // under mutex_
  static bool is_full(const Followed& followed);
  void update(const TaskKey& key, std::int64_t offset);

  const OnEvents on_events_;
  const OnEnd on_end_;
  FileWatch watch_;
  std::mutex mutex_;
  std::map<TaskKey, Followed> tasks_;  // guarded by mutex_, one per task of this agent
  std::jthread thread_;
};

}  // namespace trainyard::agent
