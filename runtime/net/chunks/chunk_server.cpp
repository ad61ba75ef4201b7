#include "runtime/net/chunks/chunk_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/waiting.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"
#include "schemas/files/secret.h"

namespace trainyard::runtime {
namespace {

// Who has not said who it is by then is closed; there are never more of them.
constexpr std::chrono::seconds hello_limit{10};
constexpr std::size_t strangers_max = 64;
// Of what leaves before parameters; a worker that reads none of it is not a good one.
constexpr std::size_t small_frames_max = 4096;

}  // namespace

// One worker's, or a stranger's until its hello.
class ChunkServer::Connection : public FrameStream::Receiver {
 public:
  Connection(ChunkServer& server, StreamSocket socket)
      : server_(server), stream_(std::move(socket)) {}

  Result<std::span<std::byte>> place(const FrameHeader& header) override {
    const bool says_hello = header.kind == FrameKind::hello;
    if (says_hello != (rank_ < 0)) return invalid("a connection begins with one hello");
    if (header.kind != FrameKind::gradient) return std::span<std::byte>();
    if (header.chunk >= server_.options_.rules.chunks) return invalid("there is no such chunk");
    if (arenas_) {
      if (header.bytes > 0) return invalid("a gradient came that lies in shared memory");
      return std::span<std::byte>();
    }
    const auto place = server_.store_.gradient_place(rank_, header.chunk);
    if (place.size() != header.bytes) return invalid("a gradient of another length");
    if (server_.core_.would_take(rank_, header.step, header.chunk)) return place;
    unused_.resize(place.size());
    return std::span(unused_);
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    return server_.take(*this, header, payload);
  }

