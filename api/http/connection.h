// One client's socket as our own writer has it: a duplicate of the descriptor that Pistache reads
// from, so that it can never come to mean another client. Writes never block: what does not fit
// waits here, in order, for the Writer.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/http/byte_budget.h"
#include "api/http/places.h"
#include "api/http/request_parser.h"
#include "api/http/response.h"
#include "schemas/base/descriptor.h"

namespace trainyard::api {

class Writer;

// A part of an open file, sent without being read into memory.
struct FileSlice {
  Descriptor file{};
  off_t offset = 0;
  std::uint64_t length = 0;
};

// A whole response. A HEAD request gets the head alone, with the length that the body would have.
enum class BodyUse { sent, left_out };
struct Answer {
  Response response;
  FileSlice slice{};  // after the response's body
  BodyUse body = BodyUse::sent;
  AfterResponse after = AfterResponse::keep_open;
};

// What one call adds to a connection's output.
struct Output {
  std::string bytes;
  FileSlice slice{};  // after `bytes`; length 0 = none
  Charge charge{};    // of `bytes`, until all of them are sent
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Setup {
    Descriptor socket;  // non-blocking
    RequestLimits limits;
    std::shared_ptr<Writer> writer;
    std::shared_ptr<Places> places;
    Place place = Place::ordinary;       // of `places`; left by the destructor
    std::shared_ptr<ByteBudget> unsent;  // of the answers of all connections
    std::shared_ptr<ByteBudget> bodies;  // of the requests of all connections
    std::size_t answer_bytes_max = 0;    // of one answer's own bytes; files are not in memory
  };
  explicit Connection(Setup setup);
  ~Connection();

  // On the thread that reads:
  RequestParser& parser() { return parser_; }
  // False when a response is still due or the connection is closing: the request is dropped, as all
  // that comes after it, and the connection closes after the response that is due.
  bool begin_exchange();
  void stop_listening();  // pipelined or malformed input: no request after the present one
  [[nodiscard]] bool listens() const { return listens_; }
  // The reader saw the end: streams stop, a response that is due may still be sent.
  void peer_gone();

  // On any thread:
  // At most once per begin_exchange(); nothing happens when the client is gone.
  void respond(Answer answer);

  // A response whose end is not known yet: the head now, then append(), then finish(). The
  // connection closes at the end.
  void begin_stream(std::string head, std::function<void()> on_gone);
  // False when the connection is gone, or when something waits already and would be more than
  // `bound` with these bytes: then it is dropped.
  bool append(std::string bytes, std::size_t bound);
  void finish(std::string last_bytes);

  void send_continue();
  void drop();  // at once, whatever waits
  // Nothing is due: told once everything that was is sent. See Places.
  void tell_quiet();
  bool drop_if_quiet();  // false when something is due by now

  // A long answer can be taken in now: neither a reserved place nor too much unsent already.
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] Place place() const { return place_; }
  // Called once, from any thread, when the client leaves before it has its answer; at once when it
  // has left already.
  void when_gone(std::function<void()> on_gone);

  [[nodiscard]] bool gone() const { return gone_.load(); }
  [[nodiscard]] std::size_t waiting_bytes() const;

  // --- the Writer's thread
  enum class Flushed { all, some, nothing, failed };
  Flushed flush();
  [[nodiscard]] int socket() const { return socket_.get(); }
  // Bytes that the client's system has not acknowledged: fewer than before means that it reads.
  [[nodiscard]] int unacknowledged() const;

 private:
  void push(Output output);  // mutex_ held
  Response within_bounds(Response response) const;
  Flushed flush_waiting();           // mutex_ held
  ssize_t send_front(Output& next);  // mutex_ held
  void fail();                       // mutex_ held
  void tell_stream();                // mutex_ not held
  void write_now(std::unique_lock<std::mutex> lock);

  const Descriptor socket_;
  const std::shared_ptr<Writer> writer_;
  const std::shared_ptr<Places> places_;
  const Place place_;
  const std::shared_ptr<ByteBudget> unsent_;
  const std::size_t answer_bytes_max_;
  RequestParser parser_;  // the reading thread's alone
  bool listens_ = true;   // the reading thread's alone

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::deque<Output> waiting_;
  std::size_t sent_of_front_ = 0;
  bool exchange_open_ = false;
  bool with_writer_ = false;  // which goes on with what waits
  bool close_after_response_ = false;
  bool closing_ = false;  // nothing is added any more; shut down once all is sent
  bool streaming_ = false;
  bool peer_left_ = false;  // its side is closed; it may still read
  std::function<void()> on_gone_;

  std::atomic<bool> gone_{false};
};

}  // namespace trainyard::api
