// A client on a plain socket, so that a test can say exactly which bytes it sends and when it hangs
// up.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "schemas/base/descriptor.h"
#include "tests/support/process_state.h"

namespace trainyard::api {

struct RawResponse {
  int status = 0;  // 0: the connection ended before a whole response was there
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

class RawClient {
 public:
  explicit RawClient(const std::string& address);  // "127.0.0.1:8080"

  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
  // False when the server has closed the connection.
  bool send(std::string_view bytes);
  // "GET /path" with the headers every request needs, and `extra` lines ("Name: value\r\n").
  bool request(std::string_view method_and_path, std::string_view extra = "",
               std::string_view body = "");

  RawResponse read();  // one response
  // Takes so many bytes at most from the socket, and drops them; how many came, 0 at the end.
  std::size_t drop_bytes(std::size_t bytes);
  RawResponse read_to_head();  // only the head, of a HEAD answer or a stream
  // More of a stream, until `wanted` was seen or the connection ended; all that came so far.
  std::string read_until(std::string_view wanted);
  // The same, and taken: the next call begins behind it. "" when it did not come.
  std::string take_until(std::string_view wanted);
  bool ended();  // waits for the server's end of the connection
  enum class HangUp { politely, with_reset };
  void hang_up(HangUp manner);
  void close_sending();

  RawResponse call(std::string_view method_and_path, std::string_view extra = "",
                   std::string_view body = "") {
    return request(method_and_path, extra, body) ? read() : RawResponse{};
  }

 private:
  bool receive();  // some more bytes; false at the end or after the deadline
  Descriptor socket_;
  std::string buffer_;
  static constexpr std::chrono::seconds deadline{20};
};

// Waits until the process has no more descriptors open than `count`; false after a deadline.
bool descriptors_return_to(long count);
long resident_kilobytes();  // of this process

}  // namespace trainyard::api
