// The loop of a ps, and what it takes from its workers.
#include "runtime/net/ps_server.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "runtime/net/channel_options.h"
#include "runtime/net/completion.h"
#include "runtime/net/frame.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/made_step.h"
#include "runtime/net/push_of.h"
#include "runtime/net/push_stream.h"
#include "runtime/net/row_frame.h"
#include "runtime/net/shared_port.h"
#include "runtime/net/stream_port.h"
#include "runtime/net/stream_socket.h"
#include "schemas/base/log.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

// How often the loop looks at the stop token and at the clock when nothing happens.
constexpr std::chrono::milliseconds kLookUp{100};
// What is still open when a ps ends: after the last step workers may be in the middle of a gradient
// that comes too late, and are told so; a ps that is stopped has nothing to tell.
constexpr std::chrono::seconds kFinishedLimit{10};
constexpr std::chrono::seconds kStoppedLimit{1};
constexpr std::chrono::seconds kNothingToTell{0};
constexpr std::chrono::milliseconds kDrainStep{5};

constexpr std::int64_t kExamplesMax = std::int64_t{1} << 40;  // of one batch

// The shard with its weights, from now on, where workers of this host can read them.
ParameterShard at_home_in(SharedBuffers& buffers, ParameterShard shard, Wire wire) {
  shard.move_to([&buffers](std::size_t elements) { return buffers.make(elements); }, wire);
  return shard;
}

// Not 0. The time would do, were it not for clocks that are set back.
std::int64_t drawn_incarnation() {
  std::random_device random;
  return 1 + static_cast<std::int64_t>(random());
}

Aggregator::Rules rules_of(const PsServer::Parts& parts) {
  Aggregator::Rules rules = parts.rules;
  rules.share = parts.share;
  return rules;
}

}  // namespace

Result<std::unique_ptr<PsServer>> PsServer::start(PsServerOptions options, Parts parts) {
  std::unique_ptr<PsServer> server(new PsServer(std::move(options), std::move(parts)));
  TRY(server->listen());
  return server;
}

PsServer::PsServer(PsServerOptions options, Parts parts)
    : options_(std::move(options)),
      desk_(std::make_unique<SnapshotDesk>(std::move(parts.files))),
      share_(parts.share),
      arena_elements_(parts.arena_elements),
      incarnation_(drawn_incarnation()),
      ranks_(parts.rules.gate.ranks),
      aggregator_(
          rules_of(parts), at_home_in(shared_buffers_, std::move(parts.shard), parts.rules.wire),
          std::move(parts.start),
          [this](Snapshot snapshot) {
            if (desk_) desk_->take(std::move(snapshot));
          },
          std::move(parts.rows)),
      lookups_(ranks_, row_message_floats_max / std::max<std::int64_t>(1, aggregator_.row_width())),
      pools_rows_(aggregator_.has_rows() && parts.rules.gate.mode == Mode::async),
      is_returning_(aggregator_.awaits_clocks()),
      local_socket_(new_local_socket_name()) {}

PsServer::~PsServer() { drain(); }

Status PsServer::listen() {
  grpc::ServerBuilder builder;
  const std::int64_t row_bytes = aggregator_.has_rows() ? row_message_bytes_max : 0;
  configure_server(builder, std::max(aggregator_.frame_bytes_max(), row_bytes));
  int local_port = 0;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port_);
  builder.AddListeningPort(local_socket_address(local_socket_), grpc::InsecureServerCredentials(),
                           &local_port);
  builder.RegisterService(&service_);
  builder.RegisterAsyncGenericService(&generic_service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0) return why_not_listening();
  offer_stream();
  offer_control();
  if (aggregator_.has_rows()) offer_rows();
  offer_calls();
  share_memory();
  return offer_lanes();
}

// gRPC does not tell.
Error PsServer::why_not_listening() const {
  const int port = std::atoi(options_.listen.c_str() + options_.listen.rfind(':') + 1);
  const auto tried = StreamSocket::listen_tcp(options_.listen, port);
  if (!tried.has_value()) return tried.error();
  return unavailable("cannot listen on " + options_.listen);
}

// Where that cannot be, workers on this host are served by gRPC like all others.
void PsServer::share_memory() {
  const bool possible = share_.elements() == aggregator_.elements() && share_.elements() > 0 &&
                        shared_buffers_.find(aggregator_.weights()->master()).has_value();
  if (!possible) return;
  const std::string name = new_local_socket_name();
  auto port = SharedPort::open(name, {share_, arena_elements_}, *this);
  if (!port.has_value()) {
    log_warning("no shared memory", {{"message", port.error().message}});
    return;
  }
  shared_port_ = std::move(*port);
  const std::lock_guard lock(mutex_);
  shared_socket_ = name;
}