  ChunkServer& server_;
  FrameStream stream_;
  bool has_token_ = false;
  std::int64_t rank_ = -1;                   // -1: it has not said
  SharedArenasPtr arenas_;                   // of a worker of this host
  std::deque<FrameStream::Outgoing> small_;  // that leave before any parameters
  std::vector<std::byte> unused_;            // where a gradient goes that is not needed
  bool waits_for_room_ = false;              // to send
  bool watches_room_ = false;                // the poll tells of it
  Clock::time_point since_ = Clock::now();
};

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
  return std::unique_ptr<ChunkServer>(new ChunkServer(
      std::move(poll), std::move(bell), std::move(listeners), std::move(options),
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
      sums_(by_rank_.size()),
      sums_steps_(by_rank_.size()) {
  ENSURE(store_.chunks() == options_.rules.chunks);
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

ChunkServer::~ChunkServer() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell_.get(), &one, sizeof one) != 0);  // one that is full has rung
}

void ChunkServer::run(const std::stop_token& stop) {
  std::array<epoll_event, 64> events{};
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(poll_.get(), events.data(), std::ssize(events), look_up_millis);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (!accept(event.data.fd)) serve(event.data.fd, event.events);
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
    connections_.insert_or_assign(descriptor,
                                  std::make_unique<Connection>(*this, *std::move(socket)));
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
  if (connection.has_token_) refuse(connection, received.error().message);
  close(descriptor);
}

// Or it has left; then nobody hears it.
void ChunkServer::refuse(Connection& connection, const std::string& why) {
  log_info("worker is gone", {{"rank", connection.rank_}, {"why", why}});
  const auto text = std::make_shared<std::string>(why.substr(0, small_payload_bytes_max));
  bool is_said = false;
  static_cast<void>(connection.stream_.send([&]() -> std::optional<FrameStream::Outgoing> {
    if (std::exchange(is_said, true)) return std::nullopt;
    return FrameStream::Outgoing{.header = {.kind = FrameKind::refused},
                                 .pieces = {std::as_bytes(std::span(*text))},
                                 .owner = text};
  }));
}

void ChunkServer::close(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  const std::int64_t rank = found->second->rank_;
  if (rank >= 0 && by_rank_[index_of(rank)] == found->second.get()) {
    by_rank_[index_of(rank)] = nullptr;
    static_cast<void>(core_.step(WorkerLeft{rank}));
  }
  connections_.erase(found);  // its socket leaves the poll as it closes
}

void ChunkServer::drop_silent() {
  const auto now = Clock::now();
  if (now - looked_ < std::chrono::milliseconds(look_up_millis)) return;
  looked_ = now;
  std::vector<int> silent;
  for (const auto& [descriptor, connection] : connections_) {
    if (connection->rank_ < 0 && now - connection->since_ > hello_limit) {
      silent.push_back(descriptor);
    }
  }
  for (const int descriptor : silent) close(descriptor);
}

Status ChunkServer::welcome(Connection& connection, const Hello& hello) {
  if (!is_same_secret(hello.token, options_.token)) return invalid("it is of another attempt");
  connection.has_token_ = true;
  if (hello.rank < 0 || hello.rank >= options_.rules.ranks) return invalid("there is no such rank");
  if (hello.plan != options_.plan) return invalid("it cuts the parameters otherwise");
  Connection*& newest = by_rank_[index_of(hello.rank)];
  if (newest != nullptr) close(newest->stream_.socket().descriptor());
  newest = &connection;
  connection.rank_ = hello.rank;
  if (Descriptor memory = connection.stream_.take_passed()) {
    const SharedLayout layout = store_.layout_of(hello.rank);
    TRY_ASSIGN(const auto shared, SharedFloats::open(std::move(memory), layout.floats(),
                                                     SharedFloats::Access::write));
    connection.arenas_ =
        std::make_shared<SharedArenas>(SharedArenas{layout, shared.buffer()});
  }
  TRY(perform(WorkerJoined{hello.rank}));
  tell_what_is_named(hello.rank);
  if (hello.rank != 0) return ok();
  for (std::size_t rank = 0; rank < sums_.size(); ++rank) {
    for (std::size_t i = 0; i < sums_[rank].size(); ++i) {
      if (sums_steps_[rank][i] == 0) continue;
      forward_sums(static_cast<std::int64_t>(rank), {.step = sums_steps_[rank][i]},
                   std::as_bytes(std::span(sums_[rank][i])));
    }
  }
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
    case FrameKind::ask_parameters: {
      ParametersAsked asked{rank, header.step};
      if (header.flag) asked.chunk = header.chunk;
      return perform(asked);
    }
    case FrameKind::whole: return take_report(rank, header);
    case FrameKind::named: return take_names(rank, header, payload);
    case FrameKind::ended: return perform(RankEnded{rank, header.snapshot});
    case FrameKind::ask_turn:
      if (!turns_) return invalid("turns are not given here");
      tell_turns(turns_->ask(rank, header.step));
      return ok();
    case FrameKind::sums: {
      const std::size_t slot = index_of(header.step % 2);
      sums_[index_of(rank)][slot].assign(reinterpret_cast<const char*>(payload.data()),
                                         payload.size());
      sums_steps_[index_of(rank)][slot] = header.step;
      forward_sums(rank, header, payload);
      return ok();
    }
    case FrameKind::welcome:
    case FrameKind::parameters:
    case FrameKind::turn:
    case FrameKind::late:
    case FrameKind::refused: break;
  }
  return invalid("a worker does not say that");
}

Status ChunkServer::perform(const PsEvent& event) { return do_each(core_.step(event)); }

