// The HTTP server. Pistache accepts connections and polls them; parsing is strict and ours, and
// every byte of every answer is written by our own writer (README.md says why). Nothing outside
// this folder knows Pistache.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/http/address.h"
#include "api/http/request_parser.h"
#include "api/http/router.h"
#include "schemas/base/result.h"

namespace trainyard::api {

struct ServerOptions {
  std::string address = "127.0.0.1:8080";  // IPv4 or "localhost"; port 0 takes a free one
  Exposure exposure = Exposure::loopback_only;
  int threads = 2;
  // Fewer when the limit of open files is lower. Beyond it the connection that is quiet for longest
  // is closed; where none is, some more get short answers alone.
  std::size_t connections_max = 4096;
  // Of answers that clients have not taken yet: beyond it long answers are 503.
  std::size_t unsent_bytes_max = 64 << 20;
  std::size_t answer_bytes_max = 32 << 20;  // of one answer, files apart
  std::size_t bodies_bytes_max = 64 << 20;  // of requests that have not come whole
  RequestLimits limits{};
  std::chrono::milliseconds idle_limit{
      75'000};  // a connection without a whole request for so long is closed
  std::chrono::milliseconds stall_limit{
      30'000};  // a client that takes nothing for so long is dropped
  std::chrono::milliseconds heartbeat_every{15'000};
  std::chrono::milliseconds stop_patience{5'000};
};

class Server {
 public:
  // Listens when it returns. `invalid` for a bad address or one beyond loopback, `unavailable` when
  // it is taken. Ignores SIGPIPE for the whole process.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, std::vector<Route> routes);
  ~Server();  // stop()

  [[nodiscard]] std::string address() const;  // "127.0.0.1:8080", with the port as bound

  // Accepts nothing more, gives answers that are due `stop_patience` to be made and as long to be
  // taken.
  void stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard::api
