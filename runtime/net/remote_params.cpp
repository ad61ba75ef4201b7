// Connecting to every ps the best way there is, and ending in good order.
#include "runtime/net/remote_params.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/chunk_plan.h"
#include "runtime/net/channel_options.h"
#include "runtime/net/control_calls.h"
#include "runtime/net/frame.h"
#include "runtime/net/large_buffer.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/remote_ps.h"
#include "runtime/net/snapshot_calls.h"
#include "schemas/base/check.h"
#include "schemas/wire/call_token.h"
#include "schemas/base/log.h"
#include "schemas/wire/grpc_status.h"
#include "schemas/wire/spec_names.h"

namespace trainyard::runtime {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr char kPushPull[] = "/trainyard.proto.Params/PushPull";
constexpr seconds kStallWarning{30};
constexpr seconds kCloseLimit{1};
constexpr seconds kTellLimit{1};  // of what training can do without
constexpr seconds kLaneLimit{5};  // until a port that a firewall may hide is given up

void close(grpc::CompletionQueue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool good = false;
  while (queue.Next(&tag, &good)) {
  }
}

}  // namespace

Result<std::unique_ptr<RemoteParams>> RemoteParams::connect(RemoteOptions options) {
  std::unique_ptr<RemoteParams> params(new RemoteParams(std::move(options)));
  for (const auto& ps : params->ps_) TRY(params->connect_to(*ps));
  for (const auto& ps : params->ps_) {
    if (ps->by_grpc()) TRY(params->open_first_stream(*ps));
  }
  if (params->options_.wire != Wire::float32) TRY(params->make_encoder());
  params->learn_clocks();
  params->usable_ = true;
  return params;
}

RemoteParams::RemoteParams(RemoteOptions options)
    : options_(std::move(options)),
      process_(
          std::chrono::duration_cast<std::chrono::microseconds>(WallClock::now().time_since_epoch())
              .count()) {
  const auto count = static_cast<std::int64_t>(options_.ps.size());
  if (options_.shares.empty()) options_.shares = plan_shares(options_.arena_elements, count);
  ENSURE(options_.shares.size() == options_.ps.size());
  for (std::size_t i = 0; i < options_.ps.size(); ++i) {
    auto& ps = ps_.emplace_back(std::make_unique<Ps>());
    ps->address = options_.ps[i];
    ps->index = static_cast<std::int64_t>(i);
    ps->share = options_.shares[i];
  }
}

RemoteParams::~RemoteParams() {
  sender_.reset();
  if (usable_) static_cast<void>(receive_all());  // who ends needs them no more
  receiver_.reset();
  if (usable_) close_streams();
  for (const auto& ps : ps_) {
    if (ps->call) ps->call->context.TryCancel();
  }
  close(queue_);
}

proto::Caller RemoteParams::caller() const {
  proto::Caller caller;
  caller.set_token(options_.token);
  caller.set_rank(options_.rank);
  return caller;
}

grpc::ChannelArguments RemoteParams::arguments_for(const Ps& ps) const {
  const std::int64_t floats =
      options_.parts * ps.share.elements() * (options_.wire == Wire::onebit ? 2 : 1);
  return channel_arguments(floats * float_bytes);
}

Status RemoteParams::connect_to(Ps& ps) {
  const auto control =
      grpc::CreateCustomChannel(ps.address, grpc::InsecureChannelCredentials(), arguments_for(ps));
  ps.control = proto::Params::NewStub(control);
  TRY_ASSIGN(const proto::PsStatus status, find(ps));
  ps.residual_leaves = status.residual_leaves();
  ps.taken = status.rank_step();
  pools_rows_ = pools_rows_ && status.pools_rows();
  const Status rows = add_row_peer(ps.name(), ps.address, status.local_socket());
  if (!rows.has_value()) return ps.explain(rows.error());
  return ok();
}

// Waits until it is there.
Result<proto::PsStatus> RemoteParams::describe(const Ps& ps, milliseconds limit) const {
  const auto status = describe_ps(*ps.control, caller(), limit, options_.stop);
  if (!status.has_value()) return ps.explain(status.error());
  const Status checked = check(ps, *status);
  if (!checked.has_value()) return ps.explain(checked.error());
  return *status;
}

Status RemoteParams::check(const Ps& ps, const proto::PsStatus& status) const {
  if (status.elements() != ps.share.elements()) {
    return conflict("holds " + std::to_string(status.elements()) + " floats, not " +
                    std::to_string(ps.share.elements()));
  }
  if (status.encoding() != gradient_encoding(options_.wire)) {
    return conflict("takes gradients in " + std::string(encoding_name(status.encoding())) +
                    ", not " + std::string(find_name(wire_names, options_.wire)));
  }
  return ok();
}