Status ChunkServer::do_each(const std::vector<PsEffect>& effects) {
  for (const PsEffect& effect : effects) {
    if (const auto* update = std::get_if<UpdateChunk>(&effect)) {
      store_.update(*update, options_.step_at(update->version));
    } else if (const auto* copy = std::get_if<CopyChunk>(&effect)) {
      store_.copy(*copy);
    } else if (const auto* save = std::get_if<SaveCopy>(&effect)) {
      if (auto whole = store_.save(*save)) options_.on_snapshot(save->snapshot, *std::move(whole));
    } else if (const auto* welcome = std::get_if<WelcomeWorker>(&effect)) {
      const auto rank_step = std::make_shared<std::int64_t>(welcome->rank_step);
      by_rank_[index_of(welcome->rank)]->small_.push_back(
          {.header = {.kind = FrameKind::welcome,
                      .flag = by_rank_[index_of(welcome->rank)]->arenas_ != nullptr,
                      .step = welcome->version,
                      .snapshot = welcome->snapshot},
           .pieces = {std::as_bytes(std::span(rank_step.get(), 1))},
           .owner = rank_step});
    } else if (const auto* refuse = std::get_if<RefuseWorker>(&effect)) {
      return invalid(refuse->why);  // only who has just spoken is refused
    }
  }
  return ok();
}

// Before any parameters. Nobody, where the rank is not there.
void ChunkServer::tell(std::int64_t rank, const FrameHeader& header,
                       std::vector<std::byte> payload) {
  Connection* const connection = by_rank_[index_of(rank)];
  if (connection == nullptr) return;
  const auto kept = std::make_shared<std::vector<std::byte>>(std::move(payload));
  connection->small_.push_back(
      {.header = header, .pieces = {std::span<const std::byte>(*kept)}, .owner = kept});
}

void ChunkServer::tell_turns(const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    Connection* const connection = by_rank_[index_of(turn.rank)];
    if (connection == nullptr) continue;  // it asks again
    connection->small_.push_back({.header = {.kind = FrameKind::turn,
                                             .flag = turn.says == Turn::Says::over,
                                             .step = turn.step,
                                             .snapshot = turn.snapshot},
                                  .pieces = {},
                                  .owner = nullptr});
  }
}

void ChunkServer::forward_sums(std::int64_t rank, const FrameHeader& header,
                               std::span<const std::byte> payload) {
  Connection* const chief = by_rank_.front();
  if (chief == nullptr) return;
  const auto text = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end());
  chief->small_.push_back({.header = {.kind = FrameKind::sums,
                                      .chunk = static_cast<std::uint32_t>(rank),
                                      .step = header.step},
                           .pieces = {std::span<const std::byte>(*text)},
                           .owner = text});
}

std::optional<FrameStream::Outgoing> ChunkServer::next_of(Connection& connection) {
  if (!connection.small_.empty()) {
    FrameStream::Outgoing first = std::move(connection.small_.front());
    connection.small_.pop_front();
    return first;
  }
  const auto next = core_.next_to_send(connection.rank_);
  if (!next) return std::nullopt;
  FrameStream::Outgoing frame{.header = {.kind = FrameKind::parameters,
                                         .chunk = static_cast<std::uint32_t>(next->chunk),
                                         .step = next->version},
                              .pieces = {},
                              .owner = nullptr};
  if (connection.arenas_) {
    store_.write_parameters(*next, connection.arenas_->memory.span());
    return frame;
  }
  ChunkStore::Bytes bytes = store_.parameters(*next);
  frame.pieces.push_back(bytes.bytes);
  frame.owner = std::move(bytes.owner);
  return frame;
}

void ChunkServer::send_all() {
  std::vector<int> gone;
  for (Connection* const connection : by_rank_) {
    if (connection == nullptr || connection->waits_for_room_) continue;
    if (connection->small_.size() > small_frames_max || !send(*connection)) {
      gone.push_back(connection->stream_.socket().descriptor());
    }
  }
  for (const int descriptor : gone) close(descriptor);
}

// False: it is gone.
bool ChunkServer::send(Connection& connection) {
  const auto sent = connection.stream_.send([&] { return next_of(connection); });
  if (!sent.has_value()) return false;
  const bool waits = !*sent;
  if (waits != connection.watches_room_) {
    connection.watches_room_ = waits;
    const int descriptor = connection.stream_.socket().descriptor();
    epoll_event event{.events = EPOLLIN | (waits ? EPOLLOUT : 0U), .data = {.fd = descriptor}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) return false;
  }
  connection.waits_for_room_ = waits;
  return true;
}

}  // namespace trainyard::runtime
