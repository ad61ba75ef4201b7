// Problem documents (RFC 9457): the one form of every answer that says no, and the one table that
// maps errors to HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::api {

struct PointedFault {
  std::string pointer;  // RFC 6901, into the body that was sent
  std::string message;
};

struct Problem {
  int status = 500;
  std::string code;    // for programs: "not_found", "invalid_spec"
  std::string detail;  // for people
  std::vector<PointedFault> errors{};
  std::optional<int> retry_after_seconds{};
  std::string allow{};  // 405 only: "GET, POST"
};

// `internal` keeps its message to itself: the text goes to the log, the client is told that it did.
Problem problem_of(const Error& error);

inline Problem bad_request(std::string code, std::string detail) {
  return {.status = 400, .code = std::move(code), .detail = std::move(detail)};
}

std::string to_json(const Problem& problem);

std::string_view status_phrase(int status);  // "Not Found"

}  // namespace trainyard::api