// Likewise for all workers, but a port that was given to it must be had.
Status PsServer::offer_lanes() {
  auto port = StreamPort::open(options_.listen, options_.stream_port, *this);
  if (!port.has_value() && options_.stream_port != 0) return port.error();
  if (!port.has_value()) {
    log_warning("no stream sockets", {{"message", port.error().message}});
    return ok();
  }
  const std::lock_guard lock(mutex_);
  stream_port_ = std::move(*port);
  return ok();
}

void PsServer::offer_stream() {
  if (accepting_) PushStream::offer(*this);
}

Result<PsServer::Ended> PsServer::serve(const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    lonely_since_ = Clock::now();
    // Of each rank a ps that was started again is to hear, or to know that it is gone.
    for (std::int64_t rank = 0; rank < ranks_ && aggregator_.awaits_clocks(); ++rank) {
      if (!caller_of_rank_.contains(rank)) missing_since_.try_emplace(rank, Clock::now());
    }
  }
  for (bool ends = false;;) {
    const bool busy = handle_next(ends ? kDrainStep : kLookUp);
    if (stop.stop_requested()) return Ended::stopped;
    const std::lock_guard lock(mutex_);
    if (over()) return Ended::finished;
    ends = finished_;  // the others are told by other threads than this one
    give_up_missing();
    if (busy || finished_) continue;
    const auto limit = had_callers_ ? options_.no_caller_limit : options_.first_caller_limit;
    if (callers_.empty() && Clock::now() - lonely_since_ > limit) {
      return unavailable(had_callers_ ? "all workers are gone" : "no worker ever came");
    }
  }
}

std::vector<std::int64_t> PsServer::dropped() {
  const std::lock_guard lock(mutex_);  // its ports' threads may still be at work
  return aggregator_.dropped_by_rank();
}

// Who has been told may still ask once more, before it goes.
bool PsServer::over() const {
  if (!finished_) return false;
  return (aggregator_.all_told() && caller_of_rank_.empty()) || Clock::now() >= end_by_;
}