void RemoteParams::choose_way(Ps& ps, const proto::PsStatus& status) {
  using enum RemoteOptions::Transport;
  // Later on gradients lie elsewhere.
  const bool can_share = arena_ || ps.route.empty();
  if (options_.transport == shared_memory && can_share && !status.shared_socket().empty()) {
    const Status shared = share_memory(ps, status.shared_socket());
    if (shared.has_value()) return;
    log_debug("no shared memory", {{"ps", ps.address}, {"message", shared.error().message}});
  }
  if (open_lane(ps, status)) return;
  ps.route = "grpc";
  ps.data =
      grpc::CreateCustomChannel(ps.address, grpc::InsecureChannelCredentials(), arguments_for(ps));
}

// By the Unix socket, which only a ps on this host answers at, or TCP.
bool RemoteParams::open_lane(Ps& ps, const proto::PsStatus& status) {
  const auto deadline =
      StreamSocket::Clock::now() + std::min<milliseconds>(options_.connect_limit, kLaneLimit);
  const auto open = [&](Result<StreamSocket> socket, const char* route) {
    auto lane = socket.has_value()
                    ? StreamLane::connect(*std::move(socket), caller(), deadline, options_.stop)
                    : Result<StreamLane>(socket.error());
    if (!lane.has_value()) {
      log_info("no lane to a ps",
               {{"ps", ps.address}, {"by", route}, {"message", lane.error().message}});
      tcp_is_hidden_ |= StreamSocket::Clock::now() >= deadline;
      return false;
    }
    ps.lane = *std::move(lane);
    ps.route = route;
    return true;
  };
  using enum RemoteOptions::Transport;
  const std::string& name = status.stream_socket();
  if (options_.transport <= unix_socket && !name.empty() &&
      open(StreamSocket::connect_unix(name), "unix")) {
    return true;
  }
  const int port = status.stream_port();
  return options_.transport <= tcp && port > 0 && !tcp_is_hidden_ &&
         open(StreamSocket::connect_tcp(ps.address, port, deadline, options_.stop), "tcp");
}

Status RemoteParams::share_memory(Ps& ps, const std::string& socket) {
  if (!arena_) {
    TRY_ASSIGN(arena_, SharedFloats::create(static_cast<std::size_t>(push_memory_floats(
                           options_.wire, options_.arena_elements, options_.parts))));
  }
  TRY_ASSIGN(ps.shared, SharedLane::connect(socket, ps.share.elements(), *arena_));
  ps.route = "shared memory";
  return ok();
}

std::shared_ptr<AlignedBuffer> RemoteParams::gradient_buffer(std::size_t elements) {
  const bool in_place =
      options_.wire == Wire::float32 && arena_ && arena_->span().size() == elements;
  if (!in_place) return std::make_shared<AlignedBuffer>(large_buffer(elements));
  return std::make_shared<AlignedBuffer>(arena_->buffer());
}

void RemoteParams::start_stream(Ps& ps) {
  grpc::GenericStub stub(ps.data);
  ps.call = std::make_unique<Call>(&ps);
  attach_token(ps.call->context, options_.token);
  ps.call->stream = stub.PrepareCall(&ps.call->context, kPushPull, &queue_);
  ps.call->stream->StartCall(&ps.call->started);
  ++ps.call->owed;
}

Status RemoteParams::open_stream(Ps& ps) {
  start_stream(ps);
  auto completed = next_completion(options_.connect_limit);
  if (!completed.has_value() && options_.stop.stop_requested()) return completed.error();
  if (!completed.has_value()) return ps.explain(completed.error());
  if (!completed->good) return why_broken(ps);
  return ok();
}

RemoteParams::Patience RemoteParams::patience_for(milliseconds limit) {
  const auto now = WallClock::now();
  return {.deadline = now + limit, .warn_at = now + kStallWarning};
}

Status RemoteParams::keep_waiting(Patience& patience) const {
  if (options_.stop.stop_requested()) return unavailable("asked to stop");
  const auto now = WallClock::now();
  if (now > patience.deadline) return unavailable("no answer in time");
  if (now > patience.warn_at) {
    log_warning("waiting for parameters", {{"rank", options_.rank}});
    patience.warn_at += kStallWarning;
  }
  return ok();
}

std::optional<RemoteParams::Completed> RemoteParams::completion_until(WallClock::time_point time) {
  void* tag = nullptr;
  bool good = false;
  if (queue_.AsyncNext(&tag, &good, time) != grpc::CompletionQueue::GOT_EVENT) return std::nullopt;
  const auto* const of = static_cast<Call::Tag*>(tag);
  --of->call->owed;
  if (of->call->is_former) {
    std::erase_if(former_, [](const auto& call) { return call->owed == 0; });
    return std::nullopt;
  }
  return Completed{of->ps, of->operation, good};
}

