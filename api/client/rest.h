// REST calls by libcurl: one connection to one server, kept open between calls. It knows HTTP and
// the problem documents of the contract, but no job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::client {

struct Request {
  std::string method = "GET";
  std::string path = {};  // with its query: "/v1/jobs?limit=5"
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  Millis timeout{30'000};  // of the whole call; 0 = none, for streams that a person ends
  Millis stall_limit{0};   // in whole seconds: without a byte for so long the call ends; 0 = none
  std::function<void()> while_waiting = {};  // called about once a second until the answer is there
};

struct Answer {
  long status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  [[nodiscard]] bool succeeded() const { return status >= 200 && status < 300; }
  [[nodiscard]] std::string header(const std::string& lower_case_name) const;
};

// Takes the next bytes of a successful answer; an error ends the call with that error.
using Sink = std::function<Status(const Answer& head, std::string_view bytes)>;

// The transport's own failures are `unavailable`, with a sentence that names the server.
class Rest {
 public:
  // `server` as a user writes it: "http://host:8080", "host:8080"; `invalid` when it is no URL of
  // that kind.
  static Result<Rest> connect(std::string server);
  Rest(Rest&&) noexcept;
  Rest& operator=(Rest&&) noexcept;
  ~Rest();

  Result<Answer> send(const Request& request);
  // As send(), but the body of a 2xx answer goes to `sink` as it comes.
  Result<Answer> stream(const Request& request, const Sink& sink);

  // An answer other than 2xx is an Error in words (see problem_words).
  Result<nlohmann::json> get_json(const std::string& path);
  Result<nlohmann::json> post_json(const std::string& path, const std::string& body = "");

  [[nodiscard]] const std::string& server() const { return server_; }

 private:
  struct Handle;
  Rest(std::string server, std::unique_ptr<Handle> handle);
  std::string server_;  // without a slash at its end
  std::unique_ptr<Handle> handle_;
};

// The answer's JSON, or the problem that it carries as an Error.
Result<nlohmann::json> json_of(const Answer& answer);

// A problem document (RFC 9457) as sentences, each fault on a line with its JSON pointer. What is
// no problem document is named by its status.
Error problem_words(const Answer& answer);

// For one path segment or query value: all but unreserved characters become %XX.
std::string percent_encode(std::string_view text);

// After this, calls under way end with an `unavailable` error. Safe in a signal handler.
void interrupt_calls();
[[nodiscard]] bool calls_interrupted();

}  // namespace trainyard::client
