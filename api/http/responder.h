// How a handler answers: exactly once, from any thread, never blocking. Copies stand for the same
// request, so that a callback can hold one; when the last goes without an answer, the client gets a
// 500 instead of silence.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/http/problem.h"
#include "api/http/request.h"
#include "api/http/response.h"
#include "api/http/response_stream.h"

namespace trainyard::api {

// A file as the body. `entity_tag` without quotes; "" = none, then neither If-None-Match nor
// If-Range is looked at.
struct FileResponse {
  std::string path;
  std::string content_type = "application/octet-stream";
  std::string entity_tag{};
  std::int64_t first_byte = 0;  // of the file: what comes before it is not part of the body
  std::vector<std::pair<std::string, std::string>> headers{};
};

class Responder {
 public:
  struct Exchange;
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void send(Response response) const;
  void json(int status, std::string body) const { send(json_response(status, std::move(body))); }
  void problem(const Problem& problem) const { send(problem_response(problem)); }
  void error(const Error& error) const { problem(problem_of(error)); }

  // With `entity_tag` (no quotes) as ETag: 304 when If-None-Match names it.
  void tagged(Response response, const std::string& entity_tag) const;

  // One byte range (206, 416), conditional requests and HEAD included. 404 when the file cannot be
  // opened.
  void file(const FileResponse& file) const;

  // To be asked before a long answer, a file or a stream is made. False when there is no place for
  // one now: then the answer, a 503, is given.
  [[nodiscard]] bool has_room() const;
  // Called once, from any thread, when the client leaves before it has its answer.
  void when_gone(std::function<void()> on_gone) const;

  // `on_gone` is called once, from any thread, when the client has left.
  [[nodiscard]] std::shared_ptr<ResponseStream> stream(StreamOptions options,
                                                       std::function<void()> on_gone) const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace trainyard::api
