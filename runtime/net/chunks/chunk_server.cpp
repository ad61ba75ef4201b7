#include "runtime/net/chunks/chunk_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/server_connection.h"
#include "runtime/net/waiting.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"
#include "schemas/files/secret.h"

namespace trainyard::runtime {
namespace {

// Who has not said who it is by then is closed; there are never more of them.
constexpr Millis hello_limit = seconds(10);
constexpr std::size_t strangers_max = 64;

}  // namespace

Result<std::unique_ptr<ChunkServer>> ChunkServer::start(std::vector<StreamSocket> listeners,
                                                        Options options, ChunkStore store) {
  ENSURE(!listeners.empty());
  Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event rings{.events = EPOLLIN, .data = {.fd = bell.get()}};
  if (!poll || !bell || ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, bell.get(), &rings) != 0) {
    return call_failed("cannot wait for sockets");
  }
  for (const StreamSocket& listener : listeners) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = listener.descriptor()}};
    if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, listener.descriptor(), &event) != 0) {
      return call_failed("cannot wait for callers");
    }
  }
  return std::unique_ptr<ChunkServer>(new ChunkServer(std::move(poll), std::move(bell),
                                                      std::move(listeners), std::move(options),
                                                      std::move(store)));
}

ChunkServer::ChunkServer(Descriptor poll, Descriptor bell, std::vector<StreamSocket> listeners,
                         Options options, ChunkStore store)
    : poll_(std::move(poll)),
      bell_(std::move(bell)),
      listeners_(std::move(listeners)),
      options_(std::move(options)),
      core_(options_.rules, options_.start),
      store_(std::move(store)),
      by_rank_(index_of(options_.rules.ranks)),
      sums_(options_.rules.ranks),
      attendance_(options_.limits, options_.rules.ranks, steady_now()),
      looked_(steady_now()),
      writer_(options_.files) {
  ENSURE(store_.chunks() == options_.rules.chunks);
  ENSURE(store_.has_residuals() == options_.rules.has_residuals);
  if (options_.turns) {
    std::vector<std::int64_t> steps = options_.start.rank_steps;
    steps.resize(by_rank_.size());
    turns_.emplace(*options_.turns, std::move(steps));
  }
  if (options_.names_steps) {
    names_.emplace(StepNames::Rules{options_.rules.ranks, options_.rules.aggregate},
                   options_.start.version);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ChunkServer::~ChunkServer() { stop_serving(); }

void ChunkServer::stop_serving() {
  thread_.request_stop();
  ring();
  if (thread_.joinable()) thread_.join();
}

void ChunkServer::ring() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell_.get(), &one, sizeof one) != 0);  // one that is full has rung
}

Result<ChunkServer::Ended> ChunkServer::await_end(const std::stop_token& stop) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return end_.has_value(); });
  }
  stop_serving();
  if (!end_) return Ended::stopped;
  if (!end_->is_good) return unavailable(end_->why);
  return Ended::finished;
}

void ChunkServer::run(const std::stop_token& stop) {
  std::array<epoll_event, 64> events{};
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(poll_.get(), events.data(), std::ssize(events), look_up_millis);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == bell_.get()) {
        tell_shards();
      } else if (!accept(event.data.fd)) {
        serve(event.data.fd, event.events);
      }
      send_all();
    }
    drop_silent();
  }
}

// False: this is no listener.
bool ChunkServer::accept(int listening) {
  const auto listener = std::ranges::find(listeners_, listening, &StreamSocket::descriptor);
  if (listener == listeners_.end()) return false;
  while (auto socket = listener->accept()) {
    const auto strangers = std::ranges::count_if(
        connections_, [](const auto& entry) { return entry.second->rank_ < 0; });
    if (static_cast<std::size_t>(strangers) >= strangers_max) continue;
    socket->keep_unsent_below(unsent_bytes_max);
    const int descriptor = socket->descriptor();
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) continue;
    connections_.insert_or_assign(
        descriptor, std::make_unique<Connection>(*this, *std::move(socket), steady_now()));
  }
  return true;
}

void ChunkServer::serve(int descriptor, std::uint32_t events) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;  // closed by an event before
  Connection& connection = *found->second;
  if ((events & EPOLLOUT) != 0) connection.waits_for_room_ = false;
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  const Result<bool> received = connection.stream_.receive(connection);
  if (received.has_value()) return;
  const std::string why = received.error().message;
  if (connection.has_token_ && !connection.said_goodbye_) tell_refused(connection, why);
  close(descriptor, why);
}

// Or it has left; then nobody hears it.
void ChunkServer::tell_refused(Connection& connection, const std::string& why) {
  const auto text = std::make_shared<std::string>(why.substr(0, small_payload_bytes_max));
  bool is_said = false;
  static_cast<void>(connection.stream_.send([&]() -> std::optional<FrameStream::Outgoing> {
    if (std::exchange(is_said, true)) return std::nullopt;
    return FrameStream::Outgoing{.header = {.kind = FrameKind::refused},
                                 .pieces = {std::as_bytes(std::span(*text))},
                                 .owner = text};
  }));
}

