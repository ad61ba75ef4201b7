// One thread waits for packets; what they say is done under the server's lock, as what comes by
// gRPC is.
#include "runtime/net/shared_port.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "runtime/net/accept_errors.h"
#include "runtime/net/call_failed.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/shared_floats.h"
#include "runtime/net/waiting.h"
#include "runtime/net/wire_format.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {

// One worker. Its answers are sent by whichever thread makes the version it waits for.
class SharedPort::Caller : public PsCaller, public std::enable_shared_from_this<Caller> {
 public:
  Caller(PacketSocket socket, PsServer& server) : socket_(std::move(socket)), server_(server) {}

  [[nodiscard]] const PacketSocket& socket() const { return socket_; }
  bool well = false;                  // it has said goodbye, or was told to go
  std::optional<SharedFloats> arena;  // of its gradients

  // What it was lent is its own until its next push or pull.
  void take_back() { lent_ = nullptr; }

  void answer(Result<Answer> given) {
    if (!given.has_value()) return refuse(given.error());
    if (!given->weights) return tell_held(*given);
    const WeightsBuffer& weights = *given->weights;
    const auto place = server_.shared_buffers_.find(wanted == proto::BFLOAT16 ? weights.rounded()
                                                                              : weights.master());
    if (!place) return refuse(internal("parameters that are not in shared memory"));
    proto::SharedPull message;
    *message.mutable_frame() = pull_frame_of(*given, wanted);
    message.set_buffer(place->number);
    lent_ = given->weights;
    const bool is_new = known_.insert(place->number).second;
    // A worker that is gone is noticed by its socket's end.
    static_cast<void>(socket_.send(message.SerializeAsString(), is_new ? place->descriptor : -1));
  }

  void tell_held(const Answer& given) {
    proto::SharedPull message;
    *message.mutable_frame() = pull_frame_of(given, wanted);
    static_cast<void>(socket_.send(message.SerializeAsString()));
  }

  void refuse(const Error& error) {
    proto::SharedPull message;
    message.set_status(static_cast<int>(to_grpc(error).error_code()));
    message.set_message(error.message);
    well = true;
    static_cast<void>(socket_.send(message.SerializeAsString()));
  }

 private:
  const PacketSocket socket_;
  PsServer& server_;
  Weights lent_;
  std::set<std::int64_t> known_;  // buffers whose descriptor it has
};

Result<std::unique_ptr<SharedPort>> SharedPort::open(const std::string& name, Held held,
                                                     PsServer& server) {
  TRY_ASSIGN(PacketSocket socket, PacketSocket::listen(name));
  Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll) return call_failed("epoll");
  std::unique_ptr<SharedPort> port(
      new SharedPort(std::move(socket), std::move(poll), std::move(held), server));
  if (!port->watch(port->socket_.descriptor(), EPOLLIN, EPOLL_CTL_ADD))
    return unavailable("cannot watch " + name);
  port->thread_ = std::jthread([raw = port.get()](const std::stop_token& stop) { raw->run(stop); });
  return port;
}

SharedPort::SharedPort(PacketSocket socket, Descriptor poll, Held held, PsServer& server)
    : socket_(std::move(socket)), poll_(std::move(poll)), held_(std::move(held)), server_(server) {}

SharedPort::~SharedPort() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

bool SharedPort::watch(int descriptor, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return ::epoll_ctl(poll_.get(), operation, descriptor, &event) == 0;
}

void SharedPort::run(const std::stop_token& stop) {
  std::array<epoll_event, 16> events{};
  while (!stop.stop_requested()) {
    const int count =
        ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), look_up_millis);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == socket_.descriptor()) {
        accept();
      } else if (const auto found = callers_.find(descriptor); found != callers_.end()) {
        serve(found->second);
      }
    }
    look_up();
  }
}

// Who knocks would be heard again and again, and nothing else would be done.
void SharedPort::rest() {
  watch(socket_.descriptor(), 0, EPOLL_CTL_MOD);
  rests_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(look_up_millis);
}

void SharedPort::look_up() {
  if (!rests_until_ || std::chrono::steady_clock::now() < *rests_until_) return;
  rests_until_.reset();
  watch(socket_.descriptor(), EPOLLIN, EPOLL_CTL_MOD);
}

void SharedPort::accept() {
  errno = 0;
  auto socket = socket_.accept();
  if (!socket && is_short_of_room(errno)) return rest();
  if (!socket) return;
  const int descriptor = socket->descriptor();
  const auto caller = std::make_shared<Caller>(std::move(*socket), server_);
  if (!watch(descriptor, EPOLLIN, EPOLL_CTL_ADD)) return;
  callers_.emplace(descriptor, caller);
  const std::lock_guard lock(server_.mutex_);
  server_.opened(caller);
}

// A caller that is refused is told why and dropped: it ends its own side.
void SharedPort::serve(
    std::shared_ptr<Caller> caller) {  // NOLINT: held beyond its place in the map
  auto packet = caller->socket().receive();
  const std::lock_guard lock(server_.mutex_);
  if (packet.has_value() && *packet) {
    if (const Status taken = take(*caller, std::move(**packet)); !taken.has_value()) {
      caller->refuse(taken.error());
    }
  }
  if (packet.has_value() && !caller->well) return;
  callers_.erase(caller->socket().descriptor());
  server_.closed(*caller, caller->well);
}

Status SharedPort::take(Caller& caller, Packet packet) {
  proto::SharedPush push;
  if (!push.ParseFromString(packet.bytes)) return invalid("a packet that is no SharedPush");
  if (push.has_final_from()) return server_.release(caller, push.final_from());
  if (!push.begins()) caller.take_back();
  if (push.goodbye()) {
    caller.well = true;
    return ok();
  }
  const Wire wire = server_.aggregator_.wire();
  const std::int64_t parts = server_.aggregator_.parts_of(push.frame().rank());
  const auto needed =
      static_cast<std::size_t>(push_memory_floats(wire, held_.arena_elements, parts));
  if (packet.passed) {
    TRY_ASSIGN(caller.arena, SharedFloats::open(std::move(packet.passed), needed));
  }
  Payload gradient;
  if (push.frame().examples() != 0) {
    if (!caller.arena || caller.arena->span().size() != needed) {
      return invalid("a gradient without shared memory");
    }
    const bool residuals = push.frame().residuals() && wire == Wire::onebit;
    gradient = push_payload(wire, caller.arena->span(), held_.arena_elements, held_.share, parts,
                            residuals ? WithResiduals::yes : WithResiduals::no);
    gradient.owner = std::make_shared<SharedFloats>(*caller.arena);
  }
  if (push.begins()) return server_.begin(caller, push.frame(), std::move(gradient));
  return server_.take(caller, push.frame(), std::move(gradient),
                      [weak = caller.weak_from_this()](Result<Answer> given) {
                        if (const auto alive = weak.lock()) alive->answer(std::move(given));
                      });
}

}  // namespace trainyard::runtime
