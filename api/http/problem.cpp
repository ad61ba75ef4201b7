// Error -> HTTP, and a problem as JSON.
#include "api/http/problem.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/base/log.h"

namespace trainyard::api {
namespace {

struct Row {
  Code code;
  int status;
  std::string_view name;
};
constexpr std::array<Row, 5> error_table{{
    {Code::invalid, 422, "invalid"},
    {Code::not_found, 404, "not_found"},
    {Code::conflict, 409, "conflict"},
    {Code::unavailable, 503, "unavailable"},
    {Code::internal, 500, "internal"},
}};

constexpr std::array<std::pair<int, std::string_view>, 28> phrases{{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {206, "Partial Content"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
}};

void append_member(std::string& json, std::string_view name, std::string_view text) {
  json += '"';
  json += name;
  json += "\":\"";
  json += json_escape(text);
  json += '"';
}

}  // namespace

Problem problem_of(const Error& error) {
  const auto row = std::ranges::find(error_table, error.code, &Row::code);
  Problem problem{.status = row->status, .code = std::string(row->name), .detail = error.message};
  if (error.code == Code::unavailable) problem.retry_after_seconds = 1;
  if (error.code == Code::internal) {
    log_error("request_failed", {{"message", error.message}});
    problem.detail = "the server failed to do this; its log says why";
  }
  return problem;
}

std::string to_json(const Problem& problem) {
  std::string json = "{";
  append_member(json, "type", "urn:trainyard:problem:" + problem.code);
  json += ',';
  append_member(json, "title", status_phrase(problem.status));
  json += ",\"status\":" + std::to_string(problem.status) + ',';
  append_member(json, "detail", problem.detail);
  json += ',';
  append_member(json, "code", problem.code);
  json += ",\"errors\":[";
  for (std::size_t at = 0; at < problem.errors.size(); ++at) {
    json += at == 0 ? "{" : ",{";
    append_member(json, "pointer", problem.errors[at].pointer);
    json += ',';
    append_member(json, "message", problem.errors[at].message);
    json += '}';
  }
  return json + "]}\n";
}

std::string_view status_phrase(int status) {
  const auto row =
      std::ranges::find(phrases, status, [](const auto& entry) { return entry.first; });
  return row == phrases.end() ? "Unknown" : row->second;
}

}  // namespace trainyard::api
