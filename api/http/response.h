// One HTTP response as a value, and its head as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/problem.h"

namespace trainyard::api {

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>>
      headers{};  // beyond those that every response has
};

Response json_response(int status, std::string body);
Response problem_response(const Problem& problem);

enum class BodyKind { sized, chunked, until_close };
enum class AfterResponse { keep_open, close };

struct HeadOptions {
  BodyKind body = BodyKind::sized;
  std::uint64_t length = 0;  // of a sized body
  AfterResponse after = AfterResponse::keep_open;
};

// Status line and headers with the empty line after them. 204 and 304 carry no length.
std::string serialize_head(const Response& response, const HeadOptions& options);

}  // namespace trainyard::api
