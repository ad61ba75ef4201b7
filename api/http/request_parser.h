// Bytes -> requests, strictly by RFC 9112. What could be read in two ways (two lengths, bare
// newlines, chunked bodies, folded headers) is refused, so that no proxy in front can disagree with
// us about where a request ends.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/byte_budget.h"
#include "api/http/problem.h"
#include "api/http/request.h"

namespace trainyard::api {

struct RequestLimits {
  std::size_t head_bytes = 32 << 10;  // request line and headers
  std::size_t target_bytes = 8 << 10;
  std::size_t body_bytes = 1 << 20;
};

class RequestParser {
 public:
  enum class State {
    need_more,
    wants_continue,  // said once: the client waits for "100 Continue" before it sends the body
    complete,        // take() it
    refused,         // problem() says why; the connection must be closed after the answer
  };

  // `bodies`: what all parsers together may wait for; none = no bound but that of each.
  explicit RequestParser(RequestLimits limits, std::shared_ptr<ByteBudget> bodies = nullptr)
      : limits_(limits), bodies_(std::move(bodies)) {}

  State feed(std::string_view bytes);

  // After `complete`: the request, and the parser is ready for the next one. Bytes that came after
  // it are counted and dropped.
  Request take();
  [[nodiscard]] std::size_t surplus_bytes() const { return surplus_; }

  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  State parse_head(std::string_view head);
  bool parse_request_line(std::string_view line);
  bool parse_header(std::string_view line);
  bool check_framing();
  bool refuse(int status, std::string code, std::string detail);
  bool charge_body();
  State body_state();

  RequestLimits limits_;
  std::shared_ptr<ByteBudget> bodies_;
  Charge charge_;       // of the body while it comes in
  std::string buffer_;  // the head while it comes in; then the body
  bool in_body_ = false;
  std::size_t body_length_ = 0;
  std::size_t surplus_ = 0;
  std::optional<std::string> content_length_;
  Request request_;
  Problem problem_;
};

}  // namespace trainyard::api
