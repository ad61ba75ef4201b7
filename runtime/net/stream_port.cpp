// The thread waits for sockets with epoll; what a frame says is done under the server's lock, as
// what comes by gRPC is, but bytes are moved without it.
#include "runtime/net/stream_port.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "runtime/net/accept_errors.h"
#include "runtime/net/call_failed.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/stream_caller.h"
#include "runtime/net/waiting.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

constexpr std::ptrdiff_t kUnknownMax = 64;  // callers that have not said their hello, or a bad one
constexpr std::uint32_t kAlways = EPOLLIN | EPOLLRDHUP;

using State = StreamCaller::State;

}  // namespace

Result<std::unique_ptr<StreamPort>> StreamPort::open(const std::string& listen, int tcp_port,
                                                     PsServer& server) {
  Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll) return call_failed("epoll");
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return call_failed("eventfd");
  std::unique_ptr<StreamPort> port(new StreamPort(std::move(poll), std::move(bell), server));
  TRY(port->listen(listen, tcp_port));
  port->thread_ = std::jthread([raw = port.get()](const std::stop_token& stop) { raw->run(stop); });
  return port;
}

StreamPort::StreamPort(Descriptor poll, Descriptor bell, PsServer& server)
    : poll_(std::move(poll)), bell_(std::move(bell)), server_(server) {}

StreamPort::~StreamPort() {
  if (!closing_) thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(server_.mutex_);
  for (const auto& [descriptor, caller] : callers_) caller->cut_off();
}

Status StreamPort::listen(const std::string& address, int tcp_port) {
  if (!watch(bell_.get(), EPOLLIN, EPOLL_CTL_ADD)) return call_failed("epoll");
  const std::string name = new_local_socket_name();
  auto local = StreamSocket::listen_unix(name);
  if (local.has_value() && watch(local->descriptor(), EPOLLIN, EPOLL_CTL_ADD)) {
    unix_ = std::move(*local);
    unix_socket_ = name;
  }
  auto tcp = StreamSocket::listen_tcp(address, tcp_port);
  if (tcp.has_value() && watch(tcp->descriptor(), EPOLLIN, EPOLL_CTL_ADD)) {
    tcp_ = std::move(*tcp);
    return ok();
  }
  if (!unix_ || tcp_port != 0) return tcp.has_value() ? call_failed("epoll") : tcp.error();
  log_warning("no stream port",
              {{"listen", address}, {"message", tcp.has_value() ? "epoll" : tcp.error().message}});
  return ok();
}

bool StreamPort::watch(int descriptor, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return ::epoll_ctl(poll_.get(), operation, descriptor, &event) == 0;
}

void StreamPort::ring() {
  if (at_work_) return;  // the port's own thread looks for answers by itself
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto rung = ::write(bell_.get(), &one, sizeof one);
}

void StreamPort::close_within(std::chrono::milliseconds limit) {
  close_by_ = (Clock::now() + limit).time_since_epoch();
  closing_ = true;
  const std::lock_guard lock(server_.mutex_);
  ring();
}

// Nobody waits for strangers.
bool StreamPort::over() const {
  if (!closing_) return false;
  return Clock::now().time_since_epoch() >= close_by_.load() ||
         std::ranges::all_of(callers_, [](const auto& each) { return !each.second->known; });
}

void StreamPort::run(const std::stop_token& stop) {
  std::array<epoll_event, 16> events{};
  while (!stop.stop_requested() && !over()) {
    const int count =
        ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), look_up_millis);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const int descriptor = event.data.fd;
      if (unix_ && descriptor == unix_->descriptor()) {
        accept(*unix_);
      } else if (tcp_ && descriptor == tcp_->descriptor()) {
        accept(*tcp_);
      } else if (descriptor == bell_.get()) {
        answer_ready();
      } else {
        serve(descriptor, event.events);
      }
    }
    look_up();
  }
}

// Who knocks would be heard again and again, and nothing else would be done.
void StreamPort::rest(const StreamSocket& socket) {
  if (!std::exchange(short_of_room_, true)) {
    log_warning("no descriptor for a new stream",
                {{"message", std::generic_category().message(errno)}});
  }
  watch(socket.descriptor(), 0, EPOLL_CTL_MOD);
  resting_ = true;
}

void StreamPort::accept(const StreamSocket& socket) {
  errno = 0;
  auto accepted = socket.accept();
  if (!accepted && is_short_of_room(errno)) return rest(socket);
  short_of_room_ = false;
  if (!accepted || closing_) return;
  make_room();
  const int descriptor = accepted->descriptor();
  if (!watch(descriptor, kAlways, EPOLL_CTL_ADD)) return;
  callers_.emplace(descriptor,
                   std::make_shared<StreamCaller>(std::move(*accepted), *this, server_));
}

// Who belongs here says so at once, so the stranger that has been silent for longest goes.
void StreamPort::make_room() {
  std::ptrdiff_t unknown = 0;
  std::shared_ptr<StreamCaller> oldest;
  for (const auto& [descriptor, caller] : callers_) {
    if (caller->known) continue;
    ++unknown;
    if (!oldest || caller->came_at < oldest->came_at) oldest = caller;
  }
  if (unknown >= kUnknownMax) leave(*oldest);
}

