#include "runtime/net/chunks/worker_link.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/link_connection.h"
#include "runtime/net/waiting.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// Of gradients that the thread that computes sends itself.
constexpr std::size_t little_bytes = 1 << 20;

std::vector<std::int64_t> holders_of(const std::vector<ArenaChunk>& chunks) {
  std::vector<std::int64_t> holders;
  for (const ArenaChunk& chunk : chunks) holders.push_back(chunk.holder);
  return holders;
}

std::unique_ptr<Exchange> plain_exchange(const WorkerLink::Options& options,
                                         const std::vector<ArenaChunk>& chunks) {
  if (options.backups) return nullptr;
  return std::make_unique<Exchange>(Exchange::Rules{.mode = options.mode,
                                                    .servers = std::ssize(options.servers),
                                                    .ps_of = holders_of(chunks),
                                                    .max_steps = options.max_steps,
                                                    .asks_ahead = options.asks_ahead});
}

std::unique_ptr<BackupExchange> backup_exchange(const WorkerLink::Options& options,
                                                const std::vector<ArenaChunk>& chunks) {
  if (!options.backups) return nullptr;
  return std::make_unique<BackupExchange>(
      BackupExchange::Rules{.rank = options.rank,
                            .servers = std::ssize(options.servers),
                            .ps_of = holders_of(chunks),
                            .max_steps = options.max_steps});
}

}  // namespace

Result<std::unique_ptr<WorkerLink>> WorkerLink::open(Options options) {
  ENSURE(std::ssize(options.servers) == options.arenas.holders);
  Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
                    .data = {.u64 = options.servers.size()}};
  if (!poll || !bell || ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, bell.get(), &event) != 0) {
    return call_failed("cannot wait for sockets");
  }
  return std::unique_ptr<WorkerLink>(
      new WorkerLink(std::move(options), std::move(poll), std::move(bell)));
}

WorkerLink::WorkerLink(Options options, Descriptor poll, Descriptor bell)
    : options_(std::move(options)),
      on_stop_(options_.stop, [this] { over_.request_stop(); }),
      arenas_(options_.arenas),
      poll_(std::move(poll)),
      bell_(std::move(bell)),
      plain_(plain_exchange(options_, arenas_.chunks())),
      backup_(backup_exchange(options_, arenas_.chunks())),
      exchange_(backup_ ? static_cast<WorkerExchange&>(*backup_) : *plain_),
      left_out_(options_.backups ? index_of(options_.backups->ranks) : 0),
      residuals_(arenas_),
      small_(options_.servers.size()),
      requests_(arenas_, options_.servers.size()),
      rows_ports_(options_.servers.size()),
      transports_(options_.servers.size(), Transport::tcp),
      connections_(options_.servers.size()) {
  parameters_ = arenas_.parameters();
  const bool shares = arenas_.shared_descriptor() >= 0;
  sends_itself_ = shares || parameters_.size_bytes() <= little_bytes;
  std::vector<Connector::Target> targets;
  for (std::size_t ps = 0; ps < options_.servers.size(); ++ps) {
    targets.push_back(
        {.local = options_.tries_local
                      ? chunk_socket_name(options_.token, ps, port_of(options_.servers[ps]))
                      : std::string(),
         .address = options_.servers[ps]});
  }
  connector_.emplace(std::move(targets), [this] { ring(); });
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

WorkerLink::~WorkerLink() {
  thread_.request_stop();
  ring();
}

Result<WorkerLink::Next> WorkerLink::next() {
  std::unique_lock lock(mutex_);
  TRY(wait(lock, [this] {
    return next_ && (next_->is_over ? residuals_.may_leave() : residuals_.may_begin());
  }));
  const Next next = *std::exchange(next_, std::nullopt);
  unsettled_ = std::ssize(arenas_.chunks());
  if (weights_) {
    const SharedWeights layout{std::ssize(arenas_.parameters())};
    const std::int64_t version = next.is_over ? next.step : next.step - 1;
    parameters_ = weights_->span().subspan(layout.begin_of(version), index_of(layout.elements));
  }
  return next;
}

Status WorkerLink::await_parameters(std::int64_t end) {
  const auto before = [end](const ArenaChunk& chunk) { return chunk.range.begin < end; };
  const auto last = std::ranges::partition_point(arenas_.chunks(), before);
  const std::int64_t wanted = last - arenas_.chunks().begin();
  std::unique_lock lock(mutex_);
  return wait(lock, [&] { return exchange_.readable() >= wanted; });
}

Status WorkerLink::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there,
                        Waits how) {
  while (!is_there()) {
    if (failed_) return *failed_;
    if (options_.stop.stop_requested()) return unavailable("asked to stop");
    if (Clock::now() - heard_ > options_.limit) {
      return unavailable("no parameter server has answered for " +
                         std::to_string(options_.limit.count() / 1000) + " s");
    }
    if (how == Waits::idle) {
      changed_.wait_for(lock, std::chrono::milliseconds(look_up_millis));
      continue;
    }
    caller_moves_ = true;
    lock.unlock();
    move_bytes();
    lock.lock();
    caller_moves_ = false;
    moved_.notify_one();
    look_for_lost();
  }
  return ok();
}

