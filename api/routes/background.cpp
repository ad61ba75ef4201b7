// The background threads' loop.
#include "api/routes/background.h"

#include <exception>
#include <utility>

#include "schemas/base/log.h"

namespace trainyard::api {
namespace {

// A work that throws answers nobody: its client gets the 500 of a request that was let go of.
void do_guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& problem) {
    log_error("request_failed", {{"message", problem.what()}});
  } catch (...) {
    log_error("request_failed", {{"message", "a handler threw something unknown"}});
  }
}

}  // namespace

void Background::start() {
  for (std::size_t count = 0; count < size_.threads; ++count) {
    threads_.emplace_back([this] { run(); });
  }
}

void Background::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool Background::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= size_.queue) return false;
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void Background::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    do_guarded(work);
    work = nullptr;  // what it holds may answer as it goes: not under the lock
    lock.lock();
  }
}

}  // namespace trainyard::api