void StreamPort::serve(int descriptor, std::uint32_t events) {
  const auto found = callers_.find(descriptor);
  if (found == callers_.end()) return;  // dropped since
  const std::shared_ptr<StreamCaller> caller = found->second;
  if ((events & EPOLLOUT) != 0) write(caller);
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read(caller);
}

void StreamPort::read(const std::shared_ptr<StreamCaller>& caller) {
  using Stage = IncomingFrame::Stage;
  const auto drained = caller->in.receive_some(caller->socket);
  const bool ended = !drained.has_value() && drained.error().code == Code::unavailable;
  if (ended) return leave(*caller);
  if (caller->state == State::leaving) return caller->in.next();

  Status status = ok();
  if (!drained.has_value()) status = drained.error();
  if (caller->is_busy() && caller->in.is_begun()) {
    if (caller->state == State::answering) return leave(*caller);  // no word fits in between
    status = invalid("a frame before the last one was answered");
  }
  const Stage stage = caller->in.stage();
  const bool has_news = stage == Stage::placing || stage == Stage::whole || caller->has_tail() ||
                        caller->begins_to_read();
  if (status.has_value() && !has_news) return;
  handle(caller, status);
}

// A header is there, a piece of a gradient or a whole frame, or something that is none of these.
void StreamPort::handle(const std::shared_ptr<StreamCaller>& caller, const Status& status) {
  using Stage = IncomingFrame::Stage;
  Ready ready;
  bool was_refused = false;
  {
    const std::lock_guard lock(server_.mutex_);
    at_work_ = true;
    was_refused = caller->is_refused();
    if (!was_refused) hear(*caller, status);
    at_work_ = false;
    ready = take_ready();
  }
  // While a refusal waits for what is sent before it, the caller's frame may end, but none begins.
  const bool begins = !status.has_value() || caller->in.stage() == Stage::placing;
  const bool goes_on = was_refused && begins && caller->state != State::answering;
  if (was_refused && caller->in.stage() == Stage::whole) caller->in.next();
  if (caller->well || goes_on) leave(*caller);
  for (const auto& each : ready) write(each);
}

// What there is of a frame; under the server's lock.
void StreamPort::hear(StreamCaller& caller, Status status) {
  using Stage = IncomingFrame::Stage;
  if (status.has_value() && caller.in.stage() == Stage::placing) status = caller.admit();
  if (status.has_value() && caller.begins_to_read()) caller.note_reading();
  if (status.has_value() && caller.has_tail()) status = caller.take_tail();
  if (status.has_value() && caller.in.stage() == Stage::whole) status = caller.take();
  if (!status.has_value()) caller.refuse(status.error());
}

StreamPort::Ready StreamPort::take_ready() {
  for (const auto& caller : ready_) {
    caller->start_next();
    if (caller->is_refused()) caller->limit_refusal();
  }
  return std::exchange(ready_, {});
}

void StreamPort::answer_ready() {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto heard = ::read(bell_.get(), &rings, sizeof rings);
  Ready ready;
  {
    const std::lock_guard lock(server_.mutex_);
    ready = take_ready();
  }
  for (const auto& each : ready) write(each);
}

// The rest is sent when there is room again.
void StreamPort::write(const std::shared_ptr<StreamCaller>& caller) {
  if (caller->state == State::leaving || caller->out.sent()) return;
  do {
    if (!caller->out.send_some(caller->socket).has_value()) return leave(*caller);
  } while (caller->out.sent() && caller->state != State::answering && start_next(*caller));
  const bool armed = !caller->out.sent();
  if (armed != caller->armed) {
    caller->armed = armed;
    watch(caller->socket.descriptor(), armed ? kAlways | EPOLLOUT : kAlways, EPOLL_CTL_MOD);
  }
  if (armed || caller->state != State::answering) return;
  caller->state = State::idle;
  if (!caller->is_refused()) return;
  caller->socket.end_sending();
  tell_closed(*caller);
  caller->start_leaving();
}

// While a tail was sent there may have come more to send, or the answer.
bool StreamPort::start_next(StreamCaller& caller) const {
  const std::lock_guard lock(server_.mutex_);
  return caller.start_next();
}

void StreamPort::tell_closed(StreamCaller& caller) {
  if (!std::exchange(caller.known, false)) return;
  const std::lock_guard lock(server_.mutex_);
  server_.closed(caller, caller.well || caller.is_refused());  // may answer others: by the bell
}

void StreamPort::leave(StreamCaller& caller) {
  const auto held = caller.shared_from_this();  // beyond its place in the map
  watch(caller.socket.descriptor(), 0, EPOLL_CTL_DEL);
  caller.state = State::leaving;
  tell_closed(caller);
  callers_.erase(caller.socket.descriptor());
}

void StreamPort::look_up() {
  const auto now = Clock::now();
  if (now - looked_ < std::chrono::milliseconds(look_up_millis)) return;
  looked_ = now;
  if (std::exchange(resting_, false)) {
    for (const auto* socket : {unix_ ? &*unix_ : nullptr, tcp_ ? &*tcp_ : nullptr}) {
      if (socket != nullptr) watch(socket->descriptor(), EPOLLIN, EPOLL_CTL_MOD);
    }
  }
  std::vector<std::shared_ptr<StreamCaller>> overdue;
  for (const auto& [descriptor, caller] : callers_) {
    if (caller->is_overdue(now)) overdue.push_back(caller);
  }
  for (const auto& caller : overdue) leave(*caller);
}

}  // namespace trainyard::runtime
