// Starts tasks, one after another, on a thread of its own: a shim, or the disk that a program lies
// on, may take its time, and the lease of all other tasks runs meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "agent/host/task_process.h"
#include "schemas/base/result.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

class TaskStarter {
 public:
  // Called on the starter's thread, before OnEnd may be.
  using OnStarted = std::function<void(const TaskKey& key, const Result<TaskProcess>& started)>;
  using OnEnd = std::function<void(const TaskKey& key, const TaskEnd& end)>;

  TaskStarter(TaskProcesses& processes, OnStarted on_started, OnEnd on_end);
  ~TaskStarter();  // what has not begun never does
  TaskStarter(const TaskStarter&) = delete;
  TaskStarter& operator=(const TaskStarter&) = delete;

  void run();
  void add(const TaskKey& key, TaskStart task);

 private:
  struct Order {
    TaskKey key;
    TaskStart task;
  };
  void work(const std::stop_token& stop);
  void start(const Order& order);

  TaskProcesses& processes_;
  const OnStarted on_started_;
  const OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Order> queue_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace trainyard::agent
