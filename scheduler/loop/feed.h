// Who waits for news of a job: long polls and event streams. Told after the save, so nobody hears
// of what is not durable. A watcher gets a poke, never data: it reads from the store, so a slow one
// cannot make a queue grow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "schemas/base/id.h"

namespace trainyard::scheduler {

class Feed {
 public:
  Feed();
  ~Feed();

  // Ends the subscription when destroyed. `poke` runs on the scheduler's thread whenever the job,
  // its events or its metrics changed; it must not block. One that has just begun may still run
  // while its subscription ends, so it must own what it touches.
  class Subscription;
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(JobId job, std::function<void()> poke);

  void announce(const JobId& job);  // by the scheduler, after a save

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Feed::Subscription {
 public:
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  friend class Feed;
  Subscription(std::shared_ptr<State> state, std::uint64_t number);
  std::shared_ptr<State> state_;
  std::uint64_t number_;
};

}  // namespace trainyard::scheduler
