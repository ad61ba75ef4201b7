// The strict request parser.
#include "api/http/request_parser.h"

#include <algorithm>
#include <utility>

#include "api/http/url.h"
#include "schemas/base/ascii.h"

namespace trainyard::api {
namespace {

bool is_token_character(char letter) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= 'a' && letter <= 'z') || marks.find(letter) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_character);
}

bool is_control(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

// A newline without its return, or a control character, from there on: no more bytes can make this
// a head.
bool is_broken_head(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const bool line_end = text[at] == '\n' && at > 0 && text[at - 1] == '\r';
    if (is_control(text[at]) && text[at] != '\r' && !line_end) return true;
  }
  return false;
}

// Is `word` one of the members of a comma-separated header?
bool lists(std::string_view header, std::string_view word) {
  while (!header.empty()) {
    const std::string_view member = header.substr(0, header.find(','));
    if (to_lower(trim(member)) == word) return true;
    header.remove_prefix(std::min(header.size(), member.size() + 1));
  }
  return false;
}

}  // namespace

RequestParser::State RequestParser::feed(std::string_view bytes) {
  if (in_body_) {
    const std::size_t wanted = std::min(bytes.size(), body_length_ - buffer_.size());
    buffer_.append(bytes.substr(0, wanted));
    surplus_ = bytes.size() - wanted;
    return body_state();
  }
  const std::size_t search_from = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
  buffer_.append(bytes);
  while (buffer_.starts_with("\r\n")) buffer_.erase(0, 2);  // allowed between requests
  constexpr std::string_view empty_line = "\r\n\r\n";
  const std::size_t end = buffer_.find(empty_line, search_from);
  if (end == std::string::npos || end > limits_.head_bytes) {
    // However it is cut: a head of just so many bytes may still get its end.
    if (end == std::string::npos && buffer_.size() < limits_.head_bytes + empty_line.size()) {
      if (!is_broken_head(buffer_, search_from)) return State::need_more;
      refuse(400, "malformed_request", "the head has control characters or bare newlines");
      return State::refused;
    }
    refuse(431, "head_too_large",
           "the request line and headers are larger than " + std::to_string(limits_.head_bytes) +
               " bytes");
    return State::refused;
  }
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + empty_line.size());
  return parse_head(head);
}

RequestParser::State RequestParser::parse_head(std::string_view head) {
  const std::size_t line_end = head.find("\r\n");
  if (!parse_request_line(head.substr(0, line_end))) return State::refused;
  head.remove_prefix(line_end + 2);
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    if (!parse_header(head.substr(0, end))) return State::refused;
    head.remove_prefix(end + 2);
  }
  if (!check_framing() || !charge_body()) return State::refused;
  in_body_ = true;
  surplus_ = buffer_.size() - std::min(buffer_.size(), body_length_);
  buffer_.resize(buffer_.size() - surplus_);
  const bool waits = to_lower(request_.header("expect")) == "100-continue" && !request_.http_1_0;
  if (waits && buffer_.empty() && body_length_ > 0) return State::wants_continue;
  buffer_.reserve(body_length_);
  return body_state();
}

bool RequestParser::parse_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  const std::string_view name = line.substr(0, first);
  if (first == std::string_view::npos || first == last || !is_token(name)) {
    return refuse(400, "malformed_request", "the first line is not \"METHOD /path HTTP/1.1\"");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(400, "malformed_request", "the version is not HTTP/1.1 or HTTP/1.0");
  }
  request_.http_1_0 = version == "HTTP/1.0";
  const auto method = method_from(name);
  if (!method) {
    return refuse(501, "unknown_method", "the method is none that this server knows");
  }
  request_.method = *method;
  if (target.size() > limits_.target_bytes) {
    return refuse(414, "target_too_long", "the URL is too long");
  }
  const bool visible =
      std::ranges::all_of(target, [](char letter) { return letter > ' ' && letter != 0x7f; });
  if (!target.starts_with('/') || !visible || target.find('#') != std::string_view::npos) {
    return refuse(400, "malformed_request", "the URL must be a path that starts with '/'");
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, mark);
  auto query = decode_query(target.substr(std::min(mark + 1, target.size())));
  if (!query) return refuse(400, "malformed_url", query.error().message);
  request_.query = std::move(query).value();
  return true;
}

bool RequestParser::parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) ||
      std::ranges::any_of(line, is_control)) {
    return refuse(400, "malformed_request", "a header line is not \"Name: value\"");
  }
  std::string name = to_lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name == "content-length") {
    const bool digits = !value.empty() && value.size() <= 15 &&
                        value.find_first_not_of("0123456789") == std::string_view::npos;
    if (!digits || content_length_) {
      return refuse(400, "malformed_request", "Content-Length must be one number, given once");
    }
    content_length_ = std::string(value);
  }
  const auto [at, added] = request_.headers.emplace(std::move(name), value);
  if (!added) {
    if (at->first == "host") return refuse(400, "malformed_request", "Host is given twice");
    at->second.append(at->first == "cookie" ? "; " : ", ").append(value);
  }
  return true;
}

bool RequestParser::check_framing() {
  if (request_.headers.contains("transfer-encoding")) {
    if (content_length_) {
      return refuse(400, "malformed_request",
                    "Content-Length and Transfer-Encoding exclude each other");
    }
    return refuse(411, "length_required", "send the body with a Content-Length, not in chunks");
  }
  if (!request_.http_1_0 && !request_.headers.contains("host")) {
    return refuse(400, "malformed_request", "the Host header is missing");
  }
  body_length_ = content_length_ ? std::stoull(*content_length_) : 0;
  const std::string encoding = to_lower(request_.header("content-encoding"));
  if (body_length_ > 0 && !encoding.empty() && encoding != "identity") {
    return refuse(415, "unsupported_encoding",
                  "send the body as it is, without a Content-Encoding");
  }
  if (body_length_ > limits_.body_bytes) {
    return refuse(413, "too_large",
                  "the body is larger than " + std::to_string(limits_.body_bytes) + " bytes");
  }
  request_.wants_close = request_.http_1_0 || lists(request_.header("connection"), "close");
  return true;
}

// Bodies that have not come whole are bounded for all clients together, before memory is taken.
bool RequestParser::charge_body() {
  if (!bodies_ || body_length_ == 0) return true;
  if (!bodies_->has_room(body_length_)) {
    refuse(503, "unavailable", "too many large requests are on their way: come again");
    problem_.retry_after_seconds = 1;
    return false;
  }
  charge_ = Charge(bodies_, body_length_);
  return true;
}

RequestParser::State RequestParser::body_state() {
  return buffer_.size() == body_length_ ? State::complete : State::need_more;
}

Request RequestParser::take() {
  request_.body = std::move(buffer_);
  buffer_ = {};
  charge_ = Charge();
  in_body_ = false;
  content_length_.reset();
  return std::exchange(request_, {});
}

bool RequestParser::refuse(int status, std::string code, std::string detail) {
  problem_ = {.status = status, .code = std::move(code), .detail = std::move(detail)};
  return false;
}

}  // namespace trainyard::api