void ChunkServer::close(int descriptor, const std::string& why) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  const std::int64_t rank = found->second->rank_;
  if (found->second->has_token_ && !found->second->said_goodbye_) {
    log_info("worker is gone", {{"rank", rank}, {"why", why}});
  }
  if (rank >= 0 && by_rank_[index_of(rank)] == found->second.get()) {
    by_rank_[index_of(rank)] = nullptr;
    attendance_.left(rank, steady_now());
    static_cast<void>(core_.step(WorkerLeft{rank}));
  }
  connections_.erase(found);  // its socket leaves the poll as it closes
}

void ChunkServer::drop_silent() {
  const Time at = steady_now();
  if (at - looked_ < Millis{look_up_millis}) return;
  looked_ = at;
  std::vector<int> silent;
  for (const auto& [descriptor, connection] : connections_) {
    if (connection->rank_ < 0 && at - connection->since_ > hello_limit) {
      silent.push_back(descriptor);
    }
  }
  for (const int descriptor : silent) close(descriptor, "it has not said who it is");
  look_for_end();
}

// Those who are there are told why it ends, where that is no good end.
void ChunkServer::look_for_end() {
  const auto end = attendance_.end(steady_now());
  if (!end) return;
  const std::lock_guard lock(mutex_);
  if (end_) return;
  end_ = *end;
  changed_.notify_all();
  if (end->is_good) return;
  for (Connection* const connection : by_rank_) {
    if (connection != nullptr) tell_refused(*connection, end->why);
  }
}

Status ChunkServer::welcome(Connection& connection, const Hello& hello) {
  if (!is_same_secret(hello.token, options_.token)) return invalid("it is of another attempt");
  connection.has_token_ = true;
  if (hello.rank < 0 || hello.rank >= options_.rules.ranks) return invalid("there is no such rank");
  if (hello.plan != options_.plan) return invalid("it cuts the parameters otherwise");
  Connection*& newest = by_rank_[index_of(hello.rank)];
  if (newest != nullptr) close(newest->stream_.socket().descriptor(), "it has called anew");
  newest = &connection;
  connection.rank_ = hello.rank;
  Descriptor memory = connection.stream_.take_passed();
  if (memory && store_.chunks() > 0) {
    const SharedLayout layout = store_.layout_of(hello.rank);
    TRY_ASSIGN(const auto shared,
               SharedFloats::open(std::move(memory), layout.floats(), SharedFloats::Access::write));
    connection.arenas_ = std::make_shared<SharedArenas>(SharedArenas{layout, shared.buffer()});
  }
  attendance_.joined(hello.rank);
  TRY(perform(WorkerJoined{hello.rank}));
  tell_what_is_named(hello.rank);
  return ok();
}

Status ChunkServer::take(Connection& connection, const FrameHeader& header,
                         std::span<const std::byte> payload) {
  const std::int64_t rank = connection.rank_;
  switch (header.kind) {
    case FrameKind::hello: {
      const auto* const text = reinterpret_cast<const char*>(payload.data());
      TRY_ASSIGN(const Hello hello, decode_hello({text, payload.size()}));
      return welcome(connection, hello);
    }
    case FrameKind::gradient:
      if (core_.would_take(rank, header.step, header.chunk)) {
        store_.gradient_came(rank, header.chunk, connection.arenas_);
      }
      return perform(GradientCame{rank, header.step, header.chunk, header.snapshot});
    case FrameKind::residual: return take_residual(connection, header, payload);
    case FrameKind::ask_residuals: return give_back_residuals(connection);
    case FrameKind::ask_parameters: {
      ParametersAsked asked{rank, header.step};
      if (header.flag) asked.chunk = header.chunk;
      return perform(asked);
    }
    case FrameKind::whole: return take_report(rank, header);
    case FrameKind::named: return take_names(rank, header, payload);
    case FrameKind::ended:
      if (options_.on_ended) options_.on_ended(rank, header.snapshot);
      return perform(RankEnded{rank, header.snapshot});
    case FrameKind::ask_turn:
      if (!turns_) return invalid("turns are not given here");
      tell_turns(turns_->ask(rank, header.step));
      return ok();
    case FrameKind::sums: {
      TRY_ASSIGN(const BatchSums sums, decode_sums(payload));
      TRY(check_sums(sums));
      sums_.tell(rank, header.step, sums);
      return ok();
    }
    case FrameKind::goodbye:
      connection.said_goodbye_ = true;
      attendance_.said_goodbye(rank);
      tell(rank, {.kind = FrameKind::released});
      look_for_end();
      return ok();
    default: return take_of_chief(connection, header, payload);
  }
}

