// Streams and server-sent events.
#include "api/http/response_stream.h"

#include <array>
#include <charconv>
#include <utility>

namespace trainyard::api {

ResponseStream::ResponseStream(Setup setup)
    : connection_(std::move(setup.connection)),
      body_(setup.body),
      options_(std::move(setup.options)) {}

ResponseStream::~ResponseStream() { finish(); }

void ResponseStream::start(std::string head, std::function<void()> on_gone) {
  connection_->begin_stream(std::move(head), std::move(on_gone));
}

bool ResponseStream::write(std::string_view bytes) {
  if (finished_) return false;
  wrote_since_beat_ = true;
  if (bytes.empty()) return !gone();  // an empty chunk would end the body
  return connection_->append(framed(bytes), options_.waiting_bytes_max);
}

void ResponseStream::finish() {
  if (finished_.exchange(true)) return;
  connection_->finish(body_ == BodyKind::chunked ? "0\r\n\r\n" : "");
}

void ResponseStream::beat() {
  if (options_.heartbeat == StreamOptions::Heartbeat::none) return;
  const bool wrote = wrote_since_beat_.exchange(false);
  if (!wrote && waiting_bytes() == 0) write(":\n\n");  // bytes on their way are sign enough
  wrote_since_beat_ = false;
}

std::string ResponseStream::framed(std::string_view bytes) const {
  if (body_ != BodyKind::chunked) return std::string(bytes);
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16).ptr;
  std::string chunk(size.data(), end);
  chunk.reserve(chunk.size() + bytes.size() + 4);
  chunk += "\r\n";
  chunk += bytes;
  chunk += "\r\n";
  return chunk;
}

std::string event_text(const ServerSentEvent& event) {
  std::string text;
  if (!event.id.empty()) text += "id: " + event.id + '\n';
  if (!event.event.empty()) text += "event: " + event.event + '\n';
  std::string_view rest = event.data;
  do {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += "data: ";
    text += rest.substr(0, end);
    text += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  } while (!rest.empty());
  return text + '\n';
}

}  // namespace trainyard::api
