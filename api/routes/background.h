// One thread for work that takes a disk its time (putting a model file together), so that the few
// threads that read requests never wait for it. Bounded: what does not fit is refused.
#pragma once

#include <functional>
#include <thread>

#include "schemas/base/inbox.h"

namespace trainyard::api {

class Background {
 public:
  explicit Background(std::size_t capacity) : inbox_(capacity) {}
  ~Background() { stop(); }

  void start();
  void stop();  // what is queued is still done

  [[nodiscard]] bool post(std::function<void()> work) { return inbox_.post(std::move(work)); }

 private:
  Inbox<std::function<void()>> inbox_;
  std::thread thread_;
};

}  // namespace trainyard::api