Status ChunkServer::perform(const PsEvent& event) {
  for (const PsEffect& effect : core_.step(event)) {
    if (const auto* made = std::get_if<UpdateChunk>(&effect)) {
      update(*made);
    } else if (const auto* copy = std::get_if<CopyChunk>(&effect)) {
      store_.copy(*copy);
    } else if (const auto* save = std::get_if<SaveCopy>(&effect)) {
      if (auto whole = store_.save(*save)) {
        writer_.take({.step = save->snapshot,
                      .version = save->version,
                      .rank_steps = save->rank_steps,
                      .weights = std::move(whole->weights),
                      .slots = std::move(whole->slots),
                      .residuals = std::move(whole->residuals)});
      }
    } else if (const auto* welcome = std::get_if<WelcomeWorker>(&effect)) {
      tell(welcome->rank,
           {.kind = FrameKind::welcome,
            .flag = by_rank_[index_of(welcome->rank)]->arenas_ != nullptr,
            .step = welcome->version,
            .snapshot = welcome->snapshot},
           encode_greeting({.rank_step = welcome->rank_step, .rows_port = options_.rows_port}));
      Connection& welcomed = *by_rank_[index_of(welcome->rank)];
      if (welcomed.arenas_) welcomed.small_.back().passed = store_.shared_weights();
    } else if (const auto* refuse = std::get_if<RefuseWorker>(&effect)) {
      return invalid(refuse->why);  // only who has just spoken is refused
    }
  }
  return ok();
}

// What its first chunk tells of a gradient counts for all of it.
void ChunkServer::update(const UpdateChunk& update) {
  store_.update(update, options_.step_at(update.version, update.staleness));
  if (end_is_asked_) save_end();
  if (update.chunk != 0) return;
  for (const std::int64_t rank : update.ranks) {
    sums_.apply(rank, core_.taken(rank, update.chunk), update.staleness);
  }
}

void ChunkServer::tell(std::int64_t rank, const FrameHeader& header, std::string payload) {
  Connection* const connection = by_rank_[index_of(rank)];
  if (connection == nullptr) return;  // it asks again
  const auto kept = std::make_shared<const std::string>(std::move(payload));
  connection->small_.push_back(
      {.header = header, .pieces = {std::as_bytes(std::span(*kept))}, .owner = kept});
}

void ChunkServer::tell_turns(const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    tell(turn.rank, {.kind = FrameKind::turn,
                     .flag = turn.says == Turn::Says::over,
                     .step = turn.step,
                     .snapshot = turn.snapshot});
  }
}

std::optional<FrameStream::Outgoing> ChunkServer::next_of(Connection& connection) {
  if (connection.rank_ == 0 && sums_.has_any()) {  // before the parameters that they are of
    tell(0, {.kind = FrameKind::applied}, encode_sums(sums_.take()));
  }
  if (!connection.small_.empty()) {
    FrameStream::Outgoing first = std::move(connection.small_.front());
    connection.small_.pop_front();
    return first;
  }
  if (connection.rank_ < 0) return std::nullopt;
  if (connection.restored_ < store_.chunks()) return connection.next_restored(store_);
  const auto next = core_.next_to_send(connection.rank_);
  if (!next) return connection.next_weights(store_);
  FrameStream::Outgoing frame{.header = {.kind = FrameKind::parameters,
                                         .flag = store_.is_exact(*next),
                                         .chunk = static_cast<std::uint32_t>(next->chunk),
                                         .step = next->version,
                                         .snapshot = next->snapshot},
                              .pieces = {},
                              .owner = nullptr};
  if (connection.arenas_) {
    const bool reads_here = store_.shared_weights() >= 0;
    if (!reads_here) store_.write_parameters(*next, connection.arenas_->memory.span());
    return frame;
  }
  ChunkStore::Bytes bytes = store_.parameters(*next);
  frame.pieces.push_back(bytes.bytes);
  frame.owner = std::move(bytes.owner);
  return frame;
}

void ChunkServer::send_all() {
  for (Connection* const connection : by_rank_) {
    if (connection == nullptr || connection->waits_for_room_) continue;
    const Status sent = connection->small_.size() > small_frames_max
                            ? unavailable("it does not read what it is told")
                            : send(*connection);
    if (!sent.has_value()) close(connection->stream_.socket().descriptor(), sent.error().message);
  }
}

// An error: it is gone.
Status ChunkServer::send(Connection& connection) {
  TRY_ASSIGN(const bool is_all, connection.stream_.send([&] { return next_of(connection); }));
  const bool waits = !is_all;
  if (waits != connection.watches_room_) {
    connection.watches_room_ = waits;
    const int descriptor = connection.stream_.socket().descriptor();
    epoll_event event{.events = EPOLLIN | (waits ? EPOLLOUT : 0U), .data = {.fd = descriptor}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) {
      return call_failed("cannot wait for room");
    }
  }
  connection.waits_for_room_ = waits;
  return ok();
}

}  // namespace trainyard::runtime
