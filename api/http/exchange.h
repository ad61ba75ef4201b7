// One request that is being answered: what Responder stands for. Internal to api/http.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "api/http/connection.h"
#include "api/http/responder.h"

namespace trainyard::api {

// How many requests wait for their answers: what a graceful stop waits for.
class OpenExchanges {
 public:
  void add();
  void remove();
  // True when there is none any more; false when `patience` was not enough.
  bool wait_until_none(std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  long open_ = 0;  // guarded by mutex_
};

struct Responder::Exchange {
  struct Setup {
    std::shared_ptr<Connection> connection;
    std::shared_ptr<Writer> writer;
    std::shared_ptr<OpenExchanges> open;
    // The reader may let go of a connection that is quiet for longer; an answer that comes later
    // closes it.
    std::chrono::milliseconds keep_open_max;
  };
  Exchange(Setup setup, const Request& request);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void answer(Response response, FileSlice slice);
  bool claim();  // true for the first that answers
  [[nodiscard]] AfterResponse after() const;

  const Setup parts;
  const bool is_head;
  const bool http_1_0;
  const bool wants_close;
  const std::string if_none_match;
  const std::string if_range;
  const std::string range;
  const std::chrono::steady_clock::time_point arrived;
  std::atomic<bool> answered{false};
};

}  // namespace trainyard::api
