// The dup-writer: ordered, non-blocking output of one client.
#include "api/http/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "api/http/writer.h"

namespace trainyard::api {
namespace {

// One call to flush() sends so much at most, so that one quick client cannot keep a thread for
// itself.
constexpr std::size_t flush_bytes = 8 << 20;

// So little may always be answered: what is unsent of all connections is bounded by their number.
constexpr std::size_t small_answer_bytes = 16 << 10;

}  // namespace

Connection::Connection(Setup setup)
    : socket_(std::move(setup.socket)),
      writer_(std::move(setup.writer)),
      places_(std::move(setup.places)),
      place_(setup.place),
      unsent_(std::move(setup.unsent)),
      answer_bytes_max_(setup.answer_bytes_max),
      parser_(setup.limits, std::move(setup.bodies)) {}

Connection::~Connection() { places_->leave(this); }

bool Connection::begin_exchange() {
  const std::lock_guard lock(mutex_);
  if (exchange_open_ || closing_ || gone_) {
    close_after_response_ = true;
    listens_ = false;
    return false;
  }
  exchange_open_ = true;
  places_->busy(this);
  return true;
}

void Connection::stop_listening() {
  listens_ = false;
  const std::lock_guard lock(mutex_);
  close_after_response_ = true;
}

void Connection::respond(Answer answer) {
  std::unique_lock lock(mutex_);
  if (gone_ || closing_ || !exchange_open_) return;
  exchange_open_ = false;
  const auto left_behind = std::exchange(on_gone_, nullptr);  // destroyed without the lock
  // Whoever has a reserved place leaves it with its answer.
  closing_ =
      answer.after == AfterResponse::close || close_after_response_ || place_ != Place::ordinary;
  Response response = within_bounds(std::move(answer.response));
  const HeadOptions head{.length = response.body.size() + answer.slice.length,
                         .after = closing_ ? AfterResponse::close : AfterResponse::keep_open};
  Output output{.bytes = serialize_head(response, head)};
  const bool has_body = answer.body == BodyUse::sent;
  if (has_body && response.body.size() <= small_answer_bytes) {
    output.bytes += response.body;
    output.slice = std::move(answer.slice);
  }
  push(std::move(output));
  if (has_body && response.body.size() > small_answer_bytes) {  // never twice in memory
    push({.bytes = std::move(response.body), .slice = std::move(answer.slice)});
  }
  write_now(std::move(lock));
}

// What clients have not taken yet is bounded: instead of an answer for which there is no room a
// short one says when to come again.
Response Connection::within_bounds(Response response) const {
  const std::size_t bytes = response.body.size();
  if (bytes <= small_answer_bytes) return response;
  const bool may_be_long = place_ == Place::ordinary && unsent_->has_room(bytes);
  if (bytes <= answer_bytes_max_ && may_be_long) return response;
  return problem_response(problem_of(unavailable(
      bytes > answer_bytes_max_ ? "the answer is too large: ask for less at once"
                                : "too many answers wait for clients that read slowly")));
}

bool Connection::has_room() const {
  return place_ == Place::ordinary && unsent_->has_room(small_answer_bytes);
}

void Connection::begin_stream(std::string head, std::function<void()> on_gone) {
  std::unique_lock lock(mutex_);
  if (gone_ || closing_) {
    lock.unlock();
    on_gone();
    return;
  }
  streaming_ = true;
  on_gone_ = std::move(on_gone);
  push({.bytes = std::move(head)});
  write_now(std::move(lock));
}

bool Connection::append(std::string bytes, std::size_t bound) {
  std::unique_lock lock(mutex_);
  if (gone_ || closing_) return false;
  std::size_t waiting = bytes.size();
  for (const Output& output : waiting_) waiting += output.bytes.size();
  if (!waiting_.empty() && waiting - sent_of_front_ > bound) {
    fail();
    lock.unlock();
    tell_stream();
    return false;
  }
  push({.bytes = std::move(bytes)});
  write_now(std::move(lock));
  return !gone_;
}

void Connection::finish(std::string last_bytes) {
  std::unique_lock lock(mutex_);
  if (gone_ || closing_) return;
  push({.bytes = std::move(last_bytes)});
  exchange_open_ = false;
  closing_ = true;
  streaming_ = false;
  const auto left_behind = std::exchange(on_gone_, nullptr);  // destroyed without the lock
  write_now(std::move(lock));
}

void Connection::when_gone(std::function<void()> on_gone) {
  {
    const std::lock_guard lock(mutex_);
    if (exchange_open_ && !gone_ && !peer_left_) {
      on_gone_ = std::move(on_gone);
      return;
    }
  }
  on_gone();
}

void Connection::tell_quiet() { places_->quiet(this, weak_from_this()); }

bool Connection::drop_if_quiet() {
  const std::lock_guard lock(mutex_);
  if (exchange_open_ || !waiting_.empty()) return false;
  gone_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
  return true;
}

void Connection::send_continue() {
  std::unique_lock lock(mutex_);
  if (gone_ || closing_ || exchange_open_) return;
  push({.bytes = "HTTP/1.1 100 Continue\r\n\r\n"});
  write_now(std::move(lock));
}

void Connection::drop() {
  {
    const std::lock_guard lock(mutex_);
    fail();
  }
  tell_stream();
}

void Connection::peer_gone() {
  {
    const std::lock_guard lock(mutex_);
    close_after_response_ = true;
    peer_left_ = true;
    if (streaming_) fail();
  }
  tell_stream();
}

std::size_t Connection::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t waiting = 0;
  for (const Output& output : waiting_) waiting += output.bytes.size() + output.slice.length;
  return waiting - std::min(waiting, sent_of_front_);
}

