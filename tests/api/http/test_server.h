// A server with a few routes that exercise every kind of answer, for the tests of api/http.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/http/server.h"
#include "tests/support/temp_folder.h"

namespace trainyard::api {

// Runs what it is given on a thread of its own: answers that come from elsewhere, as the
// scheduler's do.
class Later {
 public:
  Later();
  ~Later();
  void run(std::function<void()> work);
  bool wait_for_queued(std::size_t count);  // works that have not begun; false after a deadline

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::thread thread_;
};

inline constexpr std::size_t huge_bytes = 24 << 20;  // more than sockets hold

struct TestServer {
  explicit TestServer(ServerOptions options = {});
  ~TestServer();

  // Every event stream that is open, in the order of their requests.
  std::vector<std::shared_ptr<ResponseStream>> streams();
  void forget_streams();
  bool wait_for_streams(std::size_t count);  // open ever; false after a deadline
  bool wait_for_gone(long count);

  [[nodiscard]] std::string address() const { return server->address(); }

  Later later;
  std::unique_ptr<Server> server;

 private:
  std::vector<Route> routes();
  void add_stream(const Responder& responder);

  TempFolder folder_;  // of the file that GET /file sends
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<ResponseStream>> streams_;  // guarded by mutex_
  long gone_ = 0;                                         // guarded by mutex_
};

}  // namespace trainyard::api
