// Heads of responses.
#include "api/http/response.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace trainyard::api {
namespace {

// "Fri, 20 Nov 2026 19:40:00 GMT", in English whatever the locale is.
std::string http_date(std::time_t time) {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   days.at(static_cast<std::size_t>(utc.tm_wday)), utc.tm_mday,
                                   months.at(static_cast<std::size_t>(utc.tm_mon)),
                                   utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return {text.data(), static_cast<std::size_t>(length)};
}

void append_header(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char letter : value) {
    if (letter != '\r' && letter != '\n') head += letter;  // a value can never end its header
  }
  head += "\r\n";
}

}  // namespace

Response json_response(int status, std::string body) {
  return {.status = status, .body = std::move(body)};
}

Response problem_response(const Problem& problem) {
  Response response{.status = problem.status,
                    .content_type = "application/problem+json",
                    .body = to_json(problem)};
  if (problem.retry_after_seconds) {
    response.headers.emplace_back("Retry-After", std::to_string(*problem.retry_after_seconds));
  }
  if (!problem.allow.empty()) response.headers.emplace_back("Allow", problem.allow);
  return response;
}

std::string serialize_head(const Response& response, const HeadOptions& options) {
  std::string head;
  head.reserve(256);
  head += "HTTP/1.1 ";
  head += std::to_string(response.status);
  head += ' ';
  head += status_phrase(response.status);
  head += "\r\n";
  append_header(head, "Date", http_date(std::time(nullptr)));
  if (response.status != 204 && response.status != 304) {
    if (!response.content_type.empty()) {
      append_header(head, "Content-Type", response.content_type);
    }
    if (options.body == BodyKind::sized) {
      append_header(head, "Content-Length", std::to_string(options.length));
    }
  }
  if (options.body == BodyKind::chunked) append_header(head, "Transfer-Encoding", "chunked");
  append_header(head, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) append_header(head, name, value);
  if (options.after == AfterResponse::close) append_header(head, "Connection", "close");
  head += "\r\n";
  return head;
}

}  // namespace trainyard::api
