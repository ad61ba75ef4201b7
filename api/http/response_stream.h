// A response that is written piece by piece from any thread: server-sent events, a log that is
// followed. Its memory is bounded: a client that does not read is dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/connection.h"
#include "api/http/writer.h"

namespace trainyard::api {

struct StreamOptions {
  std::string content_type = "text/event-stream";
  std::size_t waiting_bytes_max =
      256 << 10;  // a client that is sent more while it is so far behind is dropped
  enum class Heartbeat {
    comment,
    none
  } heartbeat = Heartbeat::comment;  // ":\n\n" on idle event streams
};

class ResponseStream : public Beating {
 public:
  struct Setup {
    std::shared_ptr<Connection> connection;
    BodyKind body = BodyKind::chunked;
    StreamOptions options{};
  };
  explicit ResponseStream(Setup setup);
  ~ResponseStream() override;  // finish()

  // Called once, from any thread, when the client is gone; at once if it is so already.
  void start(std::string head, std::function<void()> on_gone);

  // False when the client is gone or was too far behind.
  bool write(std::string_view bytes);
  void finish();  // the end of the body; nothing can be written after it

  [[nodiscard]] bool gone() const { return connection_->gone(); }
  [[nodiscard]] std::size_t waiting_bytes() const { return connection_->waiting_bytes(); }
  // All clients together have not taken too much yet: more may be written.
  [[nodiscard]] bool has_room() const { return connection_->has_room(); }

  void beat() override;

 private:
  std::string framed(std::string_view bytes) const;

  const std::shared_ptr<Connection> connection_;
  const BodyKind body_;
  const StreamOptions options_;
  std::atomic<bool> wrote_since_beat_{false};
  std::atomic<bool> finished_{false};
};

// One server-sent event. Newlines in `data` become several data lines; `id` is what Last-Event-ID
// will say.
struct ServerSentEvent {
  std::string id;  // "" = none
  std::string event;
  std::string data;
};
std::string event_text(const ServerSentEvent& event);

}  // namespace trainyard::api
