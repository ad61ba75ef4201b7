// Answers: plain, conditional, files, streams.
#include "api/http/responder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "api/http/byte_range.h"
#include "api/http/exchange.h"
#include "schemas/base/log.h"

namespace trainyard::api {

void OpenExchanges::add() {
  const std::lock_guard lock(mutex_);
  ++open_;
}

void OpenExchanges::remove() {
  const std::lock_guard lock(mutex_);
  --open_;
  changed_.notify_all();
}

bool OpenExchanges::wait_until_none(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return open_ == 0; });
}

Responder::Exchange::Exchange(Setup setup, const Request& request)
    : parts(std::move(setup)),
      is_head(request.method == Method::head),
      http_1_0(request.http_1_0),
      wants_close(request.wants_close),
      if_none_match(request.header("if-none-match")),
      if_range(request.header("if-range")),
      range(request.header("range")),
      arrived(std::chrono::steady_clock::now()) {
  parts.open->add();
}

Responder::Exchange::~Exchange() {
  if (!answered) {
    answer(problem_response(problem_of(internal("a request was left without an answer"))), {});
  }
}

bool Responder::Exchange::claim() {
  if (answered.exchange(true)) {
    log_error("answered_twice");
    return false;
  }
  return true;
}

AfterResponse Responder::Exchange::after() const {
  const bool late = std::chrono::steady_clock::now() - arrived > parts.keep_open_max;
  return wants_close || late ? AfterResponse::close : AfterResponse::keep_open;
}

void Responder::Exchange::answer(Response response, FileSlice slice) {
  if (!claim()) return;
  parts.connection->respond({.response = std::move(response),
                             .slice = std::move(slice),
                             .body = is_head ? BodyUse::left_out : BodyUse::sent,
                             .after = after()});
  parts.open->remove();
}

void Responder::send(Response response) const { exchange_->answer(std::move(response), {}); }

void Responder::tagged(Response response, const std::string& entity_tag) const {
  response.headers.emplace_back("ETag", '"' + entity_tag + '"');
  if (matches_tag(exchange_->if_none_match, entity_tag)) {
    response.status = 304;
    response.body.clear();
  }
  send(std::move(response));
}

bool Responder::has_room() const {
  if (exchange_->parts.connection->has_room()) return true;
  error(unavailable("the server has too many slow readers to make long answers now"));
  return false;
}

void Responder::when_gone(std::function<void()> on_gone) const {
  exchange_->parts.connection->when_gone(std::move(on_gone));
}

void Responder::file(const FileResponse& file) const {
  Descriptor opened(
      ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts {};
  if (!opened || ::fstat(opened.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return error(not_found("the file is not there"));
  }
  Response response{.content_type = file.content_type, .headers = file.headers};
  response.headers.emplace_back("Accept-Ranges", "bytes");
  const std::string quoted = '"' + file.entity_tag + '"';
  if (!file.entity_tag.empty()) {
    response.headers.emplace_back("ETag", quoted);
    if (matches_tag(exchange_->if_none_match, file.entity_tag)) {
      response.status = 304;
      return send(std::move(response));
    }
  }
  const bool range_counts = exchange_->if_range.empty() || exchange_->if_range == quoted;
  const std::int64_t bytes = std::max<std::int64_t>(0, facts.st_size - file.first_byte);
  const ByteRange range = parse_range(range_counts ? exchange_->range : "", bytes);
  const std::string total = '/' + std::to_string(bytes);
  if (range.kind == ByteRange::Kind::unsatisfiable) {
    Response refusal = problem_response({.status = 416,
                                         .code = "range_not_satisfiable",
                                         .detail = "the range begins beyond the end"});
    refusal.headers.emplace_back("Content-Range", "bytes *" + total);
    return send(std::move(refusal));
  }
  if (range.kind == ByteRange::Kind::part) {
    response.status = 206;
    const std::int64_t last = range.first + range.length - 1;
    response.headers.emplace_back("Content-Range", "bytes " + std::to_string(range.first) + '-' +
                                                       std::to_string(last) + total);
  }
  exchange_->answer(std::move(response), {.file = std::move(opened),
                                          .offset = file.first_byte + range.first,
                                          .length = static_cast<std::uint64_t>(range.length)});
}

std::shared_ptr<ResponseStream> Responder::stream(StreamOptions options,
                                                  std::function<void()> on_gone) const {
  const Exchange& exchange = *exchange_;
  const bool framed = !exchange.http_1_0 && !exchange.is_head;  // HEAD: not even a last chunk
  const BodyKind body = framed ? BodyKind::chunked : BodyKind::until_close;
  const auto stream = std::make_shared<ResponseStream>(ResponseStream::Setup{
      .connection = exchange.parts.connection, .body = body, .options = options});
  if (!exchange_->claim()) return stream;
  Response response{.content_type = options.content_type};
  response.headers.emplace_back("Cache-Control", "no-store");
  std::string head =
      serialize_head(response, {.body = body, .length = 0, .after = AfterResponse::close});
  stream->start(std::move(head), std::move(on_gone));
  if (exchange.is_head) {
    stream->finish();
  } else {
    exchange.parts.writer->beat(stream);
  }
  exchange.parts.open->remove();
  return stream;
}

}  // namespace trainyard::api
