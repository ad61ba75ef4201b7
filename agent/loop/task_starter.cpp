#include "agent/loop/task_starter.h"

#include <utility>

namespace trainyard::agent {

TaskStarter::TaskStarter(TaskProcesses& processes, OnStarted on_started, OnEnd on_end)
    : processes_(processes), on_started_(std::move(on_started)), on_end_(std::move(on_end)) {}

TaskStarter::~TaskStarter() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void TaskStarter::run() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void TaskStarter::add(const TaskKey& key, TaskStart task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({key, std::move(task)});
  changed_.notify_all();
}

void TaskStarter::work(const std::stop_token& stop) {
  while (true) {
    Order order;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      order = std::move(queue_.front());
      queue_.pop_front();
    }
    if (stop.stop_requested()) return;
    start(order);
  }
}

void TaskStarter::start(const Order& order) {
  const Result<TaskProcess> started = processes_.start(
      order.task, [this, key = order.key](const TaskEnd& end) { on_end_(key, end); },
      [&](const TaskProcess& process) { on_started_(order.key, process); });
  if (!started) on_started_(order.key, started.error());
}

}  // namespace trainyard::agent