Result<RemoteParams::Completed> RemoteParams::next_completion(milliseconds limit) {
  Patience patience = patience_for(limit);
  for (;;) {
    if (const auto completed = completion_until(WallClock::now() + kLookUp)) return *completed;
    TRY(keep_waiting(patience));
  }
}

// With what the ps know of earlier residuals.
Status RemoteParams::make_encoder() {
  const std::int64_t floats =
      push_memory_floats(options_.wire, options_.arena_elements, options_.parts);
  encoder_ = std::make_unique<GradientEncoder>(
      GradientEncoder::Shape{.wire = options_.wire,
                             .arena_elements = options_.arena_elements,
                             .parts = options_.parts,
                             .gaps = options_.gaps},
      arena_ ? arena_->buffer() : AlignedBuffer(static_cast<std::size_t>(floats)));
  for (const auto& ps : ps_) {
    if (ps->residual_leaves == 0) continue;
    AlignedBuffer values(static_cast<std::size_t>(ps->share.elements()));
    for (std::int64_t part = 0; part < options_.parts; ++part) {
      const Status read = read_residual(*ps->control, caller(), options_.first_leaf + part,
                                        options_.exchange_limit, values.span());
      // A rank that had pushed already was lost with what it knew: async goes on without.
      if (!read.has_value() && read.error().code == Code::not_found) continue;
      if (!read.has_value()) return ps->explain(read.error());
      scatter({.pieces = {std::as_bytes(values.span())}, .owner = nullptr}, ps->share,
              encoder_->residual(part));
    }
  }
  return ok();
}

Error RemoteParams::why_broken(Ps& ps) {
  ask_why(ps);
  for (;;) {
    const auto completed = next_completion(kCloseLimit);
    if (!completed.has_value()) {
      ps.call->context.TryCancel();
      return ps.explain(unavailable("the stream broke"));
    }
    if (completed->ps == &ps && completed->operation == Call::Operation::ended) break;
  }
  return ps.explain(ps.call->why());
}

void RemoteParams::close_streams() {
  for (const auto& ps : ps_) {
    if (ps->shared) ps->shared->say_goodbye();
    if (ps->lane) ps->lane->say_goodbye();
    if (!ps->by_grpc()) continue;
    ps->call->stream->WritesDone(&ps->call->half_closed);
    ps->call->stream->Finish(&ps->call->end, &ps->call->ended);
    ps->call->owed += 2;
  }
  while (owed() > 0) {
    if (!next_completion(kCloseLimit).has_value()) break;
  }
}

Result<std::vector<WrittenShard>> RemoteParams::snapshot(const SnapshotDesk::Request& request) {
  proto::SnapshotRequest message;
  *message.mutable_caller() = caller();
  message.set_step(request.step);
  for (const std::int64_t step : request.keep_steps) message.add_keep_steps(step);
  std::vector<proto::Params::Stub*> stubs;
  for (const auto& ps : ps_) stubs.push_back(ps->control.get());

  const auto answers = take_snapshots(stubs, message, 2 * options_.exchange_limit, options_.stop);
  std::vector<WrittenShard> shards;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) return ps_[i]->explain(answers[i].error());
    shards.push_back(*answers[i]);
  }
  return shards;
}

Result<AlignedBuffer> RemoteParams::read_snapshot(std::int64_t step) {
  AlignedBuffer arena(static_cast<std::size_t>(options_.arena_elements));
  for (const auto& ps : ps_) {
    AlignedBuffer values(static_cast<std::size_t>(ps->share.elements()));
    const Status read =
        read_snapshot_weights(*ps->control, caller(), step, options_.exchange_limit, values.span());
    if (!read.has_value()) return ps->explain(read.error());
    scatter({.pieces = {std::as_bytes(values.span())}, .owner = nullptr}, ps->share, arena.span());
  }
  return arena;
}

std::vector<std::int64_t> RemoteParams::dropped() {
  const auto status = describe(*ps_.front(), kTellLimit);
  if (!status.has_value()) return {};
  return {status->dropped().begin(), status->dropped().end()};
}

Status RemoteParams::finish() {
  std::optional<Error> first;
  for (const auto& ps : ps_) {
    const Status said = say_finished(*ps->control, caller(),
                                     options_.ps_return ? options_.connect_limit : milliseconds(0));
    if (!said.has_value() && !first) first = ps->explain(said.error());
  }
  if (first) return *first;
  return ok();
}

std::vector<std::string> RemoteParams::transports() const {
  std::vector<std::string> names;
  for (const auto& ps : ps_) {
    names.push_back(ps->route);
  }
  return names;
}

}  // namespace trainyard::runtime