void WorkerLink::settle(std::int64_t from) {
  bool is_any = false;
  while (unsettled_ > 0 && arenas_.final_from(unsettled_ - 1) >= from) {
    const std::int64_t chunk = --unsettled_;
    arenas_.encode(chunk);
    const std::lock_guard lock(mutex_);
    step(GradientFinal{chunk});
    is_any = true;
  }
  if (!is_any) return;
  // What is little leaves at once; with much of it this thread has better to do.
  std::unique_lock io(io_mutex_, std::defer_lock);
  if (sends_itself_ && io.try_lock()) return send_all();
  ring();
}

void WorkerLink::tell_sums(std::int64_t step, const BatchSums& sums) {
  const auto kept = std::make_shared<const PayloadBytes>(encode_sums(sums));
  const std::lock_guard lock(mutex_);
  FrameStream::Outgoing& told = told_[index_of(step % 2)];
  told = {.header = {.kind = FrameKind::sums, .step = step},
          .pieces = {std::as_bytes(std::span(*kept))},
          .owner = kept};
  small_.front().push_back(told);  // and leaves with the gradient
}

// By a new connection: the one before may have lost it.
void WorkerLink::tell_again() {
  for (const FrameStream::Outgoing& told : told_) {
    if (told.header.step > 0) small_.front().push_back(told);
  }
}

std::int64_t WorkerLink::ask_snapshot() {
  const std::lock_guard lock(mutex_);
  ENSURE(plain_ != nullptr);
  return plain_->ask_snapshot();
}

WorkerLink::News WorkerLink::take_news() {
  const std::lock_guard lock(mutex_);
  const News news = news_;
  news_ = {.version = news.version, .sums = {}, .traffic = {}};
  return news;
}

std::vector<Transport> WorkerLink::transports() const {
  const std::lock_guard lock(mutex_);
  return transports_;
}

void WorkerLink::step(const ExchangeEvent& event) { perform(exchange_.step(event)); }

void WorkerLink::perform(const std::vector<ExchangeEffect>& effects) {
  const auto say = [this](std::int64_t ps, const FrameHeader& header) {
    small_[index_of(ps)].push_back({.header = header, .pieces = {}, .owner = nullptr});
  };
  for (const ExchangeEffect& effect : effects) {
    if (const auto* ask = std::get_if<AskParameters>(&effect)) {
      say(ask->ps, {.kind = FrameKind::ask_parameters,
                    .flag = ask->chunk.has_value(),
                    .chunk = ask->chunk ? arenas_.number_in_share(*ask->chunk) : 0,
                    .step = ask->version});
    } else if (const auto* turn = std::get_if<AskTurn>(&effect)) {
      say(0, {.kind = FrameKind::ask_turn, .step = turn->step});
    } else if (const auto* ended = std::get_if<SayEnded>(&effect)) {
      say(ended->ps, {.kind = FrameKind::ended, .snapshot = ended->snapshot});
    } else if (const auto* names = std::get_if<HandNames>(&effect)) {
      hand_names(names->ps);
    } else if (const auto* begin = std::get_if<BeginStep>(&effect)) {
      next_ = Next{.step = begin->step};
    } else if (const auto* over = std::get_if<TrainingOver>(&effect)) {
      next_ = Next{.step = over->step, .is_over = true};
    } else if (const auto* given_up = std::get_if<GiveUp>(&effect)) {
      fail(given_up->why);
    }
  }
  changed_.notify_all();
}

void WorkerLink::fail(const std::string& why) {
  if (!failed_) failed_ = unavailable(why);
  over_.request_stop();
  changed_.notify_all();
}

Status WorkerLink::state() const {
  const std::lock_guard lock(mutex_);
  return failed_ ? Status(*failed_) : ok();
}

void WorkerLink::look_for_lost() {
  for (const auto& [ps, since] : lost_) {
    if (Clock::now() - since > options_.return_limit) {
      return fail("ps " + options_.servers[ps] + " is gone");
    }
  }
}

void WorkerLink::ring() const {
  const std::uint64_t one = 1;
  // A bell that is full has rung.
  static_cast<void>(::write(bell_.get(), &one, sizeof one) != 0);
}

void WorkerLink::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    move_bytes();
    std::unique_lock lock(mutex_);
    look_for_lost();
    if (!caller_moves_) continue;
    ring();  // it may have what it waits for
    moved_.wait_for(lock, std::chrono::milliseconds(look_up_millis),
                    [this] { return !caller_moves_; });
  }
}