Connection::Flushed Connection::flush() {
  Flushed flushed = Flushed::failed;
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) flushed = flush_waiting();
    with_writer_ = flushed == Flushed::some || flushed == Flushed::nothing;
  }
  if (flushed == Flushed::failed) tell_stream();
  return flushed;
}

void Connection::push(Output output) {
  if (output.bytes.empty() && output.slice.length == 0) return;
  output.charge = Charge(unsent_, output.bytes.size());
  waiting_.push_back(std::move(output));
}

void Connection::write_now(std::unique_lock<std::mutex> lock) {
  if (with_writer_) return;
  const Flushed flushed = flush_waiting();
  with_writer_ = flushed == Flushed::some || flushed == Flushed::nothing;
  const bool goes_on = with_writer_;
  lock.unlock();
  if (flushed == Flushed::failed) tell_stream();
  if (goes_on) writer_->finish(shared_from_this());
}

Connection::Flushed Connection::flush_waiting() {
  std::size_t total = 0;
  while (!waiting_.empty()) {
    if (total >= flush_bytes) return Flushed::some;
    const ssize_t sent = send_front(waiting_.front());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return total > 0 ? Flushed::some : Flushed::nothing;
    }
    if (sent <= 0) {  // 0: the file became shorter than was promised
      fail();
      return Flushed::failed;
    }
    total += static_cast<std::size_t>(sent);
  }
  if (closing_) {
    // Only our direction: what the client still sends is read and dropped, so that no reset can
    // overtake the answer on its way.
    ::shutdown(socket_.get(), SHUT_WR);
    gone_ = true;
  }
  if (!exchange_open_) tell_quiet();
  return Flushed::all;
}

ssize_t Connection::send_front(Output& next) {
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  ssize_t sent = 0;
  if (sent_of_front_ < next.bytes.size()) {
    const int more = next.slice.length > 0 ? MSG_MORE : 0;
    sent = ::send(socket_.get(), next.bytes.data() + sent_of_front_,
                  next.bytes.size() - sent_of_front_, flags | more);
    if (sent > 0) sent_of_front_ += static_cast<std::size_t>(sent);
  } else {
    constexpr std::uint64_t piece = 1 << 20;
    sent = ::sendfile(socket_.get(), next.slice.file.get(), &next.slice.offset,
                      std::min(next.slice.length, piece));
    if (sent > 0) next.slice.length -= static_cast<std::uint64_t>(sent);
  }
  if (sent_of_front_ >= next.bytes.size() && next.slice.length == 0) {
    waiting_.pop_front();
    sent_of_front_ = 0;
  }
  return sent;
}

int Connection::unacknowledged() const {
  int bytes = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void Connection::fail() {
  if (gone_) return;
  gone_ = true;
  waiting_.clear();
  sent_of_front_ = 0;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void Connection::tell_stream() {
  std::function<void()> on_gone;
  {
    const std::lock_guard lock(mutex_);
    on_gone = std::exchange(on_gone_, nullptr);
  }
  if (on_gone) on_gone();
}

}  // namespace trainyard::api