bool PsServer::handle_next(std::chrono::milliseconds wait) {
  void* tag = nullptr;
  bool good = false;
  const auto deadline = std::chrono::system_clock::now() + wait;
  if (queue_->AsyncNext(&tag, &good, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  const std::lock_guard lock(mutex_);
  static_cast<Completion*>(tag)->done(good);
  return true;
}

void PsServer::drain() {
  if (!server_) return;
  shared_port_.reset();
  std::unique_ptr<SnapshotDesk> desk;
  {
    const std::lock_guard lock(mutex_);
    accepting_ = false;
    desk = std::move(desk_);
  }
  if (stream_port_) stream_port_->close_within(finished_ ? kFinishedLimit : kNothingToTell);
  desk.reset();  // answers who waits for a shard, while the queue still takes answers

  // Calls in progress end while the queue is served; what is left after the limit is cancelled.
  std::atomic<bool> down = false;
  const std::jthread shutdown([this, &down] {
    const auto limit = finished_ ? kFinishedLimit : kStoppedLimit;
    server_->Shutdown(std::chrono::system_clock::now() + limit);
    down = true;
  });
  while (!down) handle_next(kDrainStep);
  stream_port_.reset();

  queue_open_ = false;
  queue_->Shutdown();
  void* tag = nullptr;
  bool good = false;
  while (queue_->Next(&tag, &good)) static_cast<Completion*>(tag)->done(good);
}

Status PsServer::check_token(const std::string& token) const {
  if (is_same_token(token, options_.token)) return ok();
  return conflict("the token is not that of this attempt");
}

grpc::Status PsServer::check_caller(const grpc::ServerContextBase& call) const {
  if (has_gang_token(call, options_.token)) return grpc::Status::OK;
  if (!has_gang_token(call)) return unauthenticated("the call carries no token");
  return to_grpc(conflict("the token is not that of this attempt"));
}

void PsServer::opened(std::shared_ptr<PsCaller> caller) {
  const PsCaller* const key = caller.get();
  callers_.emplace(key, std::move(caller));
}

Status PsServer::check_encodings(const proto::PushFrame& header) const {
  const proto::Encoding ours = gradient_encoding(aggregator_.wire());
  const auto refuse = [ours](const std::string& what, proto::Encoding theirs) {
    return invalid(what + " in " + std::string(encoding_name(theirs)) + ", but the job's wire is " +
                   std::string(encoding_name(ours)));
  };
  if (header.examples() != 0 && header.encoding() != ours) {
    return refuse("a gradient", header.encoding());
  }
  const proto::Encoding wanted = header.wanted();
  if (wanted != proto::FLOAT32 && wanted != parameter_encoding(aggregator_.wire())) {
    return refuse("parameters are wanted", wanted);
  }
  return ok();
}

Status PsServer::check_counts(const proto::PushFrame& header) {
  if (header.examples() < 0 || header.examples() > kExamplesMax) {
    return invalid("examples must be 0 to " + std::to_string(kExamplesMax));
  }
  if (header.correct() < 0 || header.correct() > header.examples()) {
    return invalid("correct must be 0 to the examples");
  }
  return ok();
}

Status PsServer::admit(PsCaller& caller, const proto::PushFrame& header) {
  TRY(check_token(header.token()));
  TRY(check_encodings(header));
  caller.wanted = header.wanted();
  if (caller.rank < 0) {
    // Of a task's processes an earlier one may be heard of last, and so may a connection that was
    // cut.
    const CallerNumber number(header.process(), header.connection());
    CallerNumber& newest = newest_caller_[header.rank()];
    if (number < newest) return superseded();
    newest = number;
    caller.rank = header.rank();
    had_callers_ = true;
    // The end of the one before may not have been heard of yet.
    if (std::exchange(caller_of_rank_[caller.rank], &caller) != nullptr) {
      aggregator_.miss(caller.rank);
    }
    if (missing_since_.erase(caller.rank) > 0 && !is_returning_) {
      log_info("worker is back", {{"rank", caller.rank}});
    }
  }
  if (header.rank() != caller.rank) return invalid("the rank of a stream never changes");
  // What an earlier process of the task had under way may arrive after its successor has called.
  if (caller_of_rank_[caller.rank] != &caller) {
    return superseded();
  }
  return check_counts(header);
}

Status PsServer::take(PsCaller& caller, const proto::PushFrame& header, Payload payload,
                      Aggregator::Reply reply) {
  TRY(admit(caller, header));
  if (header.has_made()) TRY(aggregator_.tell(made_step_of(header.made())));
  if (header.has_told()) take_clock(caller.rank, header.told());
  if (header.ready()) {
    aggregator_.ready(caller.rank, header.step(), std::move(reply));
  } else if (header.examples() == 0) {
    aggregator_.pull({.rank = caller.rank,
                      .at_least = header.step(),
                      .exactly = header.exactly(),
                      .for_turn = header.for_turn()},
                     std::move(reply));
  } else {
    Push push = push_of(header, std::move(payload));
    push.landing = std::exchange(caller.landing, nullptr);
    aggregator_.push(std::move(push), std::move(reply));
  }
  return ok();
}

Status PsServer::begin(PsCaller& caller, const proto::PushFrame& header, Payload payload,
                       Aggregator::TailSink sink) {
  TRY(admit(caller, header));
  Push push = push_of(header, std::move(payload));
  push.landing = caller.landing;
  aggregator_.begin(std::move(push), std::move(sink));
  return ok();
}

// What an earlier process of the task had under way may arrive after its successor has begun: whose
// gradient is not final there.
Status PsServer::release(const PsCaller& caller, std::int64_t from) {
  if (caller.rank < 0) return conflict("elements are final of a push that was not begun");
  const auto newest = caller_of_rank_.find(caller.rank);
  if (newest == caller_of_rank_.end() || newest->second != &caller) {
    return superseded();
  }
  aggregator_.release(caller.rank, from);
  return ok();
}

void PsServer::take_clock(std::int64_t rank, const proto::ToldClock& told) {
  aggregator_.tell_clock(rank,
                         {.step = told.step(),
                          .version = told.version(),
                          .snapshot = told.snapshot(),
                          .pushes = told.pushes(),
                          .clock = told.has_clock() ? std::optional(told.clock()) : std::nullopt});
  note_return();
}

void PsServer::note_return() {
  if (!is_returning_ || aggregator_.awaits_clocks()) return;
  is_returning_ = false;
  log_warning("ps is back",
              {{"version", aggregator_.version()}, {"lost_updates", aggregator_.lost_updates()}});
}

// Where others compute for it a rank may stay away, but for the chief.
void PsServer::give_up_missing() {
  for (auto missing = missing_since_.begin(); missing != missing_since_.end();) {
    const auto [rank, since] = *missing;
    const bool is_stood_in_for = aggregator_.names_heirs() && rank != 0;
    if (is_stood_in_for || Clock::now() - since < options_.return_limit) {
      ++missing;
      continue;
    }
    aggregator_.lose(rank, "the worker of rank " + std::to_string(rank) + " is gone");
    missing = missing_since_.erase(missing);
  }
  note_return();
}

void PsServer::closed(const PsCaller& caller, bool ended_well) {
  const auto newest = caller_of_rank_.find(caller.rank);
  if (newest != caller_of_rank_.end() && newest->second == &caller) {
    caller_of_rank_.erase(newest);
    if (ended_well) aggregator_.end_well(caller.rank);
    if (!ended_well) {
      log_warning("worker lost", {{"rank", caller.rank}, {"version", aggregator_.version()}});
      missing_since_[caller.rank] = Clock::now();
      aggregator_.miss(caller.rank);
      give_up_missing();
    }
  }
  const auto kept = callers_.extract(&caller);  // freed when this returns, unless others hold it
  if (callers_.empty() && caller.rank >= 0) lonely_since_ = Clock::now();
}

}  // namespace trainyard::runtime