// Both threads wait at the poll; of those that do it wakes one, the newest, and once for each
// event.
void WorkerLink::move_bytes() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(poll_.get(), events.data(), std::ssize(events), look_up_millis);
  if (count <= 0) return;
  const std::lock_guard io(io_mutex_);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 < connections_.size()) {
      serve(event.data.u64, event.events);
    } else {
      std::uint64_t rung = 0;
      static_cast<void>(::read(bell_.get(), &rung, sizeof rung) != 0);
      add_connected();
    }
    send_all();
  }
}

void WorkerLink::add_connected() {
  for (auto& [ps, socket] : connector_->take()) {
    {
      const std::lock_guard lock(mutex_);
      small_[ps].clear();  // of the connection before
    }
    add(ps, std::move(socket));
  }
}

void WorkerLink::add(std::size_t ps, StreamSocket socket) {
  const bool is_local = socket.is_unix();
  socket.keep_unsent_below(unsent_bytes_max);
  const int descriptor = socket.descriptor();
  auto connection = std::make_unique<Connection>(*this, ps, std::move(socket));
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.u64 = ps}};
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return lose(ps, "no poll");
  const auto hello = std::make_shared<std::string>(
      encode_hello({.rank = options_.rank, .plan = options_.plan, .token = options_.token}));
  connection->hello = FrameStream::Outgoing{.header = {.kind = FrameKind::hello},
                                            .pieces = {std::as_bytes(std::span(*hello))},
                                            .owner = hello,
                                            .passed = is_local && shares_ ? arenas_.shared_descriptor() : -1};
  connections_[ps] = std::move(connection);
}

void WorkerLink::serve(std::size_t ps, std::uint32_t events) {
  if (!connections_[ps]) return;
  Connection& connection = *connections_[ps];
  if ((events & EPOLLOUT) != 0) connection.waits_for_room = false;
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  const bool is_end = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  const auto behind = is_end ? FrameStream::Behind::perhaps_the_end : FrameStream::Behind::nothing;
  for (;;) {  // until there is no more: it is told of once
    const Result<bool> received = connection.stream.receive(connection, behind);
    if (!received.has_value()) return lose(ps, received.error().message);
    if (*received) return;
    send_all();
    if (connections_[ps].get() != &connection) return;
  }
}

void WorkerLink::lose(std::size_t ps, const std::string& why) {
  const bool was_welcomed = connections_[ps] && connections_[ps]->is_welcomed;
  connections_[ps].reset();
  const std::lock_guard lock(mutex_);
  if (requests_.is_released(ps)) return;  // it may be gone
  log_warning("connection lost", {{"ps", options_.servers[ps]}, {"why", why}});
  if (was_welcomed) lost_.try_emplace(ps, Clock::now());
  small_[ps].clear();
  connector_->want(ps);
  if (was_welcomed) step(ConnectionLost{static_cast<std::int64_t>(ps)});
}

// ps 0 last: what is reported to it is that all has left to all.
void WorkerLink::send_all() {
  for (std::size_t ps = connections_.size(); ps-- > 0;) {
    if (!connections_[ps] || connections_[ps]->waits_for_room) continue;
    if (!send(*connections_[ps])) lose(ps, "it cannot be sent to");
  }
}

// False: it is gone.
bool WorkerLink::send(Connection& connection) {
  const auto sent = connection.stream.send([&] { return next_of(connection); });
  if (!sent.has_value()) return false;
  const bool waits = !*sent;
  if (waits != connection.watches_room) {
    connection.watches_room = waits;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (waits ? EPOLLOUT : 0U),
                      .data = {.u64 = connection.ps}};
    const int descriptor = connection.stream.socket().descriptor();
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) return false;
  }
  connection.waits_for_room = waits;
  return true;
}

std::optional<FrameStream::Outgoing> WorkerLink::next_of(Connection& connection) {
  if (connection.hello) return std::exchange(connection.hello, std::nullopt);
  if (!connection.is_welcomed) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& small = small_[connection.ps];
  if (!small.empty()) {
    FrameStream::Outgoing first = std::move(small.front());
    small.pop_front();
    return first;
  }
  if (auto residual = residuals_.next_to_send(connection.ps)) {
    news_.traffic.sent += std::ssize(residual->pieces.front());
    return residual;
  }
  const auto next = exchange_.next_to_send(static_cast<std::int64_t>(connection.ps));
  if (!next) return connection.ps == 0 ? next_report() : std::nullopt;
  FrameStream::Outgoing frame{.header = {.kind = FrameKind::gradient,
                                         .chunk = arenas_.number_in_share(next->chunk),
                                         .step = next->step,
                                         .snapshot = next->snapshot},
                              .pieces = {},
                              .owner = nullptr};
  if (!connection.is_shared) frame.pieces = arenas_.gradient_of(next->chunk);
  for (const auto& piece : arenas_.gradient_of(next->chunk)) {
    news_.traffic.sent += std::ssize(piece);
  }
  return frame;
}

}  // namespace trainyard::runtime
